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
constexpr size_t kProduct = 4096;     // ways to make the choices of one pattern; more are not asked

std::string last_component(const std::string& name) { return name.substr(name.rfind('.') + 1); }

// Whether an operation has an operand that is this hole.
bool takes(const Value& v, const Graph& graph, const std::string& hole) {
  return v.kind == Kind::op && std::any_of(v.operands.begin(), v.operands.end(), [&](ValueId o) {
           return o != kNone && graph[o].kind == Kind::hole && graph[o].text == hole;
         });
}

bool has_starred(const Graph& graph, const Value& sequence) {
  return std::any_of(sequence.operands.begin(), sequence.operands.end(), [&](ValueId item) {
    return item != kNone && graph[item].kind == Kind::starred;
  });
}

// Whether two operations agree in the literals that both show.
bool may_be_same(const Graph& a, ValueId x, const Graph& b, ValueId y) {
  std::vector<std::pair<ValueId, ValueId>> work{{x, y}};
  while (!work.empty()) {
    auto [p, q] = work.back();
    work.pop_back();
    const Value &v = a[p], &w = b[q];
    if (v.kind == Kind::literal && w.kind == Kind::literal) {
      if (v.literal.kind == Literal::Kind::string) continue;  // equations have many spellings
      if (!same_value(v.literal, w.literal)) return false;
      continue;
    }
    bool sequences = (v.kind == Kind::tuple || v.kind == Kind::list) &&
                     (w.kind == Kind::tuple || w.kind == Kind::list);
    bool top = p == x && q == y && !v.op->commutative;
    if (!sequences && !top) continue;
    if (v.operands.size() != w.operands.size()) {
      if (sequences && !has_starred(a, v) && !has_starred(b, w)) return false;
      continue;
    }
    for (size_t i = 0; i < v.operands.size(); ++i) {
      if (v.operands[i] != kNone && w.operands[i] != kNone) {
        work.emplace_back(v.operands[i], w.operands[i]);
      }
    }
  }
  return true;
}

std::vector<std::string> sorted(std::vector<std::string> texts) {
  std::sort(texts.begin(), texts.end());
  texts.erase(std::unique(texts.begin(), texts.end()), texts.end());
  return texts;
}

}  // namespace

Requirements::Requirements(const CompiledRules& rules, const Catalogue& catalogue,
                           const Isomorphisms& isomorphisms, const Frontend& frontend)
    : frontend_(frontend), catalogue_(catalogue) {
  frontend.add_noted_words(literals_);
  derive(isomorphisms);
  std::vector<std::vector<Numbered>> drafts;
  for (const CompiledRule& rule : rules.rules) drafts.push_back(of_rule(rule));
  // Literals get their numbers first: a set of bits has room for all of them.
  std::vector<std::string> named, called, runtime, callees;
  for (const CompiledRule& rule : rules.rules) {
    for (const Anchor& anchor : rule.rule->anchors) {
      for (std::string glob : anchor.names) {
        if (auto telling = frontend.called(glob)) {
          // A name that begins or ends like the glob.
          const bool open = glob.starts_with('*'), goes_on = glob.ends_with('*');
          const auto stands = open && goes_on ? Literals::Stands::anywhere
                              : open          ? Literals::Stands::ends
                                              : Literals::Stands::begins;
          for (std::string& text : noted({std::move(*telling)}, stands)) {
            called.push_back(std::move(text));
          }
        }
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
      {"torch.onnx.export", std::string(kExporter), "tensorrt", "torch.jit.script(",
       "torch.jit.trace(", "torch.export.export("}};
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
  std::set<uint32_t> of_functions;
  auto number = [&](const Draft& draft, Sought sought, bool functions = false) {
    for (const auto& any_of : draft) {
      for (const std::string& text : any_of) {
        if (text.empty()) continue;
        const uint32_t id = literal(text, sought);
        if (functions) of_functions.insert(id);
      }
    }
  };
  auto of_triggers = [&](size_t r) {
    return rules.rules[r].callees.empty() ? Sought::later : Sought::words;
  };
  std::vector<bool> literal_known(by_number_.size(), false);
  for (const auto& alternatives : drafts) {
    for (const Numbered& draft : alternatives) {
      for (const uint32_t any_of : draft) {
        if (!literal_known[any_of]) number({*by_number_[any_of]}, Sought::words, true);
        literal_known[any_of] = true;
      }
    }
  }
  for (size_t r = 0; r < triggers.size(); ++r) number(triggers[r], of_triggers(r));
  number({named}, Sought::later);
  number({called}, Sought::words, true);
  number({runtime}, Sought::words);
  number({callees}, Sought::ends);
  number(trains, Sought::plain);
  number(exports, Sought::plain);
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
  for (uint32_t id = 0; id < literals_.size(); ++id) {
    if (!of_functions.contains(id)) literals_.leave_out_of_parts(id);
  }
  literals_.build();
  asked_later_ = literals_.none();
  for (uint32_t id : common_ids_) asked_later_.set(id);
  later_ = literals_.none();
  for (uint32_t id : later_ids_) later_.set(id);
  for (auto& [text, shown] : shown_by_text_) {
    shown.literal = literals_.add_unscanned(text);
    asked_later_.set(shown.literal);
    shown_.push_back(shown);
  }
  std::vector<std::optional<Clause>> by_number(by_number_.size());
  for (size_t i = 0; i < by_number.size(); ++i) {
    if (literal_known[i]) by_number[i] = clause(*by_number_[i], Sought::words);
  }
  for (size_t r = 0; r < drafts.size(); ++r) {
    Rule& rule = rules_.emplace_back();
    rule.triggers = clauses(triggers[r], of_triggers(r));
    for (const Numbered& draft : drafts[r]) {
      Clauses& all_of = rule.alternatives.emplace_back();
      for (const uint32_t any_of : draft) {
        if (by_number[any_of]) all_of.push_back(*by_number[any_of]);
        rule.asks_shown = rule.asks_shown || by_number_[any_of]->front().front() == kShown;
      }
    }
  }
  number_alternatives();
  auto bits = [&](const std::vector<std::string>& texts, Sought sought) {
    LiteralBits out = literals_.none();
    for (const std::string& text : texts) out.set(literal(text, sought));
    return out;
  };
  named_ = bits(named, Sought::later);
  called_ = bits(called, Sought::words);
  runtime_ = bits(runtime, Sought::words);
  for (const std::string& text : callees) callees_.emplace(text, literal(text, Sought::ends));
  trains_ = clauses(trains, Sought::plain);
  exports_ = clauses(exports, Sought::plain);
}

void Requirements::derive(const Isomorphisms& isomorphisms) {
  auto steps = [](const Graph& graph, ValueId id) {
    return graph[id].kind == Kind::slice && graph[id].operands[2] != kNone;
  };
  isomorphisms.each([&](const Graph& from, ValueId root, const Graph& to) {
    Way way;
    way.from = &from;
    way.to = &to;
    constexpr size_t most = SIZE_MAX;  // of what is known of its arguments
    std::pair<size_t, size_t> fewest;
    bool stepped = false;
    for (ValueId id : reachable(from, root)) {
      stepped = stepped || steps(from, id);
      if (from[id].kind != Kind::op) continue;
      auto texts = own(from, id);
      if (!texts) continue;
      size_t known = texts->empty() ? 0 : texts->front().size();
      if (way.told_by != kNone && std::pair(texts->size(), most - known) >= fewest) continue;
      way.told_by = id;
      fewest = {texts->size(), most - known};
    }
    if (way.told_by == kNone && from[root].kind == Kind::attribute) way.read = from[root].text;
    for (ValueId id = 0; id < to.values.size(); ++id) {
      const Value& v = to[id];
      if (v.kind == Kind::op) ways_to_[v.op].push_back(ways_.size());
      if (v.kind == Kind::attribute) ways_to_attribute_[v.text].push_back(ways_.size());
      bool symbol = v.kind == Kind::literal && v.literal.kind == Literal::Kind::symbol;
      bool written = std::any_of(from.values.begin(), from.values.end(), [&](const Value& other) {
        return other.kind == Kind::literal && other.literal.text == v.literal.text;
      });
      if (symbol && !written) made_symbols_.emplace(v.literal.text, true).first->second &= stepped;
      for (ValueId operand : v.operands) {
        if (v.kind != Kind::op || operand == kNone) continue;
        if (to[operand].kind == Kind::literal)
          made_numbers_.emplace_back(v.op, to[operand].literal);
        if (to[operand].kind != Kind::hole) continue;
        for (const Value& taker : from.values) {
          if (takes(taker, from, to[operand].text) && taker.op->library != "operator") {
            add_names(*taker.op, takers_[v.op]);
          }
        }
      }
      if (steps(to, id) && !stepped) ways_to_step_.push_back(ways_.size());
    }
    ways_.push_back(std::move(way));
  });
}

// The texts by which the front end knows an operation with these arguments.
Requirements::Texts Requirements::own(const Graph& graph, ValueId id) {
  const Value& v = graph[id];
  const auto& signature = graph::parameters_of(v);
  std::vector<KnownArgument> arguments;
  for (size_t i = 0; i < std::min(signature.size(), v.operands.size()); ++i) {
    // Of two that may change places, and of what may be left out, nothing is known.
    if (v.op->commutative && i < 2) continue;
    if (v.operands[i] == kNone) {
      const auto& fallback = signature[i].default_value;
      if (fallback) arguments.push_back({i, &*fallback, true});
      continue;
    }
    const Value& operand = graph[v.operands[i]];
    if (operand.kind == Kind::hole && operand.text == "_") continue;
    KnownArgument known{i, operand.kind == Kind::literal ? &operand.literal : nullptr};
    if (signature[i].variadic) {
      // Of its entries the last, or that there is but one and no number.
      bool one = operand.operands.size() == 1 && graph[operand.operands[0]].kind == Kind::op;
      bool ends = !operand.operands.empty() && graph[operand.operands.back()].kind == Kind::literal;
      if (!one && !ends) continue;
    }
    if ((operand.kind == Kind::tuple || operand.kind == Kind::list) && !operand.operands.empty()) {
      const Value& last = graph[operand.operands.back()];
      if (last.kind == Kind::literal) known.last = &last.literal;
      if (!has_starred(graph, operand)) known.entries = operand.operands.size();
    }
    arguments.push_back(known);
  }
  auto tellings = frontend_.tellings(*v.op, signature, arguments);
  if (!tellings) return std::nullopt;
  return noted(std::move(*tellings));
}

std::vector<std::string> Requirements::noted(std::vector<Telling> tellings,
                                             Literals::Stands stands) {
  std::vector<std::string> out;
  for (Telling& telling : tellings) {
    std::string text = std::move(telling.text);
    if (telling.check != nullptr) {
      text += kCondition + telling.condition;
      checks_.emplace(text, Checked{std::move(telling.check), stands});
    }
    out.push_back(std::move(text));
  }
  return sorted(std::move(out));
}

std::vector<size_t> Requirements::ways_to(const Graph& graph, ValueId id) const {
  auto all = ways_to_.find(graph[id].op);
  if (all == ways_to_.end()) return {};
  std::vector<size_t> out;
  for (size_t way : all->second) {
    const Graph& to = *ways_[way].to;
    bool makes = false;
    for (ValueId made = 0; made < to.values.size() && !makes; ++made) {
      makes = to[made].op == graph[id].op && may_be_same(graph, id, to, made);
    }
    if (makes) out.push_back(way);
  }
  return out;
}

// With the spellings that become it, and those that become these.
Requirements::Texts Requirements::with_ways(Texts texts, const std::vector<size_t>& ways) {
  std::vector<size_t> work = ways;
  std::vector<bool> met(ways_.size(), false);
  while (texts && !work.empty()) {
    size_t number = work.back();
    work.pop_back();
    if (met[number]) continue;
    met[number] = true;
    Way& way = ways_[number];
    if (way.told_by != kNone) {
      if (!way.followed) {
        way.texts = own(*way.from, way.told_by);
        way.further = ways_to(*way.from, way.told_by);
        way.followed = true;
      }
      if (!way.texts) return std::nullopt;
      texts->insert(texts->end(), way.texts->begin(), way.texts->end());
      work.insert(work.end(), way.further.begin(), way.further.end());
    } else if (!way.read.empty()) {
      texts->push_back(way.read);
      auto further = ways_to_attribute_.find(way.read);
      if (further != ways_to_attribute_.end()) {
        work.insert(work.end(), further->second.begin(), further->second.end());
      }
    } else {
      return std::nullopt;
    }
  }
  if (!texts) return texts;
  std::vector<std::string> all = sorted(std::move(*texts));
  std::vector<std::string> out;
  for (const std::string& text : all) {  // one without a condition makes those with one idle
    size_t end = text.find(kCondition);
    bool idle =
        end != std::string::npos && std::binary_search(all.begin(), all.end(), text.substr(0, end));
    if (!idle) out.push_back(text);
  }
  return out;
}

Requirements::Texts Requirements::needed(const Graph& graph, ValueId id) {
  auto texts = own(graph, id);
  if (!texts) return texts;
  std::string key = graph::dump(graph, id, 3);
  for (const std::string& text : *texts) key += '\n' + text;
  auto known = known_.find(key);
  if (known != known_.end()) return known->second;
  texts = with_ways(std::move(texts), ways_to(graph, id));
  return known_.emplace(std::move(key), std::move(texts)).first->second;
}

// Of one of these operations, by their names.
Requirements::Texts Requirements::any_of(const std::vector<Literal>& names) {
  std::vector<std::string> out;
  for (const Literal& name : names) {
    const Operation* operation = catalogue_.find(name.text);
    auto texts = operation == nullptr ? std::nullopt : needed(*operation);
    if (!texts) return std::nullopt;
    out.insert(out.end(), texts->begin(), texts->end());
  }
  return sorted(std::move(out));
}

// Of an operation with any arguments.
Requirements::Texts Requirements::needed(const Operation& operation) {
  Value v;
  v.kind = Kind::op;
  v.op = &operation;
  Graph graph;
  return needed(graph, graph.add(std::move(v)));
}

Requirements::Texts Requirements::needed(const std::string& attribute) {
  auto ways = ways_to_attribute_.find(attribute);
  Texts texts = std::vector<std::string>{attribute};
  return ways == ways_to_attribute_.end() ? texts : with_ways(std::move(texts), ways->second);
}

Requirements::Numbered Requirements::of_graph(const Graph& graph, ValueId root) {
  std::set<uint32_t> out;
  auto add = [&](Texts texts) {
    if (texts) out.insert(numbered(std::move(*texts)));
  };
  for (ValueId id : reachable(graph, root)) {
    const Value& v = graph[id];
    if (v.kind == Kind::op) {
      add(needed(graph, id));
      const auto& signature = graph::parameters_of(v);
      for (size_t i = 0; i < std::min(signature.size(), v.operands.size()); ++i) {
        if (v.operands[i] == kNone || signature[i].default_value) continue;
        const Value& operand = graph[v.operands[i]];
        bool given = std::any_of(made_numbers_.begin(), made_numbers_.end(), [&](const auto& made) {
          return made.first == v.op && same_value(made.second, operand.literal);
        });
        if (operand.kind != Kind::literal || given) continue;
        add(addition_of(graph, root, id, operand.literal));
        if (auto tellings = frontend_.number(operand.literal)) add(noted(std::move(*tellings)));
      }
    } else if (v.kind == Kind::literal && v.literal.kind == Literal::Kind::symbol) {
      // `...`, which has one spelling, and may come about where a slice has a step.
      auto made = made_symbols_.find(v.literal.text);
      auto step = frontend_.stepped_slice();
      std::vector<Telling> tellings{{v.literal.text}};
      if (made != made_symbols_.end() && step) tellings.push_back(std::move(*step));
      if (made == made_symbols_.end() || (made->second && step)) {
        add(noted(std::move(tellings)));
      }
    } else if (v.kind == Kind::attribute) {
      add(needed(v.text));
    } else if (v.kind == Kind::slice && v.operands[1] == kNone && v.operands[2] != kNone) {
      if (auto step = frontend_.stepped_slice()) add(with_ways(noted({*step}), ways_to_step_));
    }
  }
  return {out.begin(), out.end()};
}

// Of all alternatives of a hole: they may have choices in turn, of holes that come later.
const std::vector<Requirements::Numbered>& Requirements::of_choice(const CompiledRule& rule,
                                                                   Choices choice) {
  auto [at, fresh] = by_choice_.try_emplace(&choice->second);
  if (!fresh) return at->second;
  std::vector<Numbered> ways;
  for (const CompiledPattern& alternative : choice->second) {
    for (Numbered& way : of_pattern(rule, alternative, std::next(choice))) {
      ways.push_back(std::move(way));
    }
  }
  tidy(ways);
  return at->second = std::move(ways);
}

// A pattern's own requirements, times those of the ways in which its choices can be made, from
// `first` on.
std::vector<Requirements::Numbered> Requirements::of_pattern(const CompiledRule& rule,
                                                             const CompiledPattern& pattern,
                                                             Choices first) {
  auto known = by_pattern_.find(&pattern);
  if (known == by_pattern_.end()) {
    known = by_pattern_.emplace(&pattern, of_graph(pattern.graph, pattern.root)).first;
  }
  std::vector<Numbered> drafts{known->second};
  for (const Where& clause : pattern.source->where) {
    // One without a code says which sites are meant at all.
    if (!clause.code.empty() || clause.or_assume) continue;
    Texts texts;
    if (clause.kind == "computed_from") texts = any_of(clause.values);
    if (clause.kind == "instance") texts = object_of(clause, pattern.graph);
    if (texts) drafts.front().push_back(numbered(std::move(*texts)));
  }
  for (; first != rule.choices.end(); ++first) {
    const std::string& hole = first->first;
    bool used = std::any_of(pattern.graph.values.begin(), pattern.graph.values.end(),
                            [&](const Value& v) { return v.kind == Kind::hole && v.text == hole; });
    if (!used) continue;
    const std::vector<Numbered>& ways = of_choice(rule, first);
    if (drafts.size() * ways.size() > kProduct) continue;
    std::vector<Numbered> product;
    for (const Numbered& draft : drafts) {
      for (const Numbered& way : ways) {
        product.push_back(draft);
        product.back().insert(product.back().end(), way.begin(), way.end());
      }
    }
    drafts = std::move(product);
  }
  return drafts;
}

// One alternative a pattern and way of its choices. A rule of which nothing is known needs nothing:
// no alternative at all.
std::vector<Requirements::Numbered> Requirements::of_rule(const CompiledRule& rule) {
  std::vector<Numbered> out;
  for (const Operation* op : rule.callees) {
    auto texts = needed(*op);
    if (!texts) return {};
    out.push_back({numbered(std::move(*texts))});
  }
  auto add_pattern = [&](const CompiledPattern& pattern, Choices first) {
    for (Numbered& draft : of_pattern(rule, pattern, first)) out.push_back(std::move(draft));
  };
  for (const CompiledPattern& pattern : rule.patterns) add_pattern(pattern, rule.choices.begin());
  for (const CompiledAnchor& anchor : rule.anchors) {
    for (const CompiledPattern& pattern : anchor.patterns) add_pattern(pattern, rule.choices.end());
    Numbered telltale;
    for (const auto* operations : {&anchor.operation, &anchor.fed_by}) {
      std::vector<std::string> texts;
      bool anything = operations->empty();
      for (const Operation* op : *operations) {
        auto need = needed(*op);
        anything = anything || !need;
        if (need) texts.insert(texts.end(), need->begin(), need->end());
      }
      if (!anything) telltale.push_back(numbered(sorted(std::move(texts))));
    }
    if (!anchor.operation.empty()) out.push_back(std::move(telltale));
  }
  for (const Numbered& draft : out) {
    if (draft.empty()) return {};
  }
  tidy(out);
  if (out.size() > kAlternatives) return {};
  for (Numbered& draft : out) {  // the same whatever was asked for before
    std::sort(draft.begin(), draft.end(),
              [&](uint32_t a, uint32_t b) { return *by_number_[a] < *by_number_[b]; });
  }
  return out;
}

}  // namespace refit
