// What a project's files put into the attributes of objects whose class they do not show
// (`model.attn.norm_k = …`, `setattr(attn, "norm_k", …)`, a hook on it), and of which classes they
// replace objects whose attribute they find by searching (`setattr(parent, name, …)` beside
// `isinstance(child, nn.LayerNorm)`), read from the text without a parser. Entry points:
// note_stores, AttributeWrites.
#pragma once

#include <string>
#include <string_view>
#include <unordered_set>

#include "rewriter/python/names/text_notes.hpp"

namespace refit::python {

class AttributeWrites {
 public:
  void add(const TextNotes& notes);  // of one file
  // Whether some file gives an object other than its own `self` this attribute.
  bool stored(const std::string& attribute) const { return stored_.contains(name_hash(attribute)); }
  // Whether a file that stores attributes by names that it computes asks about objects of a class
  // of that name (its last component).
  bool replaced(const std::string& class_name) const {
    return replaced_.contains(name_hash(class_name));
  }

 private:
  std::unordered_set<uint64_t> stored_, replaced_;
};

// Notes what a text stores outside.
void note_stores(std::string_view text, const NotedPlaces& places, TextNotes& out);

}  // namespace refit::python
