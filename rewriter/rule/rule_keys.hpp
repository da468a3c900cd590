// The keys of a rule file, one table for each mapping. rules/rule.schema.json says the same to
// editors under $defs; a test holds the two together. docs/rules.md describes each key.
#pragma once

#include <array>
#include <string_view>

namespace refit {

inline constexpr std::array<std::string_view, 1> kRuleFileKeys{"rules"};

inline constexpr std::array<std::string_view, 17> kRuleKeys{
    "id",      "summary",  "subject",  "attention", "match",  "anchor",
    "anchors", "where",    "shared",   "joint",     "layout", "drops",
    "rewrite", "rewrites", "triggers", "in_file",   "tests"};

inline constexpr std::array<std::string_view, 7> kMatchKeys{
    "call", "construct", "pattern", "patterns", "choices", "results", "bypass"};

inline constexpr std::array<std::string_view, 3> kPatternKeys{"code", "set", "where"};

inline constexpr std::array<std::string_view, 7> kAnchorKeys{
    "pattern", "patterns", "names", "operation", "fed_by", "code", "says"};

inline constexpr std::array<std::string_view, 4> kLayoutKeys{"operands", "result", "target",
                                                             "otherwise"};

inline constexpr std::array<std::string_view, 4> kRewriteKeys{"target", "where", "with", "assumes"};

inline constexpr std::array<std::string_view, 6> kTestKeys{"name",    "before", "after",
                                                           "refused", "target", "numeric"};

// A clause of `where` holds exactly one kind and these.
inline constexpr std::array<std::string_view, 3> kClauseKeys{"code", "says", "or_assume"};

// What stands under a kind.
enum class WhereForm {
  values,     // {of, value} or {of, values}
  number,     // {of, is}: a whole number
  symbol,     // {of, is}: a dotted name
  names,      // a name or a list of names
  qualified,  // a qualified name or a list of them
  package,    // a package's name
  result,     // {except}: the number of a result, from 0
  results,    // {into, first}: how many results there are, and how many of them
  entries,    // an entry of the prefilter's vocabulary, or a list of them
};

struct WhereKind {
  std::string_view name;
  WhereForm form;
};

inline constexpr std::array<WhereKind, 35> kWhereKinds{{
    {"is", WhereForm::values},
    {"is_not", WhereForm::values},
    {"rank", WhereForm::number},
    {"dtype", WhereForm::symbol},
    {"inference_zero", WhereForm::names},
    {"absent", WhereForm::names},
    {"present", WhereForm::names},
    {"simple", WhereForm::names},
    {"literal", WhereForm::names},
    {"last_dim", WhereForm::names},
    {"attribute", WhereForm::names},
    {"number", WhereForm::names},
    {"scalar", WhereForm::names},
    {"over_last_axis", WhereForm::names},
    {"one_size", WhereForm::names},
    {"not_sequence", WhereForm::names},
    {"tensor_or_none", WhereForm::names},
    {"no_object", WhereForm::names},
    {"not_cast", WhereForm::names},
    {"called", WhereForm::names},
    {"part_of_call", WhereForm::names},
    {"named", WhereForm::names},
    {"plain", WhereForm::names},
    {"spelt", WhereForm::values},
    {"instance", WhereForm::values},
    {"instance_anywhere", WhereForm::values},
    {"computed_from", WhereForm::values},
    {"training_flag", WhereForm::names},
    {"may_be_floating", WhereForm::names},
    {"not_within", WhereForm::qualified},
    {"not_passed_to", WhereForm::qualified},
    {"outside", WhereForm::package},
    {"unread", WhereForm::result},
    {"unpacked", WhereForm::results},
    {"not_in_tree", WhereForm::entries},
}};

inline constexpr std::array<std::string_view, 3> kWhereValuesKeys{"of", "value", "values"};
inline constexpr std::array<std::string_view, 2> kWhereIsKeys{"of", "is"};
inline constexpr std::array<std::string_view, 1> kWhereResultKeys{"except"};
inline constexpr std::array<std::string_view, 2> kWhereResultsKeys{"into", "first"};

inline constexpr std::array<std::string_view, 2> kTargetNames{"cuda", "ascend"};

}  // namespace refit
