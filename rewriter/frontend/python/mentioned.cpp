// See mentioned.hpp. A filter on the first bytes and the length of a word passes over nearly all
// words.
#include "rewriter/frontend/python/mentioned.hpp"

#include <algorithm>

#include "rewriter/frontend/python/lines.hpp"
#include "rewriter/frontend/python/made.hpp"
#include "rewriter/text/byte_scan.hpp"

namespace refit::python {

namespace {

constexpr size_t kFilterRoom = size_t{1} << 16;  // in bytes of text, see WordSet

}  // namespace

Mentioned::Mentioned(std::string_view text, const Outline& outline, const Literals& literals,
                     std::vector<Literals::Place>& places) {
  static constexpr std::string_view kStarred[] = {".abs", ".all",   ".any",   ".max", ".min",
                                                  ".pow", ".range", ".round", ".sum"};
  for (size_t i = 0; i < outline.definitions.size(); ++i) {
    if (outline.definitions[i].name.empty()) continue;
    Word& word = words_[outline.definitions[i].name];
    if (word.name == kNone) {
      word.name = static_cast<uint32_t>(by_name_.size());
      by_name_.emplace_back();
    }
    by_name_[word.name].push_back(i);
  }
  for (const auto& [local, bindings] : outline.module.names.bindings) {
    for (const Binding& b : bindings) {
      bool alias = b.kind == Binding::Kind::import || b.kind == Binding::Kind::assignment;
      if (!alias || local.empty() || b.qualified.empty()) continue;
      size_t dot = b.qualified.rfind('.');
      std::string_view last = std::string_view(b.qualified).substr(dot + 1);
      if (last != local || is_builtin(local)) add_alias(local, b.qualified);
    }
  }
  if (!outline.module.names.stars.empty()) {  // each may bring one of its own
    for (std::string_view name : kStarred) add_alias(name.substr(1), name);
  }
  filter_ = WordSet(kFilterRoom);
  for (const auto& [name, word] : words_) {
    filter_.add(word_hash(first_bytes(name, 0, name.size())), name.size());
  }
  each_but_remarks(outline, {0, static_cast<uint32_t>(text.size())}, [&](ByteRange part) {
    literals.add_bare_places(
        text, part.begin, part.end, places, filter_,
        [&](size_t begin, size_t end) { note(text, part.begin + begin, part.begin + end); });
  });
}

void Mentioned::add_alias(std::string_view local, std::string_view meaning) {
  Word& word = words_[local];
  if (word.alias == kNone) {
    word.alias = static_cast<uint32_t>(meanings_.size());
    meanings_.emplace_back();
  }
  meanings_[word.alias].push_back(meaning);
}

void Mentioned::note(std::string_view text, size_t begin, size_t end) {
  auto known = words_.find(text.substr(begin, end - begin));
  if (known == words_.end()) return;
  const auto first = static_cast<uint32_t>(begin);
  Place place{first, known->second};
  // After a dot it can be a method of the same object, and nothing else that stands here.
  place.member = first > 0 && text[first - 1] == '.';
  place.own = place.member && first >= 5 && text.substr(first - 5, 4) == "self";
  if (place.member && !place.own) return;
  uint32_t before = first;
  while (before > 0 && blank(text[before - 1])) --before;
  place.annotates =
      before > 0 && std::string_view(":\"'").find(text[before - 1]) != std::string_view::npos;
  places_.push_back(place);
}

Mentioned::Part Mentioned::in(uint32_t begin, uint32_t end) const {
  Part out;
  auto place = std::lower_bound(places_.begin(), places_.end(), begin,
                                [](const Place& p, uint32_t at) { return p.at < at; });
  for (; place != places_.end() && place->at < end; ++place) {
    if (place->word.name != kNone) {
      out.names.push_back({place->word.name, place->own, place->annotates});
    }
    if (place->word.alias != kNone && !place->member) out.aliases.push_back(place->word.alias);
  }
  auto key = [](const Name& n) { return 4 * size_t{n.name} + (n.own ? 2 : 0) + n.annotates; };
  std::sort(out.names.begin(), out.names.end(),
            [&](const Name& a, const Name& b) { return key(a) < key(b); });
  out.names.erase(std::unique(out.names.begin(), out.names.end(),
                              [&](const Name& a, const Name& b) { return key(a) == key(b); }),
                  out.names.end());
  std::sort(out.aliases.begin(), out.aliases.end());
  out.aliases.erase(std::unique(out.aliases.begin(), out.aliases.end()), out.aliases.end());
  return out;
}

size_t Mentioned::number(std::string_view name) const {
  auto found = words_.find(name);
  return found == words_.end() || found->second.name == kNone ? SIZE_MAX : found->second.name;
}

}  // namespace refit::python
