// Whether a text reads an attribute of a module, by the text alone: what an import that is to go
// may still be read by. Entry points: AttributeWords, for many names of one text; AttributeReads.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace refit::python {

// The words of a text that stand behind a dot or between quotes, as hashes.
class AttributeWords {
 public:
  explicit AttributeWords(std::string_view text);
  // Whether AttributeReads may say so of this text, whatever the modules' names.
  bool may_read(std::string_view name) const;

 private:
  std::vector<uint64_t> hashes_;  // ascending
};

// The reads of modules that have one of some names: `layers.F`, `import_module("pkg.layers").F`,
// `getattr(layers, "F")`, `held.F` where a line gives `held` something that names the module. The
// text and the names outlive it.
class AttributeReads {
 public:
  AttributeReads(std::string_view text, const std::vector<std::string>& modules)
      : text_(text), modules_(modules) {}

  bool any(std::string_view name);

 private:
  std::string_view line_around(size_t at) const;
  bool names_module(std::string_view part) const;
  const std::unordered_set<std::string_view>& held();

  std::string_view text_;
  const std::vector<std::string>& modules_;
  std::optional<std::unordered_set<std::string_view>> held_;
};

}  // namespace refit::python
