// RuleReader's checks against the catalogue: callees exist, holes and arguments are in their
// signatures, rewrites call what their targets offer with keywords it has.
#include <algorithm>

#include "rewriter/rule/rule_reader.hpp"
#include "rewriter/rule/template_text.hpp"

namespace refit {
namespace {

bool has_parameter(const Operation& operation, const std::string& name) {
  auto in = [&](const std::vector<Parameter>& parameters) {
    return std::ranges::any_of(parameters,
                               [&](const Parameter& parameter) { return parameter.name == name; });
  };
  return in(operation.parameters) || std::ranges::any_of(operation.overloads, in);
}

bool takes_any_keyword(const Operation& operation) {
  return std::ranges::any_of(operation.parameters,
                             [](const Parameter& parameter) { return parameter.variadic_keyword; });
}

std::vector<std::string> parameter_names(const Operation& operation) {
  std::vector<std::string> names;
  names.reserve(operation.parameters.size());
  for (const Parameter& parameter : operation.parameters) names.push_back(parameter.name);
  for (const auto& overload : operation.overloads) {
    for (const Parameter& parameter : overload) names.push_back(parameter.name);
  }
  return names;
}

std::string last_component(std::string_view name) {
  return std::string(name.substr(name.rfind('.') + 1));
}

}  // namespace

std::vector<std::string> RuleReader::read_callees(const YamlNode& node, std::string_view key) {
  std::vector<std::string> names = file_.texts(node, key);
  for (size_t i = 0; i < names.size(); ++i) {
    const YamlNode& item = node.is_sequence() && i < node.items.size() ? node.items[i].get() : node;
    const Operation* operation = catalogue_.find(names[i]);
    if (operation == nullptr) {
      file_.report(item, "unknown callee `" + names[i] + "`: the catalogue has no such name" +
                             did_you_mean(catalogue_.nearest(names[i])));
    } else if (key == "construct" && !operation->is_class) {
      file_.report(item, "expected a class for `construct`, but `" + names[i] +
                             "` is a function in the catalogue; use `call`");
    } else {
      callees_.push_back(operation);
    }
  }
  return names;
}

std::vector<std::string> RuleReader::read_operations(const YamlNode& node, std::string_view key) {
  std::vector<std::string> names = file_.texts(node, key);
  for (size_t i = 0; i < names.size(); ++i) {
    if (catalogue_.find(names[i]) != nullptr) continue;
    const YamlNode& item = node.is_sequence() && i < node.items.size() ? node.items[i].get() : node;
    file_.report(item, "unknown operation `" + names[i] + "`: the catalogue has no such name" +
                           did_you_mean(catalogue_.nearest(names[i])));
  }
  return names;
}

void RuleReader::check_argument(const YamlNode& node, const std::string& name) {
  if (callees_.empty()) return;
  std::vector<std::string> known;
  for (const Operation* callee : callees_) {
    if (has_parameter(*callee, name)) return;
    for (std::string& parameter : parameter_names(*callee)) known.push_back(std::move(parameter));
  }
  file_.report(node, "`" + callees_.front()->id + "` has no parameter `" + name + "`" +
                         did_you_mean(nearest(name, known)));
}

void RuleReader::check_rewrite(const YamlNode& node, const Rewrite& rewrite) {
  for (const std::string& hole : holes(rewrite.with)) {
    if (hole.empty()) {
      file_.report(node, "expected a name after `$` in a rewrite");
      continue;
    }
    // The holes of patterns are known once they are compiled; the engine checks those.
    for (const Operation* callee : callees_) {
      if (has_parameter(*callee, hole)) continue;
      file_.report(node, "nothing binds the hole `$" + hole + "`: `" + callee->id +
                             "` has no such parameter" +
                             did_you_mean(nearest(hole, parameter_names(*callee))));
    }
  }
  for (const TemplateCall& call : calls(rewrite.with)) {
    const Operation* operation = catalogue_.find(call.name);
    if (operation == nullptr) {
      // The import that a rewrite needs follows from its name, and only of a name in the catalogue
      // it is known which part of it is a module, and that calling it has no effect.
      file_.report(node, "the rewrite calls `" + call.name +
                             "`, which the catalogue does not have" +
                             did_you_mean(catalogue_.nearest(call.name)));
      continue;
    }
    for (const std::string& keyword : call.keywords) {
      if (has_parameter(*operation, keyword) || takes_any_keyword(*operation)) continue;
      file_.report(node, "`" + call.name + "` has no parameter `" + keyword + "`" +
                             did_you_mean(nearest(keyword, parameter_names(*operation))));
    }
    if (operation->targets.empty()) continue;
    for (const std::string_view target : kTargetNames) {
      const Target value = target == "cuda" ? Target::cuda : Target::ascend;
      const bool rewritten = rewrite.targets.empty() ||
                             std::ranges::find(rewrite.targets, value) != rewrite.targets.end();
      const bool offered =
          std::ranges::find(operation->targets, target) != operation->targets.end();
      if (rewritten && !offered) {
        file_.report(node, "`" + call.name + "` is not offered on the target " +
                               std::string(target) + "; give this rewrite another `target`");
      }
    }
  }
}

void RuleReader::derive_triggers(Rule& rule) const {
  std::vector<std::string> words;
  auto add = [&](const std::string& word) {
    if (std::ranges::find(words, word) == words.end()) words.push_back(word);
  };
  for (const Operation* callee : callees_) {
    add(last_component(callee->id));
    for (const std::string& name : callee->names) add(last_component(name));
    for (const std::string& method : callee->methods) add(method);
  }
  if (!words.empty()) rule.triggers.push_back(std::move(words));
}

}  // namespace refit
