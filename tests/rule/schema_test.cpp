// rules/rule.schema.json, docs/rules.md and the loader's tables of keys say the same. (That the
// rule files that ship are valid under the schema is tested in test_schema.py, which has a
// validator.)
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <span>

#include "rewriter/rule/catalogue_keys.hpp"
#include "rewriter/rule/rule.hpp"
#include "rewriter/rule/rule_keys.hpp"
#include "tests/rule/scratch_folder.hpp"

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
      {"where_results", kWhereResultsKeys},
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
      case WhereForm::qualified:
      case WhereForm::entries:
        expected = "#/$defs/texts";
        break;
      case WhereForm::package:
        expected = "#/$defs/text";
        break;
      case WhereForm::result:
        expected = "#/$defs/where_result\"";
        break;
      case WhereForm::results:
        expected = "#/$defs/where_results\"";
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

std::string page() {
  std::ifstream in(REFIT_RULES_PAGE);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(RulesPage, NamesEveryKeyAndKind) {
  const std::string text = page();
  std::set<std::string_view> names;
  auto add = [&](const auto& keys) { names.insert(keys.begin(), keys.end()); };
  add(kRuleFileKeys);
  add(kRuleKeys);
  add(kMatchKeys);
  add(kPatternKeys);
  add(kAnchorKeys);
  add(kLayoutKeys);
  add(kRewriteKeys);
  add(kTestKeys);
  add(kClauseKeys);
  add(kTargetNames);
  add(kCatalogueFileKeys);
  add(kOperationKeys);
  for (const WhereKind& kind : kWhereKinds) names.insert(kind.name);
  names.erase("rules");  // written `rules:` there
  for (const std::string_view name : names) {
    EXPECT_NE(text.find("`" + std::string(name) + "`"), std::string::npos) << name;
  }
}

TEST(RulesPage, HasExamplesThatLoad) {
  // The rule above is written and run by tests/cli/test_tutorial.py.
  const std::string text = page().substr(page().find("\n## One rule\n"));
  std::vector<std::string> examples;
  const std::string fence = "\n```yaml\n";
  for (size_t at = text.find(fence); at != std::string::npos; at = text.find(fence, at)) {
    at += fence.size();
    examples.push_back(text.substr(at, text.find("```", at) - at));
  }
  // A rule, a further test of it, a manifest and two parts of a catalogue.
  ASSERT_EQ(examples.size(), 5u);
  ScratchFolder folder;
  folder.put("rule.yaml", examples[0] + examples[1]);
  folder.put("package.yaml", examples[2]);
  folder.put("catalogue/team.yaml", examples[3]);
  auto rules = RuleSet::load({folder.path()}, std::string(REFIT_RULES_DIR) + "/catalogue");
  EXPECT_TRUE(rules) << rules.error().message;
  const Operation* own = rules ? rules->catalogue().find("team.ops.fused_attn") : nullptr;
  EXPECT_TRUE(own != nullptr && own->trusted);
  folder.put("other/torch.yaml", examples[4]);
  auto catalogue = Catalogue::load(folder.path("other"));
  EXPECT_TRUE(catalogue) << catalogue.error().message;
}

}  // namespace
}  // namespace refit
