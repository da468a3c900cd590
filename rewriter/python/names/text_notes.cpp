// See text_notes.hpp; subclasses.cpp and stores.cpp each read their part.
#include "rewriter/python/names/text_notes.hpp"

#include <algorithm>
#include <iterator>
#include <unordered_map>

#include "rewriter/python/names/attribute_writes.hpp"
#include "rewriter/python/names/scripted.hpp"
#include "rewriter/python/names/subclasses.hpp"
#include "rewriter/python/syntax/renamed.hpp"
#include "rewriter/text/words.hpp"

namespace refit::python {

namespace {

constexpr std::string_view kTexts[] = {
    "class ",
    Renamed::kAs,
    "isinstance(",
    "issubclass(",
    "import",
    "setattr(",
    "setattr_(",
    "setattr__(",
    ".register_forward_hook(",
    ".register_forward_pre_hook(",
    ".forward =",
    ".add_module(",
    ".register_module(",
    "._modules[",
    "type(",
    "script",
    "script_if_tracing",
};
static_assert(std::size(kTexts) == NotedPlaces::kWords);

void make_unique(std::vector<uint64_t>& names) {
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  names.shrink_to_fit();
}

}  // namespace

NotedPlaces::Places noted_places(std::string_view text) {
  // By the first word of each text: where that begins in it, and which it is.
  struct Noted {
    size_t offset;
    uint32_t word;
  };
  static const auto by_word = [] {
    std::unordered_map<uint64_t, std::vector<Noted>> out;
    for (uint32_t word = 0; word < NotedPlaces::kWords; ++word) {
      bool first = true;
      visit_words(kTexts[word], [&](uint64_t hash, size_t begin, size_t) {
        if (first) out[hash].push_back({begin, word});
        first = false;
      });
    }
    return out;
  }();
  NotedPlaces::Places out;
  out.of.resize(NotedPlaces::kWords);
  visit_words(text, [&](uint64_t hash, size_t begin, size_t end) {
    const char next = end < text.size() ? text[end] : '\n';
    if (text[begin] >= 'A' && text[begin] <= 'Z' && (next == '"' || next == '\'' || next == ':')) {
      out.titles.emplace_back(begin, end);
    }
    // `__setattr__(` and its kin end with what is looked for.
    const std::string_view word = text.substr(begin, end - begin);
    if (word.starts_with("__setattr") && next == '(') {
      hash = hash_of(word.substr(2));
      begin += 2;
    }
    const auto found = by_word.find(hash);
    if (found == by_word.end()) return;
    for (const Noted& noted : found->second) {
      const std::string_view wanted = kTexts[noted.word];
      if (begin < noted.offset || text.substr(begin - noted.offset, wanted.size()) != wanted)
        continue;
      out.of[noted.word].push_back(begin - noted.offset);
    }
  });
  return out;
}

std::string_view NotedPlaces::text_of(Word word) { return kTexts[word]; }

TextNotes text_notes(std::string_view text, const NotedPlaces& places, bool test) {
  TextNotes out;
  const Renamed renamed(text, places.of(NotedPlaces::kAs));
  note_classes(text, places, renamed, out);
  note_stores(text, places, out);
  if (!test) note_scripted(text, places, out);
  for (auto* names : {&out.compared, &out.stored, &out.replaced}) make_unique(*names);
  out.classes.shrink_to_fit();
  return out;
}

}  // namespace refit::python
