// Deriving requirements: a fixed point over the isomorphisms says by which texts an operation can
// come about, a walk over each pattern which operations it cannot do without. See requirements.hpp.
#include "rewriter/plan/requirements.hpp"

#include <algorithm>
#include <functional>
#include <set>

namespace refit {

using graph::Graph;
using graph::Kind;
using graph::kNone;
using graph::Value;
using graph::ValueId;

namespace {

constexpr size_t kAlternatives = 64;  // more are not told apart

std::string last_component(const std::string& name) { return name.substr(name.rfind('.') + 1); }

bool is_word(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

// The values that a match of `root` accounts for.
std::vector<ValueId> reachable(const Graph& graph, ValueId root) {
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

std::vector<std::string> sorted(std::vector<std::string> texts) {
  std::sort(texts.begin(), texts.end());
  texts.erase(std::unique(texts.begin(), texts.end()), texts.end());
  return texts;
}

}  // namespace

Requirements::Requirements(const CompiledRules& rules, const Catalogue& catalogue,
                           const Isomorphisms& isomorphisms, const Frontend& frontend) {
  derive(catalogue, isomorphisms, frontend);
  std::vector<std::vector<Draft>> drafts;
  for (const CompiledRule& rule : rules.rules) drafts.push_back(of_rule(rule));
  // Literals get their numbers first: a set of bits has room for all of them.
  std::vector<std::string> named, runtime, callees;
  for (const CompiledRule& rule : rules.rules) {
    for (const Anchor& anchor : rule.rule->anchors) {
      for (std::string glob : anchor.names) {
        std::erase(glob, '*');  // one star at an end: the rest is what the name contains
        named.push_back(std::move(glob));
      }
    }
  }
  for (const auto& operation : catalogue.operations()) {
    if (!operation->targets.empty()) {
      runtime.push_back(operation->id.substr(0, operation->id.find('.')));
    }
  }
  const std::vector<std::vector<std::string>> trains = {{".backward("},
                                                        {"optim", "Optimizer", "Trainer"}};
  const std::vector<std::vector<std::string>> exports = {
      {"torch.onnx.export", "onnx.export(", "tensorrt", "torch.jit.script(", "torch.jit.trace(",
       "torch.export.export("}};
  std::vector<Draft> triggers;
  for (const CompiledRule& rule : rules.rules) {
    Draft draft = rule.rule->triggers;
    if (!rule.callees.empty()) {
      std::vector<std::string> words;
      for (const Operation* op : rule.callees) {
        for (std::string& word : name_words(*op)) words.push_back(std::move(word));
      }
      for (const auto* list : {&rule.rule->match.call, &rule.rule->match.construct}) {
        for (const std::string& name : *list) words.push_back(last_component(name));
      }
      draft.push_back(sorted(std::move(words)));
      callees.insert(callees.end(), draft.back().begin(), draft.back().end());
    }
    triggers.push_back(std::move(draft));
  }
  auto number = [&](const Draft& draft, bool words) {
    for (const auto& any_of : draft) {
      for (const std::string& text : any_of) {
        if (!text.empty()) literals_.add(text, words && is_word(text));
      }
    }
  };
  for (const auto& alternatives : drafts) {
    for (const Draft& draft : alternatives) number(draft, true);
  }
  for (size_t r = 0; r < triggers.size(); ++r) {
    number(triggers[r], !rules.rules[r].callees.empty());
  }
  number({named}, false);
  number({runtime}, true);
  number({callees}, false);
  number(trains, false);
  number(exports, false);
  std::set<std::string> asked;
  auto ask = [&](const std::vector<Where>& where) {
    for (const Where& clause : where) {
      if (clause.kind != "not_in_tree") continue;
      for (const Literal& text : clause.values) asked.insert(text.text);
    }
  };
  for (const CompiledRule& rule : rules.rules) {
    ask(rule.rule->where);
    for (const Pattern& pattern : rule.rule->match.patterns) ask(pattern.where);
    for (const Rewrite& rewrite : rule.rule->rewrites) ask(rewrite.where);
  }
  tree_words_.assign(asked.begin(), asked.end());
  for (const std::string& word : tree_words_) {
    tree_word_ids_.push_back(literals_.add(word, false));
  }
  literals_.build();
  for (size_t r = 0; r < drafts.size(); ++r) {
    Rule& rule = rules_.emplace_back();
    rule.triggers = clauses(triggers[r], !rules.rules[r].callees.empty());
    for (const Draft& draft : drafts[r]) rule.alternatives.push_back(clauses(draft, true));
  }
  auto bits = [&](const std::vector<std::string>& texts, bool words) {
    LiteralBits out = literals_.none();
    for (const std::string& text : texts) out.set(literals_.add(text, words && is_word(text)));
    return out;
  };
  named_ = bits(named, false);
  runtime_ = bits(runtime, true);
  callees_ = bits(callees, false);
  trains_ = clauses(trains, false);
  exports_ = clauses(exports, false);
}

// By which texts each operation and attribute can come about: its own names, and those of the
// spellings that become it.
void Requirements::derive(const Catalogue& catalogue, const Isomorphisms& isomorphisms,
                          const Frontend& frontend) {
  for (const auto& operation : catalogue.operations()) {
    Need& need = operations_[operation.get()];
    auto texts = frontend.spellings(*operation);
    need.anything = !texts;
    if (texts) need.texts = sorted(std::move(*texts));
  }
  struct Way {
    const Operation* from = nullptr;  // the most telling operation of the spelling
    std::vector<const Operation*> to;
    std::vector<std::string> attributes;
    Need read;  // where it is no operation but an attribute
  };
  std::vector<Way> ways;
  isomorphisms.each([&](const Graph& from, ValueId root, const Graph& to) {
    Way way;
    for (ValueId id : reachable(from, root)) {
      const Value& v = from[id];
      if (v.kind != Kind::op) continue;
      const Need& need = operations_[v.op];
      if (need.anything) continue;
      if (way.from == nullptr || need.texts.size() < operations_[way.from].texts.size()) {
        way.from = v.op;
      }
    }
    if (way.from == nullptr && from[root].kind == Kind::attribute) {
      way.read.texts = {from[root].text};  // `x.mT`
    }
    for (const Value& v : to.values) {
      if (v.kind == Kind::op) way.to.push_back(v.op);
      if (v.kind == Kind::attribute) way.attributes.push_back(v.text);
      if (v.kind == Kind::literal) made_literals_.insert(v.literal.text);
    }
    ways.push_back(std::move(way));
  });
  auto join = [](Need& into, const Need* from) {
    if (into.anything) return false;
    if (from == nullptr || from->anything) {
      into.anything = true;
      return true;
    }
    size_t before = into.texts.size();
    into.texts.insert(into.texts.end(), from->texts.begin(), from->texts.end());
    into.texts = sorted(std::move(into.texts));
    return into.texts.size() != before;
  };
  for (const Way& way : ways) {
    for (const std::string& text : way.attributes) attributes_[text].texts = {text};
  }
  for (bool more = true; more;) {
    more = false;
    for (const Way& way : ways) {
      const Need* from = way.from != nullptr       ? &operations_[way.from]
                         : !way.read.texts.empty() ? &way.read
                                                   : nullptr;
      for (const Operation* op : way.to) {
        if (op != way.from) more = join(operations_[op], from) || more;
      }
      for (const std::string& text : way.attributes) {
        more = join(attributes_[text], from) || more;
      }
    }
  }
}

Requirements::Draft Requirements::of_graph(const Requirements& self, const Graph& graph,
                                           ValueId root) {
  std::set<std::vector<std::string>> out;
  for (ValueId id : reachable(graph, root)) {
    const Value& v = graph[id];
    if (v.kind == Kind::op) {
      auto need = self.operations_.find(v.op);
      if (need != self.operations_.end() && !need->second.anything) out.insert(need->second.texts);
    } else if (v.kind == Kind::literal && v.literal.kind == Literal::Kind::symbol &&
               !self.made_literals_.contains(v.literal.text)) {
      out.insert({v.literal.text});  // `...`, which has one spelling
    } else if (v.kind == Kind::attribute) {
      auto need = self.attributes_.find(v.text);
      if (need == self.attributes_.end()) {
        out.insert({v.text});
      } else if (!need->second.anything) {
        out.insert(need->second.texts);
      }
    }
  }
  return {out.begin(), out.end()};
}

// One alternative a pattern, times the ways in which its choices can be made. A rule of which
// nothing is known needs nothing: no alternative at all.
std::vector<Requirements::Draft> Requirements::of_rule(const CompiledRule& rule) const {
  std::vector<Draft> out;
  for (const Operation* op : rule.callees) {
    auto need = operations_.find(op);
    if (need == operations_.end() || need->second.anything) return {};
    out.push_back({need->second.texts});
  }
  auto add_pattern = [&](const CompiledPattern& pattern, bool with_choices) {
    std::vector<Draft> drafts{of_graph(*this, pattern.graph, pattern.root)};
    if (with_choices) {
      for (const auto& [hole, alternatives] : rule.choices) {
        bool used =
            std::any_of(pattern.graph.values.begin(), pattern.graph.values.end(),
                        [&](const Value& v) { return v.kind == Kind::hole && v.text == hole; });
        if (!used) continue;
        std::vector<Draft> product;
        for (const Draft& draft : drafts) {
          for (const CompiledPattern& alternative : alternatives) {
            Draft both = draft;
            for (auto& clause : of_graph(*this, alternative.graph, alternative.root)) {
              both.push_back(std::move(clause));
            }
            product.push_back(std::move(both));
          }
        }
        drafts = std::move(product);
      }
    }
    for (Draft& draft : drafts) out.push_back(std::move(draft));
  };
  for (const CompiledPattern& pattern : rule.patterns) add_pattern(pattern, true);
  for (const CompiledAnchor& anchor : rule.anchors) {
    for (const CompiledPattern& pattern : anchor.patterns) add_pattern(pattern, false);
    Draft telltale;
    for (const auto* operations : {&anchor.operation, &anchor.fed_by}) {
      std::vector<std::string> texts;
      bool anything = operations->empty();
      for (const Operation* op : *operations) {
        auto need = operations_.find(op);
        anything = anything || need == operations_.end() || need->second.anything;
        if (!anything) {
          texts.insert(texts.end(), need->second.texts.begin(), need->second.texts.end());
        }
      }
      if (!anything) telltale.push_back(sorted(std::move(texts)));
    }
    if (!anchor.operation.empty()) out.push_back(std::move(telltale));
  }
  for (Draft& draft : out) {
    std::sort(draft.begin(), draft.end());
    draft.erase(std::unique(draft.begin(), draft.end()), draft.end());
    if (draft.empty()) return {};
  }
  keep_smallest(out);
  if (out.size() > kAlternatives) return {};
  return out;
}

// An alternative that asks for all that another asks for, and more, adds nothing.
void Requirements::keep_smallest(std::vector<Draft>& drafts) {
  std::sort(drafts.begin(), drafts.end(),
            [](const Draft& a, const Draft& b) { return a.size() < b.size(); });
  std::vector<Draft> kept;
  for (Draft& draft : drafts) {
    bool covered = std::any_of(kept.begin(), kept.end(), [&](const Draft& other) {
      return std::includes(draft.begin(), draft.end(), other.begin(), other.end());
    });
    if (!covered) kept.push_back(std::move(draft));
  }
  drafts = std::move(kept);
}

Requirements::Clauses Requirements::clauses(const Draft& draft, bool words) {
  Clauses out;
  for (const auto& any_of : draft) {
    if (std::find(any_of.begin(), any_of.end(), std::string()) != any_of.end()) continue;
    LiteralBits clause = literals_.none();
    for (const std::string& text : any_of) clause.set(literals_.add(text, words && is_word(text)));
    out.push_back(std::move(clause));
  }
  return out;
}

bool Requirements::met(const Clauses& clauses, const LiteralBits& seen) {
  return std::all_of(clauses.begin(), clauses.end(),
                     [&](const Clause& clause) { return seen.intersects(clause); });
}

std::vector<bool> Requirements::file(const LiteralBits& seen, bool derived) const {
  std::vector<bool> out(rules_.size());
  for (size_t r = 0; r < rules_.size(); ++r) {
    const Rule& rule = rules_[r];
    out[r] = met(rule.triggers, seen) &&
             (!derived || rule.alternatives.empty() ||
              std::any_of(rule.alternatives.begin(), rule.alternatives.end(),
                          [&](const Clauses& clauses) { return met(clauses, seen); }));
  }
  return out;
}

bool Requirements::wanted(const LiteralBits& seen, const std::vector<bool>& rules) const {
  if (named(seen)) return true;
  for (size_t r = 0; r < rules_.size(); ++r) {
    if (!rules[r]) continue;
    const auto& alternatives = rules_[r].alternatives;
    if (alternatives.empty() ||
        std::any_of(alternatives.begin(), alternatives.end(),
                    [&](const Clauses& clauses) { return met(clauses, seen); })) {
      return true;
    }
  }
  return false;
}

std::vector<bool> Requirements::words(const LiteralBits& seen) const {
  std::vector<bool> out;
  for (uint32_t id : tree_word_ids_) out.push_back(seen.test(id));
  return out;
}

}  // namespace refit
