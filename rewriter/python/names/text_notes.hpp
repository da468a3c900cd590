// What the text of one file says of classes and of attributes of objects that are not its own, in
// the compact form in which a run keeps it for every file: names are
// hashes, places are offsets. Read in one pass, without a parser. Entry point: text_notes;
// Subclasses and AttributeWrites answer for a project what the notes of its files say together.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

namespace refit::python {

// Two names of one hash are taken for one, which can only keep a site from being rewritten.
inline uint64_t name_hash(std::string_view name) { return std::hash<std::string_view>{}(name); }
inline uint64_t paired(uint64_t first, uint64_t second) {
  return first ^ (second + 0x9e3779b97f4a7c15u + (first << 6) + (first >> 2));
}

struct TextNotes {
  struct Inherits {  // a class and one of its bases, both by the last component of the name
    uint64_t base, name;
    uint32_t begin;  // where its header is
    bool local;      // the file defines the base itself
  };
  std::vector<Inherits> classes;
  std::vector<uint64_t> compared;   // see Subclasses::compared
  std::vector<uint64_t> stored;     // see AttributeWrites::stored
  std::vector<uint64_t> replaced;   // see AttributeWrites::replaced
  std::vector<uint64_t> scripted;   // see note_scripted
  std::vector<uint64_t> scripting;  // decorators that may be TorchScript's compiler
};

// Where each of the words stands that the notes are read from.
class NotedPlaces {
 public:
  struct Places {
    std::vector<std::vector<size_t>> of;  // by word, ascending
    // Words that begin with a capital, and a quote or a colon follows: where each begins and ends.
    std::vector<std::pair<size_t, size_t>> titles;
  };
  enum Word : uint32_t {
    kClass,
    kAs,
    kIsinstance,
    kIssubclass,
    kImport,  // the word; its kin below have what follows them
    kSetattr,
    kSetattr1,
    kSetattr2,
    kForwardHook,
    kForwardPreHook,
    kForward,
    kAddModule,
    kRegisterModule,
    kModules,
    kType,
    kScript,  // words, and the next two
    kScriptIfTracing,
    kWords
  };
  // The places outlive this.
  explicit NotedPlaces(const Places& places) : places_(places) {}
  static std::string_view text_of(Word word);
  const std::vector<size_t>& of(Word word) const { return places_.of[word]; }
  const std::vector<std::pair<size_t, size_t>>& titles() const { return places_.titles; }

 private:
  const Places& places_;
};

// `test`: what a test replaces for a while is not noted.
TextNotes text_notes(std::string_view text, const NotedPlaces& places, bool test);

// The places of the words in a text that nobody passes over for more.
NotedPlaces::Places noted_places(std::string_view text);
inline TextNotes text_notes(std::string_view text, bool test) {
  const NotedPlaces::Places places = noted_places(text);
  return text_notes(text, NotedPlaces(places), test);
}

}  // namespace refit::python
