// What a project's files put into the attributes of objects whose class they do not show
// (`model.attn.norm_k = …`, `setattr(attn, "norm_k", …)`, a hook on it), and of which classes they
// exchange objects whose attribute they find by searching (`setattr(parent, name, …)` beside
// `isinstance(child, nn.LayerNorm)`), read from the text without a parser. Entry points:
// OutsideStores::add, OutsideStores::stored, OutsideStores::exchanged.
#pragma once

#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "rewriter/frontend/python/replaced.hpp"

namespace refit::python {

class OutsideStores {
 public:
  // `file` is the number by which replaced() names it.
  void add(std::string_view text, uint32_t file = 0, bool test = false);
  // Whether some file gives an object other than its own `self` this attribute.
  bool stored(const std::string& attribute) const { return stored_.contains(attribute); }
  // Whether a file that stores attributes by names that it computes asks about objects of a class
  // of that name (its last component).
  bool exchanged(const std::string& class_name) const { return exchanged_.contains(class_name); }
  // The names of modules among what is stored.
  const ReplacedNames& replaced() const { return replaced_; }

 private:
  void note_assignments(std::string_view text);
  using Places = std::vector<std::vector<size_t>>;  // of what add looks for
  bool note_calls(std::string_view text, const Places& places);
  void note_hooks(std::string_view text, const Places& places);
  void note_classes(std::string_view text);

  std::unordered_set<std::string> stored_, exchanged_;
  ReplacedNames replaced_;
};

}  // namespace refit::python
