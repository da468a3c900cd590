// Which classes of a project inherit from which and which are asked for by `isinstance`, read from
// the text without a parser: what a class shows of its objects holds only where no subclass of it
// says otherwise. Classes are known by the last component of their names; one that a file defines
// itself is meant there. Entry points: note_classes, Subclasses, class_text, stores_attribute.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "rewriter/python/names/text_notes.hpp"
#include "rewriter/python/syntax/renamed.hpp"

namespace refit::python {

struct Subclass {
  uint64_t name = 0;  // its hash
  uint32_t file = 0;
  uint32_t begin = 0;  // where its header is
};

class Subclasses {
 public:
  // Takes up the notes of a file. Files come in the order of their numbers.
  void add(uint32_t file, const TextNotes& notes);
  // The classes that inherit from the class `name` of `file`, directly or through others.
  std::vector<Subclass> of(const std::string& name, uint32_t file) const;
  // Whether a file that does not define the class asks `isinstance` or `issubclass` about it, or
  // names it in a table: "package.module.Name" in quotes, or as a key of a dictionary.
  bool compared(const std::string& name) const { return compared_.contains(name_hash(name)); }

 private:
  std::unordered_map<uint64_t, std::vector<Subclass>> subclasses_;  // by base, or file and base
  std::unordered_set<uint64_t> compared_;
};

// Notes the classes of a text and what it compares with.
void note_classes(std::string_view text, const NotedPlaces& places, const Renamed& renamed,
                  TextNotes& out);

// The name of the class whose header begins there, and its text: up to the next definition beside
// or outside it.
std::string_view class_name(std::string_view text, uint32_t begin);
std::string_view class_text(std::string_view text, uint32_t begin);

// Whether the text of a class gives its objects an attribute or a method of that name.
bool stores_attribute(std::string_view body, std::string_view attribute);

}  // namespace refit::python
