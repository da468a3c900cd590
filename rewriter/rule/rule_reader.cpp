// RuleReader::read and the readers of each key, in the order of docs/rules.md. The checks against
// the catalogue are in rule_check.cpp.
#include "rewriter/rule/rule_reader.hpp"

#include <algorithm>

#include "rewriter/project/vocabulary.hpp"
#include "rewriter/rule/template_text.hpp"

namespace refit {

namespace {

// Ids and reason codes: words of small letters and digits, joined by hyphens.
bool is_code(std::string_view text) {
  if (text.empty() || text.front() == '-' || text.back() == '-') return false;
  char before = '-';
  for (const char c : text) {
    const bool word = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (!word && (c != '-' || before == '-')) return false;
    before = c;
  }
  return text.front() >= 'a' && text.front() <= 'z';
}

bool is_axes(std::string_view text) {
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] < 'A' || text[i] > 'Z' || text.find(text[i], i + 1) != std::string_view::npos) {
      return false;
    }
  }
  return !text.empty();
}

}  // namespace

RuleLocation RuleReader::at(const YamlNode& node) const {
  const YamlPlace place = file_.place(node);
  return {file_.path(), place.line, place.column};
}

std::string RuleReader::read_code(const YamlNode& node, std::string_view what) {
  auto text = file_.text(node, what);
  if (text && !is_code(*text)) {
    file_.report(node, "expected small letters, digits and hyphens for `" + std::string(what) +
                           "`, found `" + *text + "`");
  }
  return text.value_or("");
}

std::optional<Rule> RuleReader::read(const YamlNode& node) {
  auto keys = file_.mapping(node, "a rule", kRuleKeys);
  if (!keys) return std::nullopt;
  callees_.clear();
  Rule rule;
  rule.at = at(node);
  if (const YamlNode* id = keys->require("id")) {
    rule.id = read_code(*id, "id");
    rule.at = at(*id);
  }
  if (const YamlNode* summary = keys->require("summary")) {
    rule.summary = file_.text(*summary, "summary").value_or("");
  }
  if (const YamlNode* subject = keys->require("subject")) {
    rule.subject = read_code(*subject, "subject");
  }
  if (const YamlNode* attention = keys->find("attention")) {
    rule.attention = file_.boolean(*attention, "attention").value_or(false);
  }
  if (const YamlNode* match = keys->require("match")) read_match(*match, rule);
  if (const YamlNode* anchor = keys->find("anchor")) read_anchor(*anchor, rule);
  if (const YamlNode* anchors = keys->find("anchors")) {
    if (keys->find("anchor")) {
      file_.report(keys->key_node("anchors"), "expected `anchor` or `anchors`, found both");
    } else if (!anchors->is_sequence() || anchors->items.empty()) {
      file_.report(*anchors, "expected a list of anchors for `anchors`");
    } else {
      for (const YamlNode& anchor : anchors->items) read_anchor(anchor, rule);
    }
  }
  if (const YamlNode* shared = keys->find("shared")) rule.shared = read_code(*shared, "shared");
  if (const YamlNode* joint = keys->find("joint")) {
    rule.joint = file_.boolean(*joint, "joint").value_or(false);
  }
  if (const YamlNode* where = keys->find("where")) rule.where = read_where(*where, true);
  if (const YamlNode* layout = keys->find("layout")) read_layout(*layout, rule);
  if (const YamlNode* drops = keys->find("drops")) rule.drops = file_.texts(*drops, "drops");
  read_rewrites(*keys, rule);
  if (const YamlNode* triggers = keys->find("triggers")) {
    rule.triggers = read_triggers(*triggers, "triggers");
  } else {
    derive_triggers(rule);
  }
  if (const YamlNode* in_file = keys->find("in_file")) {
    rule.in_file = read_triggers(*in_file, "in_file");
  }
  if (const YamlNode* tests = keys->find("tests")) read_tests(*tests, rule);
  if (rule.id.empty()) return std::nullopt;
  return rule;
}

void RuleReader::read_match(const YamlNode& node, Rule& rule) {
  auto keys = file_.mapping(node, "`match`", kMatchKeys);
  if (!keys) return;
  const YamlNode* call = keys->find("call");
  const YamlNode* construct = keys->find("construct");
  const bool by_pattern = keys->find("pattern") || keys->find("patterns");
  const bool misspelt =
      std::ranges::any_of(kMatchKeys, [&](std::string_view key) { return keys->misspelt(key); });
  const int given = (call != nullptr) + (construct != nullptr) + by_pattern;
  if (given > 1 || (given == 0 && !misspelt)) {
    file_.report(node,
                 "expected exactly one of `call`, `construct` and `pattern` (or `patterns`) "
                 "in `match`");
  }
  if (call) rule.match.call = read_callees(*call, "call");
  if (construct) rule.match.construct = read_callees(*construct, "construct");
  if (by_pattern) rule.match.patterns = read_pattern_keys(*keys, true);
  if (const YamlNode* choices = keys->find("choices")) {
    if (!by_pattern) file_.report(*choices, "`choices` needs a `pattern`, whose holes it fills");
    auto holes = file_.mapping(*choices, "`choices`, from holes to patterns", {});
    if (!holes) return;
    for (const auto& [hole, patterns] : holes->entries()) {
      if (!is_identifier(hole)) {
        file_.report(holes->key_node(hole),
                     "expected a hole's name without `$`, found `" + hole + "`");
      }
      rule.match.choices[hole] = read_patterns(patterns, "choices", false);
    }
  }
  if (const YamlNode* results = keys->find("results")) read_results(*results, rule);
  if (const YamlNode* bypass = keys->find("bypass")) read_bypass(*bypass, rule);
}

void RuleReader::read_results(const YamlNode& node, Rule& rule) {
  rule.match.results = file_.texts(node, "results");
  const auto own = std::ranges::count_if(rule.match.results, [&](const std::string& name) {
    return !rule.match.choices.contains(name);
  });
  if (own != 1 || rule.match.results.size() < 2) {
    file_.report(
        node,
        "expected holes with `choices` and one other name, for the pattern's own value, in "
        "`results`");
  }
}

void RuleReader::read_bypass(const YamlNode& node, Rule& rule) {
  auto holes = file_.mapping(node, "`bypass`, from holes with `choices` to holes", {});
  if (!holes) return;
  for (const auto& [hole, operand] : holes->entries()) {
    if (!rule.match.choices.contains(hole)) {
      file_.report(holes->key_node(hole),
                   "expected a hole with `choices` in `bypass`, found `" + hole + "`");
    }
    rule.match.bypass[hole] = file_.text(operand, "bypass").value_or("");
  }
}

void RuleReader::read_anchor(const YamlNode& node, Rule& rule) {
  auto keys = file_.mapping(node, "`anchor`", kAnchorKeys);
  if (!keys) return;
  Anchor anchor;
  const YamlNode* operation = keys->find("operation");
  const YamlNode* fed_by = keys->find("fed_by");
  if ((operation == nullptr) != (fed_by == nullptr)) {
    file_.report(node, "expected `operation` and `fed_by` together in an anchor");
  }
  if (operation && fed_by) {
    anchor.operation = read_operations(*operation, "operation");
    anchor.fed_by = read_operations(*fed_by, "fed_by");
    if (keys->find("pattern") || keys->find("patterns")) {
      file_.report(node, "expected a pattern or `operation` in an anchor, found both");
    }
  } else {
    anchor.patterns = read_pattern_keys(*keys, !operation && !fed_by);
  }
  if (const YamlNode* names = keys->find("names")) anchor.names = file_.texts(*names, "names");
  if (const YamlNode* code = keys->find("code")) {
    anchor.code = read_code(*code, "code");
  }
  if (const YamlNode* says = keys->require("says")) {
    anchor.says = file_.text(*says, "says").value_or("");
  }
  rule.anchors.push_back(std::move(anchor));
}

std::vector<Pattern> RuleReader::read_pattern_keys(const YamlFile::Mapping& keys, bool required) {
  const YamlNode* one = keys.find("pattern");
  const YamlNode* several = keys.find("patterns");
  if (one && several) {
    file_.report(keys.key_node("pattern"), "expected `pattern` or `patterns`, found both");
  }
  if (several) return read_patterns(*several, "patterns", true);
  if (!one) {
    if (required && !keys.misspelt("pattern") && !keys.misspelt("patterns"))
      file_.report(keys.node(), "expected `pattern` or `patterns`, found neither");
    return {};
  }
  Pattern pattern;
  pattern.at = at(*one);
  pattern.code = file_.text(*one, "pattern").value_or("");
  return {pattern};
}

std::vector<Pattern> RuleReader::read_patterns(const YamlNode& node, std::string_view what,
                                               bool code_required) {
  std::vector<Pattern> patterns;
  if (!node.is_sequence() || node.items.empty()) {
    file_.report(node, "expected a list of patterns for `" + std::string(what) + "`");
    return patterns;
  }
  constexpr size_t kMostPatterns = 256;  // each is compiled
  if (node.items.size() > kMostPatterns) {
    file_.report(node, "expected at most 256 patterns in one list");
    return patterns;
  }
  for (const YamlNode& item : node.items) {
    Pattern pattern;
    pattern.at = at(item);
    if (item.is_scalar()) {
      pattern.code = file_.text(item, what).value_or("");
      patterns.push_back(std::move(pattern));
      continue;
    }
    auto keys = file_.mapping(item, "a pattern", kPatternKeys);
    if (!keys) continue;
    // An alternative of `choices` without code is the one where nothing more needs to match.
    const YamlNode* code = code_required ? keys->require("code") : keys->find("code");
    if (code) {
      pattern.code = file_.text(*code, "code").value_or("");
      pattern.at = at(*code);
    }
    if (const YamlNode* set = keys->find("set")) {
      if (auto names = file_.mapping(*set, "`set`, from names to code", {})) {
        for (const auto& [name, value] : names->entries()) {
          if (!is_identifier(name)) {
            file_.report(names->key_node(name),
                         "expected a name without `$` in `set`, found `" + name + "`");
          }
          if (auto text = file_.text(value, name)) pattern.set[name] = *text;
        }
      }
    }
    if (const YamlNode* where = keys->find("where")) pattern.where = read_where(*where, false);
    patterns.push_back(std::move(pattern));
  }
  return patterns;
}

void RuleReader::read_layout(const YamlNode& node, Rule& rule) {
  auto keys = file_.mapping(node, "`layout`", kLayoutKeys);
  if (!keys) return;
  Layout layout;
  const YamlNode* target = keys->require("target");
  if (target) layout.target = file_.text(*target, "target").value_or("");
  std::string sorted_target = layout.target;
  std::ranges::sort(sorted_target);
  auto axes = [&](const YamlNode& value, std::string_view what) {
    auto text = file_.text(value, what);
    if (!text) return std::string();
    std::string sorted = *text;
    std::ranges::sort(sorted);
    if (!is_axes(*text)) {
      file_.report(value, "expected axes as distinct capital letters, such as BNSD, for `" +
                              std::string(what) + "`, found `" + *text + "`");
    } else if (!layout.target.empty() && sorted != sorted_target) {
      file_.report(value, "expected the axes of `target`, " + layout.target +
                              ", in some order for `" + std::string(what) + "`, found `" + *text +
                              "`");
    }
    return *text;
  };
  if (target && !layout.target.empty()) axes(*target, "target");
  if (const YamlNode* operands = keys->require("operands")) {
    if (auto names = file_.mapping(*operands, "`operands`, from arguments to axes", {})) {
      for (const auto& [name, value] : names->entries()) {
        check_argument(names->key_node(name), name);
        layout.operands[name] = axes(value, name);
      }
    }
  }
  if (const YamlNode* result = keys->require("result")) layout.result = axes(*result, "result");
  if (const YamlNode* otherwise = keys->find("otherwise")) {
    if (auto words = file_.mapping(*otherwise, "`otherwise`, from keywords to literals", {})) {
      for (const auto& [keyword, value] : words->entries()) {
        if (auto literal = file_.literal(value, keyword)) {
          layout.otherwise[keyword] = to_string(*literal);
        }
      }
    }
  }
  rule.layout = std::move(layout);
}

std::optional<Target> RuleReader::read_target(const YamlNode& node) {
  auto text = file_.text(node, "target");
  if (!text) return std::nullopt;
  if (*text == "cuda") return Target::cuda;
  if (*text == "ascend") return Target::ascend;
  const auto suggestion =
      nearest(*text, std::vector<std::string>(kTargetNames.begin(), kTargetNames.end()));
  file_.report(node,
               "unknown target `" + *text + "`" +
                   (suggestion ? did_you_mean(suggestion) : "; the targets are cuda, ascend"));
  return std::nullopt;
}

void RuleReader::read_rewrites(const YamlFile::Mapping& keys, Rule& rule) {
  const YamlNode* one = keys.find("rewrite");
  const YamlNode* several = keys.find("rewrites");
  if ((one != nullptr) == (several != nullptr)) {
    if (one || !(keys.misspelt("rewrite") || keys.misspelt("rewrites"))) {
      file_.report(keys.node(), std::string("expected `rewrite` or `rewrites` in a rule, found ") +
                                    (one ? "both" : "neither"));
    }
    return;
  }
  if (one) {
    Rewrite rewrite;
    rewrite.at = at(*one);
    rewrite.with = file_.text(*one, "rewrite").value_or("");
    check_rewrite(*one, rewrite);
    rule.rewrites.push_back(std::move(rewrite));
    return;
  }
  if (!several->is_sequence() || several->items.empty()) {
    file_.report(*several, "expected a list of rewrites");
    return;
  }
  for (const YamlNode& item : several->items) {
    auto entry = file_.mapping(item, "a rewrite", kRewriteKeys);
    if (!entry) continue;
    Rewrite rewrite;
    rewrite.at = at(item);
    if (const YamlNode* target = entry->find("target")) {
      if (target->is_sequence()) {
        if (target->items.empty()) {
          file_.report(*target, "expected at least one entry in `target`, found none");
        }
        for (const YamlNode& name : target->items) {
          if (auto value = read_target(name)) rewrite.targets.push_back(*value);
        }
      } else if (auto value = read_target(*target)) {
        rewrite.targets.push_back(*value);
      }
    }
    if (const YamlNode* where = entry->find("where")) rewrite.where = read_where(*where, false);
    if (const YamlNode* assumes = entry->find("assumes")) {
      rewrite.assumes = file_.texts(*assumes, "assumes");
    }
    if (const YamlNode* with = entry->require("with")) {
      rewrite.with = file_.text(*with, "with").value_or("");
      check_rewrite(*with, rewrite);
    }
    for (const Rewrite& earlier : rule.rewrites) {
      const bool covers =
          earlier.targets.empty() ||
          (!rewrite.targets.empty() && std::ranges::all_of(rewrite.targets, [&](Target target) {
            return std::ranges::find(earlier.targets, target) != earlier.targets.end();
          }));
      if (covers && earlier.where.empty()) {
        file_.report(item, "this rewrite is never taken: the one at line " +
                               std::to_string(earlier.at.line) +
                               " takes every site, because it has no `where`");
        break;
      }
    }
    rule.rewrites.push_back(std::move(rewrite));
  }
}

std::vector<std::string> RuleReader::read_entries(const YamlNode& node, const std::string& key) {
  std::vector<std::string> out = file_.texts(node, key);
  for (const std::string& entry : out) {
    const std::string wrong = Vocabulary::wrong(entry);
    if (!wrong.empty()) file_.report(node, "`" + key + "`: " + wrong);
  }
  return out;
}

std::vector<std::vector<std::string>> RuleReader::read_triggers(const YamlNode& node,
                                                                const std::string& key) {
  std::vector<std::vector<std::string>> out;
  if (!node.is_sequence() || node.items.empty()) {
    file_.report(node, "expected a list of lists of texts for `" + key + "`");
    return out;
  }
  for (const YamlNode& item : node.items) out.push_back(read_entries(item, key));
  return out;
}

void RuleReader::read_tests(const YamlNode& node, Rule& rule) {
  if (!node.is_sequence()) {
    file_.report(node, "expected a list of tests for `tests`");
    return;
  }
  for (const YamlNode& item : node.items) {
    auto keys = file_.mapping(item, "a test", kTestKeys);
    if (!keys) continue;
    RuleTest test;
    test.at = at(item);
    if (const YamlNode* name = keys->require("name")) {
      test.name = file_.text(*name, "name").value_or("");
      for (const RuleTest& other : rule.tests) {
        if (other.name == test.name) {
          file_.report(*name, "the test `" + test.name + "` exists already, at line " +
                                  std::to_string(other.at.line));
        }
      }
    }
    if (const YamlNode* before = keys->require("before")) {
      test.before = file_.text(*before, "before").value_or("");
    }
    const YamlNode* after = keys->find("after");
    const YamlNode* refused = keys->find("refused");
    if ((after != nullptr) == (refused != nullptr)) {
      if (!after && (keys->misspelt("after") || keys->misspelt("refused"))) continue;
      file_.report(item, std::string("expected `after` or `refused` in a test, found ") +
                             (after ? "both" : "neither"));
    } else if (after) {
      test.after = file_.text(*after, "after");
    } else {
      test.code = read_code(*refused, "refused");
    }
    if (const YamlNode* target = keys->find("target")) {
      test.target = read_target(*target).value_or(Target::cuda);
    }
    if (const YamlNode* numeric = keys->find("numeric")) {
      if (refused) file_.report(*numeric, "`numeric` needs `after`: a refused site stays as it is");
      test.numeric = read_numeric(*numeric);
    }
    rule.tests.push_back(std::move(test));
  }
}

// The arguments of a numeric test as expressions of Python.
std::map<std::string, std::string> RuleReader::read_numeric(const YamlNode& node) {
  std::map<std::string, std::string> expressions;
  if (node.is_scalar()) {
    if (node.text != "true") {
      file_.report(node, "expected `true`, or a mapping from parameters to values, for `numeric`");
    }
    return expressions;
  }
  auto keys = file_.mapping(node, "`numeric`, from parameters to values", {});
  if (!keys) return expressions;
  for (const auto& [name, value] : keys->entries()) {
    if (!is_identifier(name)) {
      file_.report(keys->key_node(name), "expected a parameter's name, found `" + name + "`");
    }
    std::string expression;
    if (value.is_sequence()) {
      for (const YamlNode& size : value.items) {
        const int number = file_.integer(size, "a size of `" + name + "`").value_or(1);
        expression += (expression.empty() ? "" : ", ") + std::to_string(number);
      }
      expression = "draw(" + expression + ")";
    } else if (value.is_null()) {
      expression = "None";
    } else if (value.is_scalar() && !value.quoted &&
               (value.text == "true" || value.text == "false")) {
      expression = value.text == "true" ? "True" : "False";
    } else {
      expression = file_.text(value, name).value_or("");
    }
    expressions[name] = expression;
  }
  return expressions;
}

}  // namespace refit
