// Loading and applying spellings that mean the same: see isomorphisms.hpp.
#include "rewriter/graph/isomorphisms.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "rewriter/graph/unify.hpp"
#include "rewriter/rule/yaml_file.hpp"
#include "rewriter/text/bounds.hpp"

namespace refit {

namespace {

constexpr int kChainBound = 8;  // normal forms are a few steps away; more would be a cycle

// The value of a key; null where there is none.
const YamlNode* value_of(const YamlNode& node, std::string_view key) {
  for (const YamlNode::Entry& entry : node.entries) {
    if (entry.key.text == key) return &entry.value;
  }
  return nullptr;
}

std::vector<std::string> list_of(const YamlNode* node) {
  std::vector<std::string> out;
  if (node == nullptr) return out;
  if (node->is_scalar()) return {node->text};
  for (const YamlNode& item : node->items) out.push_back(item.text);
  return out;
}

// Whether two values say the same, literals among their operands compared by what they are.
bool same_node(const Graph& graph, const Value& a, const Value& b) {
  auto same = [&](ValueId x, ValueId y) {
    if (x == y) return true;
    return x != kNone && y != kNone && graph[x].kind == Kind::literal &&
           graph[y].kind == Kind::literal && graph[x].literal == graph[y].literal;
  };
  return a.kind == b.kind && a.op == b.op && a.index == b.index && a.text == b.text &&
         a.axes == b.axes &&
         std::equal(a.operands.begin(), a.operands.end(), b.operands.begin(), b.operands.end(),
                    same);
}

}  // namespace

bool denotes_element_type(const Graph& graph, ValueId id) {
  if (id == kNone) return false;
  const Value& v = graph[id];
  if (v.kind == Kind::attribute) return v.text == "dtype";
  if (v.kind == Kind::op) return v.op->axes == AxisKind::query && v.op->id.ends_with("dtype");
  if (v.kind == Kind::symbol) {
    static constexpr std::string_view kTypes[] = {
        "float32", "float16", "bfloat16", "float64", "float", "half", "double", "int32",
        "int64",   "long",    "int",      "bool",    "uint8", "int8", "int16"};
    size_t dot = v.text.rfind('.');
    if (dot == std::string::npos) return false;
    std::string_view last = std::string_view(v.text).substr(dot + 1);
    for (std::string_view type : kTypes) {
      if (last == type) return true;
    }
  }
  return false;
}

Expected<Isomorphisms> Isomorphisms::load(const std::vector<std::string>& files, const Catalogue&,
                                          const PatternMaker& pattern) {
  Isomorphisms out;
  for (const std::string& file : files) {
    if (const auto read = out.read(file, pattern); !read) return tl::unexpected(read.error());
  }
  if (const Entry* back = out.cycle()) {
    return failure(back->at + ": this spelling and others lead back to each other");
  }
  return out;
}

Expected<void> Isomorphisms::read(const std::string& file, const PatternMaker& pattern) {
  auto opened = YamlFile::open(file);
  if (!opened) return tl::unexpected(opened.error());
  const YamlNode& root = opened->root();
  if (!root.is_sequence()) {
    return failure(file + ":1:1: expected a list of spellings, each with `from` and `to`");
  }
  for (const YamlNode& item : root.items) {
    const std::string at = opened->where(item);
    for (const YamlNode::Entry& entry : item.entries) {
      const std::string& key = entry.key.text;
      if (key != "from" && key != "to" && key != "dtype" && key != "number" && key != "tensor") {
        return failure(at + ": unknown key `" + key +
                       "`; a spelling has `from`, `to`, `dtype`, `number`, `tensor`");
      }
    }
    const YamlNode* to_text = value_of(item, "to");
    if (value_of(item, "from") == nullptr || to_text == nullptr) {
      return failure(at + ": a spelling needs both `from` and `to`");
    }
    Expected<Graph> to;
    for (const std::string& from : list_of(value_of(item, "from"))) {
      Entry entry;
      auto f = pattern("return " + from);
      if (!f) return failure(at + ": `" + from + "`: " + f.error().message);
      if (to && to->values.empty()) to = pattern("return " + to_text->text);
      if (!to) return failure(at + ": `to`: " + to.error().message);
      entry.from = std::move(*f);
      entry.to = *to;
      entry.from_root = entry.from.results.front();
      entry.to_root = entry.to.results.front();
      entry.element_type = list_of(value_of(item, "dtype"));
      entry.number = list_of(value_of(item, "number"));
      entry.tensor = list_of(value_of(item, "tensor"));
      entry.at = at;
      entry.axes = axes_named(entry.from, entry.from_root);
      const Value& root_value = entry.from[entry.from_root];
      if (root_value.kind == Kind::index) {
        indices_.push_back(std::move(entry));
      } else if (root_value.kind == Kind::attribute) {
        attributes_.push_back(std::move(entry));
      } else if (root_value.kind == Kind::op) {
        by_operation_[root_value.op].push_back(std::move(entry));
      } else {
        return failure(at + ": `" + from + "` is no call of an operation in the catalogue: " +
                       dump(entry.from, entry.from_root));
      }
    }
  }
  return {};
}

// How many axes a permutation names one by one; 0 for anything else.
int Isomorphisms::axes_named(const Graph& graph, ValueId root) {
  const Value* at = &graph[root];
  if (at->kind != Kind::op || at->op->axes != AxisKind::permute || at->operands.size() < 2)
    return 0;
  at = &graph[at->operands[1]];
  if (at->kind == Kind::tuple && at->operands.size() == 1) at = &graph[at->operands[0]];
  bool numbers = at->kind == Kind::tuple && std::ranges::all_of(at->operands, [&](ValueId part) {
                   return graph[part].kind == Kind::literal;
                 });
  return numbers ? static_cast<int>(at->operands.size()) : 0;
}

bool Isomorphisms::possible(const Entry& entry, const Graph& graph, ValueId id) {
  const Value& want = entry.from[entry.from_root];
  const Value& have = graph[id];
  if (want.index != have.index) return false;
  if (want.kind == Kind::attribute && want.text != have.text) return false;
  const auto may = [&](size_t i, size_t j) {
    if (want.operands[i] == kNone || have.operands[j] == kNone) return true;
    const Value& w = entry.from[want.operands[i]];
    const Value& h = graph[have.operands[j]];
    if (h.kind == Kind::opaque) return true;  // one may be seen through
    switch (w.kind) {
      case Kind::op:
        return w.kind == h.kind && w.op == h.op;
      case Kind::attribute:
      case Kind::symbol:
        return w.kind == h.kind && w.text == h.text;
      case Kind::list:
      case Kind::tuple:
        return (h.kind == Kind::list || h.kind == Kind::tuple) &&
               w.operands.size() == h.operands.size();
      case Kind::literal:
        return w.kind == h.kind &&
               (w.literal.kind == Literal::Kind::string || same_value(w.literal, h.literal));
      default:
        return true;
    }
  };
  const size_t both = std::min(want.operands.size(), have.operands.size());
  size_t first = 0;
  if (want.op != nullptr && want.op->commutative) {
    if (both < 2) return true;
    if (!(may(0, 0) && may(1, 1)) && !(may(0, 1) && may(1, 0))) return false;
    first = 2;
  }
  for (size_t i = first; i < both; ++i) {
    if (!may(i, i)) return false;
  }
  return true;
}

bool Isomorphisms::apply(const Entry& entry, Graph& graph, ValueId id, bool always) const {
  if (!possible(entry, graph, id)) return false;
  Bindings bindings;
  if (!match_value(entry.from, entry.from_root, graph, id, bindings)) return false;
  const auto all = [&](const std::vector<std::string>& names, auto holds) {
    return always || std::ranges::all_of(names, [&](const std::string& name) {
             auto hole = bindings.holes.find(name);
             return hole != bindings.holes.end() && holds(hole->second);
           });
  };
  const auto literal = [&](ValueId hole) { return graph[hole].kind == Kind::literal; };
  if (!all(entry.element_type, [&](ValueId v) { return denotes_element_type(graph, v); }) ||
      !all(entry.number, literal) || !all(entry.tensor, [&](ValueId v) { return !literal(v); })) {
    return false;
  }
  // Instantiate `to` from its leaves up; its values are in the order they were made.
  std::map<ValueId, ValueId> made;
  const size_t before = graph.values.size();
  ValueId last = kNone;
  for (ValueId v = 0; v < entry.to.values.size(); ++v) {
    const Value& from = entry.to[v];
    if (from.kind == Kind::hole) {
      auto hole = bindings.holes.find(from.text);
      if (hole == bindings.holes.end()) return false;
      made[v] = hole->second;
      continue;
    }
    Value copy = from;
    for (ValueId& operand : copy.operands) {
      if (operand != kNone) operand = made.at(operand);
    }
    copy.range = graph[id].range;
    copy.statement = graph[id].statement;
    copy.syntax = graph[id].syntax;
    copy.axes = std::max(entry.axes, graph[id].axes);
    if (v == entry.to_root) {
      if (same_node(graph, graph[id], copy)) {  // in its form already, which is another spelling
        graph.values.resize(before);
        return false;
      }
      graph[id] = std::move(copy);
      made[v] = id;
      last = id;
    } else {
      copy.range = {};
      copy.syntax = kNone;
      made[v] = graph.add(std::move(copy));
    }
  }
  if (last != kNone) return true;
  return false;
}

bool Isomorphisms::settle(Graph& graph, ValueId id, bool always) const {
  for (int step = 0; step < kChainBound; ++step) {
    const std::vector<Entry>* entries = nullptr;
    if (graph[id].kind == Kind::op) {
      auto found = by_operation_.find(graph[id].op);
      if (found != by_operation_.end()) entries = &found->second;
    } else if (graph[id].kind == Kind::index) {
      entries = &indices_;
    } else if (graph[id].kind == Kind::attribute) {
      entries = &attributes_;
    }
    if (entries == nullptr) return true;
    bool changed = false;
    for (const Entry& entry : *entries) {
      if (apply(entry, graph, id, always)) {
        changed = true;
        break;
      }
    }
    if (!changed) return true;
  }
  return false;
}

void Isomorphisms::normalise(Graph& graph, ValueId id) const {
  if (!settle(graph, id, false)) reached(Bound::normal_form, graph[id].range.begin);
}

const Isomorphisms::Entry* Isomorphisms::cycle() const {
  const auto first = [&](const std::vector<Entry>& entries) -> const Entry* {
    for (const Entry& entry : entries) {
      Graph graph = entry.from;
      if (!settle(graph, entry.from_root, true)) return &entry;
    }
    return nullptr;
  };
  for (const auto& [operation, entries] : by_operation_) {
    if (const Entry* found = first(entries)) return found;
  }
  const Entry* found = first(indices_);
  return found != nullptr ? found : first(attributes_);
}

}  // namespace refit
