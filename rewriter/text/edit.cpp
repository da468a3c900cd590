// Edits kept sorted and disjoint, and their application. Entry points: EditSet::add,
// EditSet::apply.
#include "rewriter/text/edit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace refit {
namespace {

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
EditSet::Edits::const_iterator find_clash(const EditSet::Edits& edits, const Edit& edit) {
  auto at = edits.lower_bound(edit);
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
  edits_.insert(std::move(edit));
  return {};
}

Expected<void> EditSet::add_all(const EditSet& other) {
  if (conflicts(other)) {
    return failure("the two sets of edits overlap; neither was changed");
  }
  edits_.insert(other.edits_.begin(), other.edits_.end());
  return {};
}

bool EditSet::conflicts(const EditSet& other) const {
  return std::any_of(other.edits_.begin(), other.edits_.end(),
                     [&](const Edit& edit) { return find_clash(edits_, edit) != edits_.end(); });
}

bool EditSet::replaces(ByteRange range) const {
  // Edits are apart and in order: only the last that begins before can reach over it.
  auto behind = edits_.upper_bound(Edit{{range.begin, UINT32_MAX}, ""});
  if (behind == edits_.begin()) return false;
  const ByteRange last = std::prev(behind)->range;
  return last.size() != 0 && last.contains(range);
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

std::vector<Edit> EditSet::inside(ByteRange range) const {
  auto at = edits_.lower_bound(Edit{{range.begin, range.begin}, ""});
  std::vector<Edit> found;
  for (; at != edits_.end() && at->range.begin < range.end; ++at) {
    if (lies_inside(*at, range)) found.push_back(*at);
  }
  return found;
}

void EditSet::erase_inside(ByteRange range) {
  auto at = edits_.lower_bound(Edit{{range.begin, range.begin}, ""});
  while (at != edits_.end() && at->range.begin < range.end) {
    at = lies_inside(*at, range) ? edits_.erase(at) : std::next(at);
  }
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

Origins::Origins(const EditSet& edits) {
  uint32_t before = 0, after = 0;
  for (const Edit& edit : edits.edits()) {
    const uint32_t size = edit.range.begin - before;
    same_.push_back({before, after, size});
    before = edit.range.end;
    after += size + static_cast<uint32_t>(edit.replacement.size());
  }
  same_.push_back({before, after, UINT32_MAX - std::max(before, after)});
}

uint32_t Origins::before(uint32_t offset) const {
  auto next = std::upper_bound(same_.begin(), same_.end(), offset,
                               [](uint32_t at, const Same& same) { return at < same.after; });
  const Same& last = *std::prev(next);
  return last.before + std::min(offset - last.after, last.size);
}

}  // namespace refit
