// One rule out of YAML: RuleReader turns a mapping into a Rule and reports every mistake it sees to
// the YamlFile. What can be checked against the catalogue is checked here.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "rewriter/rule/rule.hpp"
#include "rewriter/rule/rule_keys.hpp"
#include "rewriter/rule/yaml_file.hpp"

namespace refit {

class RuleReader {
 public:
  RuleReader(YamlFile& file, const Catalogue& catalogue) : file_(file), catalogue_(catalogue) {}

  // A rule as far as it could be read; absent when `node` is no mapping or has no usable id.
  std::optional<Rule> read(const YamlNode& node);

 private:
  RuleLocation at(const YamlNode& node) const;
  std::string read_code(const YamlNode& node, std::string_view what);
  void read_match(const YamlNode& node, Rule& rule);
  void read_results(const YamlNode& node, Rule& rule);
  void read_bypass(const YamlNode& node, Rule& rule);
  std::vector<std::string> read_callees(const YamlNode& node, std::string_view key);
  // Names of operations that the catalogue has.
  std::vector<std::string> read_operations(const YamlNode& node, std::string_view key);
  void read_anchor(const YamlNode& node, Rule& rule);
  std::vector<Pattern> read_patterns(const YamlNode& node, std::string_view what,
                                     bool code_required);
  // `pattern` or `patterns` of `keys`; both or neither is a mistake where `required`.
  std::vector<Pattern> read_pattern_keys(const YamlFile::Mapping& keys, bool required);
  std::vector<Where> read_where(const YamlNode& node, bool refuses);
  std::optional<Where> read_clause(const YamlNode& node, bool refuses);
  void read_where_kind(const WhereKind& kind, const YamlNode& node, Where& where);
  // `{of: …, value: …}` or `{of: …, values: […]}`.
  void read_where_values(const std::string& name, const YamlNode& node, Where& where);
  std::vector<std::string> read_names(const YamlNode& node, std::string_view what);
  void read_layout(const YamlNode& node, Rule& rule);
  void read_rewrites(const YamlFile::Mapping& keys, Rule& rule);
  std::optional<Target> read_target(const YamlNode& node);
  // Entries of a vocabulary (project/vocabulary.hpp), of which each is checked.
  std::vector<std::string> read_entries(const YamlNode& node, const std::string& key);
  std::vector<std::vector<std::string>> read_triggers(const YamlNode& node, const std::string& key);
  void read_tests(const YamlNode& node, Rule& rule);
  std::map<std::string, std::string> read_numeric(const YamlNode& node);
  void derive_triggers(Rule& rule) const;

  // Checks of a text or a name of the rule against its callees' signatures and the catalogue.
  void check_argument(const YamlNode& node, const std::string& name);
  void check_rewrite(const YamlNode& node, const Rewrite& rewrite);

  YamlFile& file_;
  const Catalogue& catalogue_;
  std::vector<const Operation*> callees_;  // of the rule being read; empty for pattern rules
};

}  // namespace refit
