// What a rule requires that no text of a function alone can show: an object of some class behind an
// attribute, a sum that is a factor. See Shown in frontend/focus.hpp and requirements.hpp.
#include <algorithm>

#include "rewriter/plan/requirements.hpp"

namespace refit {

using graph::Graph;
using graph::Kind;
using graph::kNone;
using graph::Value;
using graph::ValueId;

std::vector<ValueId> Requirements::reachable(const Graph& graph, ValueId root) {
  std::vector<ValueId> out, work{root};
  std::vector<bool> met(graph.values.size(), false);
  while (!work.empty()) {
    ValueId at = work.back();
    work.pop_back();
    if (at == kNone || met[at]) continue;
    met[at] = true;
    out.push_back(at);
    for (ValueId operand : graph[at].operands) work.push_back(operand);
  }
  return out;
}

void Requirements::add_names(const Operation& operation, std::set<std::string>& out) {
  auto last = [](const std::string& name) { return name.substr(name.rfind('.') + 1); };
  out.insert(last(operation.id));
  for (const std::string& name : operation.names) out.insert(last(name));
  for (const std::string& name : operation.methods) out.insert(last(name));
}

std::string Requirements::text_of(Shown shown) {
  std::sort(shown.names.begin(), shown.names.end());
  std::string text(1, kShown);
  text += shown.what == Shown::What::object ? "object" : "addition";
  for (const std::string& name : shown.names) text += ' ' + name;
  for (const std::string& name : shown.adders) text += " +" + name;
  shown_by_text_.emplace(text, std::move(shown));
  return text;
}

Requirements::Texts Requirements::object_of(const Where& clause, const Graph& graph) {
  bool calls = std::any_of(graph.values.begin(), graph.values.end(), [&](const Value& v) {
    return v.kind == Kind::call && graph[v.operands[0]].kind == Kind::hole &&
           clause.of == std::vector<std::string>{graph[v.operands[0]].text};
  });
  if (!calls) return std::nullopt;
  std::set<std::string> names;
  for (const Literal& name : clause.values) {
    names.insert(name.text.substr(name.text.rfind('.') + 1));
    if (const Operation* known = catalogue_.find(name.text)) {
      add_names(*known, names);
      names.insert(known->id);  // whole: what a name that resolves is compared with
    }
  }
  return std::vector<std::string>{text_of({Shown::What::object, {names.begin(), names.end()}, {}})};
}

void Requirements::add_functions(const Operation& operation, std::set<std::string>& out) const {
  if (operation.library != "operator") add_names(operation, out);
  auto takers = takers_.find(&operation);
  if (takers != takers_.end()) out.insert(takers->second.begin(), takers->second.end());
}

Requirements::Texts Requirements::addition_of(const Graph& graph, ValueId root, ValueId sum,
                                              const Literal& number) {
  std::vector<const Operation*> users;
  std::set<std::string> functions;
  add_functions(*graph[sum].op, functions);
  std::vector<std::string> adders(functions.begin(), functions.end());
  if (sum == root) return std::nullopt;
  for (ValueId id : reachable(graph, root)) {
    const Value& v = graph[id];
    if (std::find(v.operands.begin(), v.operands.end(), sum) == v.operands.end()) continue;
    if (v.kind == Kind::op) {
      users.push_back(v.op);
      add_functions(*v.op, functions);
    } else if (v.kind != Kind::index || v.operands[0] != sum) {
      return std::nullopt;
    }
  }
  if (!frontend_.shows_addition(number, *graph[sum].op, users)) return std::nullopt;
  return std::vector<std::string>{
      text_of({Shown::What::addition, {functions.begin(), functions.end()}, std::move(adders)})};
}

}  // namespace refit
