// Edits as data: replacements of byte ranges of one text, kept sorted and free of overlap, applied
// in one place.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rewriter/text/expected.hpp"
#include "rewriter/text/source.hpp"

namespace refit {

struct Edit {
  ByteRange range;  // empty for an insertion
  std::string replacement;
  friend bool operator==(const Edit&, const Edit&) = default;
};

class EditSet {
 public:
  // Adds an edit. An identical edit is accepted once; two edits that overlap, or two different
  // insertions at one offset, are an error and leave the set as it was.
  Expected<void> add(Edit edit);
  // All of `other`, or none of it.
  Expected<void> add_all(const EditSet& other);
  bool conflicts(const EditSet& other) const;
  bool empty() const { return edits_.empty(); }
  // Where each edit's replacement stands once all are applied.
  std::vector<ByteRange> results() const;
  const std::vector<Edit>& edits() const { return edits_; }  // by ascending offset
  std::string apply(std::string_view text) const;
  // The offset before the edits of an offset after them; what was put in has that of its place.
  uint32_t original(uint32_t offset) const;
  // The edits of what lies inside a range; an insertion at either end of it is outside.
  std::vector<Edit> inside(ByteRange range) const;
  void erase_inside(ByteRange range);
  // A range of the text with the edits of what lies inside it.
  std::string apply_inside(std::string_view text, ByteRange range) const;

 private:
  std::vector<Edit> edits_;
};

}  // namespace refit
