// Attributes that a file may give objects of some classes, by its text: `self.norm = LayerNorm(…)`.
// A call through any other attribute is none of theirs. Entry point: MadeAttributes::read_in.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "rewriter/frontend/python/lines.hpp"
#include "rewriter/frontend/python/outline.hpp"

namespace refit::python {

// Whether Python itself has a function of that name and a tensor library may have another.
bool is_builtin(std::string_view name);

// What a qualified name finally stands for, as Project::resolve says.
using ResolveName = std::function<std::optional<std::string>(const std::string& qualified)>;

class MadeAttributes {
 public:
  // `classes`: the last components of the classes' names.
  MadeAttributes(std::string_view text, const Outline& outline,
                 const std::vector<std::string>& classes, const ResolveName& resolve);
  // Whether a part of the text reads such an attribute of anything.
  bool read_in(std::string_view part) const;

 private:
  void note_stores();
  void note_class_bodies();
  // Whether a text calls what may be one of the classes.
  bool makes_one(std::string_view code);
  bool may_be_one(std::string_view dotted);
  bool means_one(std::string_view dotted) const;
  bool imported_inside();
  bool is_one(std::string_view qualified) const;

  std::string_view text_;
  const Outline& outline_;
  const std::vector<std::string>& classes_;
  const ResolveName& resolve_;
  Lines lines_;
  std::unordered_set<std::string_view> names_;
  std::optional<bool> imported_inside_;
  std::unordered_map<std::string_view, bool> told_;  // what means_one said
};

}  // namespace refit::python
