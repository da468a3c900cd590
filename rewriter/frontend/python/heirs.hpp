// Which classes of a project inherit from which and which are asked for by `isinstance`, read from
// the text without a parser: what a class shows of its objects holds only where no heir of it says
// otherwise. Classes are known by the last component of their names; one that a file defines
// itself is meant there. Entry points: Heirs::add, Heirs::of, Heirs::compared, stores_attribute.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace refit::python {

struct Heir {
  std::string name;
  uint32_t file = 0;
  uint32_t begin = 0, end = 0;  // bytes from its header to the next definition beside or outside it
};

class Heirs {
 public:
  // Notes the classes of a file.
  void add(uint32_t file, std::string_view text);
  // The classes that inherit from the class `name` of `file`, directly or through others.
  std::vector<Heir> of(const std::string& name, uint32_t file) const;
  // Whether a file that does not define the class asks `isinstance` or `issubclass` about it, or
  // names it in a table: "package.module.Name" in quotes, or as a key of a dictionary.
  bool compared(const std::string& name) const { return compared_.contains(name); }

 private:
  std::unordered_map<std::string, std::vector<Heir>> heirs_;  // by base: "name" or "file:name"
  std::unordered_set<std::string> compared_;
};

// Whether the text of a class gives its objects an attribute or a method of that name.
bool stores_attribute(std::string_view body, std::string_view attribute);

}  // namespace refit::python
