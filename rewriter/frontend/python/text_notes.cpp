// See text_notes.hpp; heirs.cpp, stores.cpp and replaced.cpp each read their part.
#include "rewriter/frontend/python/text_notes.hpp"

#include <algorithm>
#include <iterator>

#include "rewriter/frontend/python/heirs.hpp"
#include "rewriter/frontend/python/renamed.hpp"
#include "rewriter/frontend/python/replaced.hpp"
#include "rewriter/frontend/python/scripted.hpp"
#include "rewriter/frontend/python/stores.hpp"

namespace refit::python {

namespace {

constexpr std::string_view kTexts[] = {
    "class ",
    Renamed::kAs,
    "isinstance(",
    "issubclass(",
    "import",
    "from ",
    "setattr(",
    "setattr_(",
    "setattr__(",
    ".register_forward_hook(",
    ".register_forward_pre_hook(",
    ".forward =",
    ".add_module(",
    ".register_module(",
    "._modules[",
    "patch(",
    "patch.object(",
    "modules",
    ".__dict__",
    "vars(",
    "type(",
    "script",
    "script_if_tracing",
    "global",
    "globals()",
    "exec(",
};
static_assert(std::size(kTexts) == NotedPlaces::kWords);

void make_unique(std::vector<uint64_t>& names) {
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  names.shrink_to_fit();
}

}  // namespace

void NotedPlaces::add_to(Literals& literals) {
  for (uint32_t word = 0; word < kWords; ++word) {
    const bool whole = word == kImport || word == kTableOfModules || word == kScript ||
                       word == kScriptIfTracing || word == kGlobal;
    literals.add_noted(kTexts[word], whole ? Literals::Stands::alone : Literals::Stands::anywhere);
  }
}

Literals::Places noted_places(std::string_view text) {
  static const Literals words = [] {
    Literals out;
    NotedPlaces::add_to(out);
    out.build();
    return out;
  }();
  Literals::Places out;
  words.scan(text, nullptr, &out);
  return out;
}

std::string_view NotedPlaces::text_of(Word word) { return kTexts[word]; }

TextNotes text_notes(std::string_view text, const NotedPlaces& places, bool test) {
  TextNotes out;
  const Renamed renamed(text, places.of(NotedPlaces::kAs));
  note_classes(text, places, renamed, out);
  ReplacedReader replaced(text, places, renamed, test, out);
  replaced.note_text();
  note_stores(text, places, replaced, out);
  if (!test) note_scripted(text, places, out);
  for (auto* names : {&out.compared, &out.stored, &out.exchanged}) make_unique(*names);
  out.classes.shrink_to_fit();
  out.replaced.shrink_to_fit();
  return out;
}

}  // namespace refit::python
