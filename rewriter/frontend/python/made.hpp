// Attributes that a file may give objects of some classes, by its text: `self.norm = LayerNorm(…)`.
// A call through any other attribute is none of theirs. Entry point: MadeAttributes::read_in.
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

  // Some classes: these by their names and the last components of those; and what was found of them
  // so far.
  class Classes {
   public:
    explicit Classes(std::vector<std::string> names) : names_(std::move(names)) {}

   private:
    friend class MadeAttributes;
    std::vector<std::string> names_;
    std::vector<std::optional<bool>> meant_;  // whether a call may make one, by its number
    std::unordered_map<std::string_view, bool> gives_;  // whether an attribute may be given one
    std::optional<bool> renamed_;
  };
  // Whether a part of the text reads an attribute, of anything, that may be given an object of one
  // of the classes.
  bool read_in(Classes& classes, std::string_view part) const;

 private:
  void note_stores();
  void note_class_bodies();
  void note_calls(std::string_view code, const std::vector<std::string_view>& attributes);
  bool may_give(std::string_view attribute, Classes& classes) const;
  bool means_one(std::string_view dotted, const std::vector<std::string>& classes) const;
  bool renamed_inside(const std::vector<std::string>& classes) const;

  std::string_view text_;
  const Outline& outline_;
  const Meant& meant_;
  // What is called where attributes are given a value: in each such text, by attribute.
  std::vector<std::string_view> calls_;
  std::unordered_map<std::string_view, uint32_t> numbers_;
  std::vector<std::vector<uint32_t>> called_in_;
  std::unordered_map<std::string_view, std::vector<uint32_t>> given_in_;
};

}  // namespace refit::python
