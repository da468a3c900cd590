// Edits kept sorted and disjoint, and their application. Entry points: EditSet::add,
// EditSet::apply.
#include "rewriter/text/edit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

namespace refit {
namespace {

bool before(const Edit& a, const Edit& b) {
  return std::tie(a.range.begin, a.range.end) < std::tie(b.range.begin, b.range.end);
}

// An insertion at either end of a replaced range has one meaning and is no clash; one inside it, or
// a second one at the same place, has none.
bool clash(const Edit& a, const Edit& b) {
  if (a == b) return false;
  if (a.range.size() == 0 && b.range.size() == 0) return a.range.begin == b.range.begin;
  return a.range.overlaps(b.range);
}

bool lies_inside(const Edit& edit, ByteRange range) {
  if (edit.range.size() != 0) return range.contains(edit.range);
  return range.begin < edit.range.begin && edit.range.begin < range.end;
}

// The edit of `edits` that clashes with `edit`, or the end. Only neighbours can: those from the
// last that begins before `edit` to the last that begins before its end.
std::vector<Edit>::const_iterator find_clash(const std::vector<Edit>& edits, const Edit& edit) {
  auto at = std::lower_bound(edits.begin(), edits.end(), edit, before);
  if (at != edits.begin()) --at;
  // Step over insertions at that place, back to a range that may reach into this one.
  while (at != edits.begin() && at->range.size() == 0) --at;
  for (; at != edits.end() && at->range.begin <= edit.range.end; ++at) {
    if (clash(*at, edit)) return at;
  }
  return edits.end();
}

}  // namespace

Expected<void> EditSet::add(Edit edit) {
  if (edit.range.begin > edit.range.end) {
    return failure(fmt::format("an edit's range must not end before it begins: [{}, {})",
                               edit.range.begin, edit.range.end));
  }
  const auto other = find_clash(edits_, edit);
  if (other != edits_.end()) {
    return failure(fmt::format("the edits of [{}, {}) and [{}, {}) overlap", other->range.begin,
                               other->range.end, edit.range.begin, edit.range.end));
  }
  const auto at = std::lower_bound(edits_.begin(), edits_.end(), edit, before);
  if (at != edits_.end() && *at == edit) return {};
  edits_.insert(at, std::move(edit));
  return {};
}

Expected<void> EditSet::add_all(const EditSet& other) {
  if (conflicts(other)) {
    return failure("the two sets of edits overlap; neither was changed");
  }
  for (const Edit& edit : other.edits_) {
    const auto at = std::lower_bound(edits_.begin(), edits_.end(), edit, before);
    if (at == edits_.end() || !(*at == edit)) edits_.insert(at, edit);
  }
  return {};
}

bool EditSet::conflicts(const EditSet& other) const {
  return std::any_of(other.edits_.begin(), other.edits_.end(),
                     [&](const Edit& edit) { return find_clash(edits_, edit) != edits_.end(); });
}

std::string EditSet::apply(std::string_view text) const {
  std::string result;
  std::size_t at = 0;
  for (const Edit& edit : edits_) {
    const std::size_t begin = std::min<std::size_t>(edit.range.begin, text.size());
    const std::size_t end = std::min<std::size_t>(edit.range.end, text.size());
    result.append(text.substr(at, begin - at));
    result.append(edit.replacement);
    at = end;
  }
  result.append(text.substr(at));
  return result;
}

std::vector<ByteRange> EditSet::results() const {
  std::vector<ByteRange> out;
  int64_t shift = 0;
  for (const Edit& edit : edits_) {
    auto begin = static_cast<uint32_t>(edit.range.begin + shift);
    out.push_back({begin, begin + static_cast<uint32_t>(edit.replacement.size())});
    shift += static_cast<int64_t>(edit.replacement.size()) - edit.range.size();
  }
  return out;
}

uint32_t EditSet::original(uint32_t offset) const {
  std::size_t before = 0, after = 0;  // how far the text is the same on both sides
  for (const Edit& edit : edits_) {
    const std::size_t same = edit.range.begin - before;
    if (after + same > offset) break;
    before += same;
    after += same;
    if (after + edit.replacement.size() > offset) return static_cast<uint32_t>(before);
    after += edit.replacement.size();
    before = edit.range.end;
  }
  return static_cast<uint32_t>(before + (offset - after));
}

std::vector<Edit> EditSet::inside(ByteRange range) const {
  auto at =
      std::lower_bound(edits_.begin(), edits_.end(), Edit{{range.begin, range.begin}, ""}, before);
  std::vector<Edit> found;
  for (; at != edits_.end() && at->range.begin < range.end; ++at) {
    if (lies_inside(*at, range)) found.push_back(*at);
  }
  return found;
}

void EditSet::erase_inside(ByteRange range) {
  std::erase_if(edits_, [&](const Edit& edit) { return lies_inside(edit, range); });
}

std::string EditSet::apply_inside(std::string_view text, ByteRange range) const {
  std::string result;
  std::size_t at = range.begin;
  for (const Edit& edit : inside(range)) {
    result.append(text.substr(at, edit.range.begin - at));
    result.append(edit.replacement);
    at = edit.range.end;
  }
  result.append(text.substr(at, range.end - at));
  return result;
}

}  // namespace refit
