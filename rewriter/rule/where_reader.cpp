// The clauses of `where`: their kinds and what stands under each. Entry point:
// RuleReader::read_where.
#include "rewriter/rule/rule_reader.hpp"
#include "rewriter/rule/template_text.hpp"

namespace refit {

std::vector<Where> RuleReader::read_where(const YamlNode& node, bool refuses) {
  std::vector<Where> clauses;
  if (!node.is_sequence()) {
    file_.report(node, "expected a list of clauses for `where`, each led by a hyphen");
    return clauses;
  }
  for (const YamlNode& item : node.items) {
    if (auto clause = read_clause(item, refuses)) clauses.push_back(std::move(*clause));
  }
  return clauses;
}

std::optional<Where> RuleReader::read_clause(const YamlNode& node, bool refuses) {
  std::vector<std::string_view> allowed;
  allowed.reserve(kWhereKinds.size() + kClauseKeys.size());
  for (const WhereKind& kind : kWhereKinds) allowed.push_back(kind.name);
  allowed.insert(allowed.end(), kClauseKeys.begin(), kClauseKeys.end());
  auto keys = file_.mapping(node, "a clause of `where`", allowed);
  if (!keys) return std::nullopt;
  Where where;
  where.at = at(node);
  bool misspelt_kind = false;
  for (const WhereKind& kind : kWhereKinds) {
    misspelt_kind = misspelt_kind || keys->misspelt(kind.name);
    const YamlNode* value = keys->find(kind.name);
    if (!value) continue;
    if (!where.kind.empty()) {
      file_.report(keys->key_node(kind.name), "expected one kind in a clause, found `" +
                                                  where.kind + "` and `" + std::string(kind.name) +
                                                  "`");
      continue;
    }
    where.kind = kind.name;
    read_where_kind(kind, *value, where);
  }
  if (where.kind.empty() && !misspelt_kind) {
    file_.report(node, "a clause of `where` needs a kind, such as `is` or `absent`");
  }
  const YamlNode* code = refuses ? keys->require("code") : keys->find("code");
  if (code) where.code = read_code(*code, "code");
  if (const YamlNode* says = refuses ? keys->require("says") : keys->find("says")) {
    where.says = file_.text(*says, "says").value_or("");
  }
  if (const YamlNode* assume = keys->find("or_assume")) {
    where.or_assume = file_.text(*assume, "or_assume");
  }
  return where;
}

void RuleReader::read_where_kind(const WhereKind& kind, const YamlNode& node, Where& where) {
  const std::string name(kind.name);
  switch (kind.form) {
    case WhereForm::values:
      read_where_values(name, node, where);
      return;
    case WhereForm::number:
    case WhereForm::symbol: {
      auto keys = file_.mapping(node, "`" + name + "`", kWhereIsKeys);
      if (!keys) return;
      if (const YamlNode* names = keys->require("of")) where.of = read_names(*names, "of");
      const YamlNode* is = keys->require("is");
      if (!is) return;
      if (kind.form == WhereForm::number) {
        where.number = file_.integer(*is, "is").value_or(0);
        return;
      }
      auto literal = file_.literal(*is, "is");
      if (literal && literal->kind != Literal::Kind::symbol) {
        file_.report(*is, "expected an element type such as torch.float32 for `is`, found " +
                              to_string(*literal));
      } else if (literal) {
        where.values = {*literal};
      }
      return;
    }
    case WhereForm::names:
      where.of = read_names(node, name);
      return;
    case WhereForm::qualified:
      for (const std::string& text : file_.texts(node, name)) {
        where.values.push_back(Literal::symbol(text));
      }
      return;
    case WhereForm::entries:
      for (const std::string& text : read_entries(node, name)) {
        where.values.push_back(Literal::string(text));
      }
      return;
    case WhereForm::package:
      if (auto package = file_.text(node, name)) where.values = {Literal::symbol(*package)};
      return;
    case WhereForm::result: {
      auto keys = file_.mapping(node, "`" + name + "`", kWhereResultKeys);
      if (!keys) return;
      const YamlNode* except = keys->require("except");
      if (!except) return;
      where.number = file_.integer(*except, "except").value_or(0);
      if (where.number < 0)
        file_.report(*except, "expected a result's number, from 0, for `except`");
      return;
    }
    case WhereForm::results: {
      auto keys = file_.mapping(node, "`" + name + "`", kWhereResultsKeys);
      if (!keys) return;
      const YamlNode* into = keys->require("into");
      const YamlNode* first = keys->require("first");
      if (!into || !first) return;
      where.number = file_.integer(*into, "into").value_or(1);
      const int read = file_.integer(*first, "first").value_or(1);
      if (where.number < 1) file_.report(*into, "expected how many results there are for `into`");
      if (read < 1 || read > where.number) {
        file_.report(*first,
                     "expected how many of the results may be read, from 1 to `into`, for `first`");
      }
      where.values = {Literal::whole(read)};
      return;
    }
  }
}

void RuleReader::read_where_values(const std::string& name, const YamlNode& node, Where& where) {
  auto keys = file_.mapping(node, "`" + name + "`", kWhereValuesKeys);
  if (!keys) return;
  if (const YamlNode* names = keys->require("of")) where.of = read_names(*names, "of");
  const YamlNode* value = keys->find("value");
  const YamlNode* values = keys->find("values");
  if ((value != nullptr) == (values != nullptr)) {
    file_.report(node, "expected `value` or `values` in `" + name + "`, found " +
                           (value ? "both" : "neither"));
  } else if (value) {
    if (auto literal = file_.literal(*value, "value")) where.values = {*literal};
  } else if (!values->is_sequence() || values->items.empty()) {
    file_.report(*values, "expected a list of literals for `values`");
  } else {
    for (const YamlNode& item : values->items) {
      if (auto literal = file_.literal(item, "values")) where.values.push_back(*literal);
    }
  }
  if (name.starts_with("instance")) {
    for (const Literal& type : where.values) {
      const Operation* known = catalogue_.find(type.text);
      if (known == nullptr || !known->is_class) {
        file_.report(node, "expected classes of the catalogue for `" + name + "`, found `" +
                               to_string(type) + "`");
      }
    }
  }
}

std::vector<std::string> RuleReader::read_names(const YamlNode& node, std::string_view what) {
  std::vector<std::string> names = file_.texts(node, what);
  for (size_t i = 0; i < names.size(); ++i) {
    const YamlNode& item = node.is_sequence() && i < node.items.size() ? node.items[i].get() : node;
    if (!is_identifier(names[i])) {
      file_.report(item, "expected the name of an argument or a hole without `$` for `" +
                             std::string(what) + "`, found `" + names[i] + "`");
    } else {
      check_argument(item, names[i]);
    }
  }
  return names;
}

}  // namespace refit
