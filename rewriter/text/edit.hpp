// Edits as data: replacements of byte ranges of one text, kept sorted and free of overlap, applied
// in one place.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <tuple>
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
  struct ByRange {
    bool operator()(const Edit& a, const Edit& b) const {
      return std::tie(a.range.begin, a.range.end) < std::tie(b.range.begin, b.range.end);
    }
  };
  using Edits = std::set<Edit, ByRange>;

  // Adds an edit. An identical edit is accepted once; two edits that overlap, or two different
  // insertions at one offset, are an error and leave the set as it was.
  Expected<void> add(Edit edit);
  // All of `other`, or none of it.
  Expected<void> add_all(const EditSet& other);
  bool conflicts(const EditSet& other) const;
  bool empty() const { return edits_.empty(); }
  // Where each edit's replacement stands once all are applied.
  std::vector<ByteRange> results() const;
  const Edits& edits() const { return edits_; }  // by ascending offset
  // Whether one edit replaces all of a range.
  bool replaces(ByteRange range) const;
  std::string apply(std::string_view text) const;
  // The edits of what lies inside a range; an insertion at either end of it is outside.
  std::vector<Edit> inside(ByteRange range) const;
  void erase_inside(ByteRange range);
  // A range of the text with the edits of what lies inside it.
  std::string apply_inside(std::string_view text, ByteRange range) const;

 private:
  Edits edits_;
};

// Where offsets of a text after some edits stood before them.
class Origins {
 public:
  struct Same {  // a stretch that no edit touches
    uint32_t before, after;
    uint32_t size;
  };
  explicit Origins(const EditSet& edits);
  // What was put in has the offset of its place.
  uint32_t before(uint32_t offset) const;

 private:
  std::vector<Same> same_;  // in the order of the text; the last reaches beyond its end
};

}  // namespace refit
