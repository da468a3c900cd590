// rules/rule.schema.json and the loader's tables of keys say the same. (That the rule files that
// ship are valid under the schema is tested in test_schema.py, which has a validator.)
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <span>

#include "rewriter/rule/rule_keys.hpp"

namespace refit {
namespace {

nlohmann::json definitions() {
  std::ifstream in(std::string(REFIT_RULES_DIR) + "/rule.schema.json");
  return nlohmann::json::parse(in).at("$defs");
}

std::set<std::string> keys_of(const nlohmann::json& object) {
  std::set<std::string> keys;
  for (const auto& [key, value] : object.items()) keys.insert(key);
  return keys;
}

TEST(Schema, HasTheKeysThatTheLoaderKnows) {
  const std::pair<const char*, std::span<const std::string_view>> table[] = {
      {"file", kRuleFileKeys},
      {"rule", kRuleKeys},
      {"match", kMatchKeys},
      {"pattern", kPatternKeys},
      {"anchor", kAnchorKeys},
      {"layout", kLayoutKeys},
      {"rewrite", kRewriteKeys},
      {"test", kTestKeys},
      {"where_values", kWhereValuesKeys},
      {"where_is", kWhereIsKeys},
      {"where_result", kWhereResultKeys},
  };
  const nlohmann::json schema = definitions();
  for (const auto& [name, keys] : table) {
    EXPECT_EQ(keys_of(schema.at(name).at("properties")),
              std::set<std::string>(keys.begin(), keys.end()))
        << name;
    EXPECT_EQ(schema.at(name).at("additionalProperties"), false) << name;
  }
}

TEST(Schema, HasTheKindsOfClause) {
  const nlohmann::json clause = definitions().at("clause");
  std::set<std::string> keys(kClauseKeys.begin(), kClauseKeys.end());
  std::set<std::string> kinds;
  for (const WhereKind& kind : kWhereKinds) {
    keys.emplace(kind.name);
    kinds.emplace(kind.name);
    const std::string form = clause.at("properties").at(kind.name).dump();
    const char* expected = nullptr;
    switch (kind.form) {
      case WhereForm::values:
        expected = "#/$defs/where_values";
        break;
      case WhereForm::number:
      case WhereForm::symbol:
        expected = "#/$defs/where_is";
        break;
      case WhereForm::names:
        expected = "#/$defs/names";
        break;
      case WhereForm::package:
        expected = "#/$defs/text";
        break;
      case WhereForm::result:
        expected = "#/$defs/where_result";
        break;
    }
    EXPECT_NE(form.find(expected), std::string::npos) << kind.name << ": " << form;
  }
  EXPECT_EQ(keys_of(clause.at("properties")), keys);
  EXPECT_EQ(clause.at("additionalProperties"), false);
  std::set<std::string> exclusive;
  for (const auto& alternative : clause.at("oneOf")) {
    exclusive.insert(alternative.at("required").at(0).get<std::string>());
  }
  EXPECT_EQ(exclusive, kinds);
}

TEST(Schema, HasTheTargets) {
  const auto targets = definitions().at("target").at("enum").get<std::set<std::string>>();
  EXPECT_EQ(targets, std::set<std::string>(kTargetNames.begin(), kTargetNames.end()));
}

}  // namespace
}  // namespace refit
