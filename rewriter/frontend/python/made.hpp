// Attributes that a file may give objects of some classes, by its text: `self.norm = LayerNorm(…)`.
// A call through any other attribute is none of theirs. Entry points: MadeAttributes::of, read_in.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "rewriter/frontend/python/meant.hpp"
#include "rewriter/frontend/python/outline.hpp"

namespace refit::python {

// Whether Python itself has a function of that name and a tensor library may have another.
bool is_builtin(std::string_view name);

class MadeAttributes {
 public:
  MadeAttributes(std::string_view text, const Outline& outline, const Meant& meant);

  using Names = std::unordered_set<std::string_view>;
  // The attributes that may be given an object of one of the classes: these by their names and the
  // last components of those.
  Names of(const std::vector<std::string>& classes) const;
  // Whether a part of the text reads one of them, of anything.
  static bool read_in(const Names& names, std::string_view part);

 private:
  void note_stores();
  void note_class_bodies();
  void note_calls(std::string_view code, const std::vector<std::string_view>& attributes);
  bool means_one(std::string_view dotted, const std::vector<std::string>& classes) const;
  bool renamed_inside(const std::vector<std::string>& classes) const;

  std::string_view text_;
  const Outline& outline_;
  const Meant& meant_;
  // What is called where attributes are given a value, and which.
  std::unordered_map<std::string_view, std::vector<std::string_view>> calls_;
};

}  // namespace refit::python
