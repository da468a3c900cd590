// One YAML file under inspection: nodes with places a person can go to, mistakes collected instead
// of thrown, keys checked against the ones that are allowed. Shared by the catalogue and the rules.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rewriter/rule/catalogue.hpp"
#include "rewriter/rule/yaml_node.hpp"
#include "rewriter/text/expected.hpp"

namespace refit {

// The candidate with the smallest Levenshtein distance, where that is at most a third of the word's
// length (one letter for short words); absent if nothing is that near.
std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& among);

// "; did you mean `x`?", or nothing.
std::string did_you_mean(const std::optional<std::string>& suggestion);

// The *.yaml and *.yml files of a folder, sorted by path; with `recursively`, of its folders too,
// leaving out the entries whose file name is in `skip`.
Expected<std::vector<std::string>> yaml_files(const std::string& directory, bool recursively,
                                              const std::vector<std::string>& skip);

class YamlFile {
 public:
  // Reads and parses. A file that cannot be read and a YAML syntax error are failures with place.
  static Expected<YamlFile> open(const std::string& path);
  // Parses text; `path` is only how messages name it.
  static Expected<YamlFile> parse(std::string path, std::string_view text);

  const std::string& path() const { return path_; }
  const YamlNode& root() const { return document_.root(); }
  YamlPlace place(const YamlNode& node) const;
  // "FILE:LINE:COLUMN".
  std::string where(const YamlNode& node) const;

  void report(const YamlNode& node, const std::string& message);
  void report(YamlPlace place, const std::string& message);
  // "FILE:LINE:COLUMN: message", in the order of the file.
  std::vector<std::string> mistakes() const;

  // The entries of a mapping whose keys are all in `keys`; other, repeated and non-text keys are
  // reported. `what` names the mapping in messages: "a rule". Absent if `node` is no mapping.
  class Mapping;
  std::optional<Mapping> mapping(const YamlNode& node, std::string_view what,
                                 std::span<const std::string_view> keys);

  // Readers of one value; each reports a wrong type and then gives nothing. `what` names the value.
  std::optional<std::string> text(const YamlNode& node, std::string_view what);
  std::optional<bool> boolean(const YamlNode& node, std::string_view what);
  std::optional<int> integer(const YamlNode& node, std::string_view what);
  // A text or a list of texts; an empty list is a mistake.
  std::vector<std::string> texts(const YamlNode& node, std::string_view what);
  // A literal: YAML's null, true and false, a quoted text (a string), a list (a tuple), or Python's
  // notation for None, numbers and names.
  std::optional<Literal> literal(const YamlNode& node, std::string_view what);

 private:
  YamlFile() = default;

  std::string path_;
  YamlDocument document_;
  std::vector<std::pair<const YamlNode*, const YamlNode*>> absent_values_;  // value, key
  std::vector<std::pair<YamlPlace, std::string>> mistakes_;
};

class YamlFile::Mapping {
 public:
  // Null where the key is absent.
  const YamlNode* find(std::string_view key) const;
  // Reports a missing key at the mapping's own place, unless it was only misspelt.
  const YamlNode* require(std::string_view key) const;
  // An unknown key of this mapping was reported as a misspelling of `key`.
  bool misspelt(std::string_view key) const;
  const YamlNode& node() const { return *node_; }
  struct Entry {
    std::string key;
    const YamlNode& value;
  };
  const std::vector<Entry>& entries() const { return entries_; }
  const YamlNode& key_node(std::string_view key) const;

 private:
  friend class YamlFile;
  Mapping(YamlFile& file, std::string_view what, const YamlNode& node)
      : file_(&file), what_(what), node_(&node) {}
  YamlFile* file_;
  std::string what_;
  const YamlNode* node_;
  std::vector<Entry> entries_;
  std::vector<const YamlNode*> key_nodes_;
  std::vector<std::string> misspelt_;
};

}  // namespace refit
