// The rules' words as one vocabulary. See prefilter.hpp.
#include "rewriter/plan/prefilter.hpp"

#include <algorithm>

namespace refit {

namespace {

std::string last_name(const std::string& name) { return name.substr(name.rfind('.') + 1); }

// What a file that exports by itself calls.
constexpr const char* kExporter = "onnx.export()";

}  // namespace

// Entries are numbered first, so that every set has room for all of them.
Prefilter::Prefilter(const CompiledRules& rules, const Catalogue& catalogue) {
  const Texts trains = {{".backward()"}, {"*optim*", "*Optimizer*", "*Trainer*"}};
  const Texts exports = {
      {kExporter, "*tensorrt*", "jit.script()", "jit.trace()", "export.export()"}};
  std::vector<Texts> triggers, in_file;
  std::vector<std::string> named, runtime;
  for (const CompiledRule& rule : rules.rules) {
    triggers.push_back(triggers_of(rule));
    in_file.push_back(rule.rule->in_file);
    for (const Anchor& anchor : rule.rule->anchors) {
      for (const std::string& glob : anchor.names) named.push_back(glob + "()");
    }
  }
  for (const auto& operation : catalogue.operations()) {
    if (!operation->targets.empty()) {
      runtime.push_back(operation->id.substr(0, operation->id.find('.')));
    }
  }
  const auto number_all = [&](const Texts& texts) {
    for (const auto& any_of : texts) {
      for (const std::string& entry : any_of) number(entry);
    }
  };
  for (const auto* list : {&triggers, &in_file}) {
    for (const Texts& texts : *list) number_all(texts);
  }
  number_all({named, runtime});
  number_all(trains);
  number_all(exports);
  exporter_ = number(kExporter);
  add_tree_words(rules);
  const auto set_of = [&](const std::vector<std::string>& entries) {
    EntrySet out = vocabulary_.none();
    for (const std::string& entry : entries) out.set(number(entry));
    return out;
  };
  const auto clauses = [&](const Texts& texts) {
    Clauses out;
    for (const auto& any_of : texts) out.push_back(set_of(any_of));
    return out;
  };
  for (size_t r = 0; r < triggers.size(); ++r) {
    rules_.push_back({clauses(triggers[r]), clauses(in_file[r])});
  }
  named_ = set_of(named);
  runtime_ = set_of(runtime);
  trains_ = clauses(trains);
  exports_ = clauses(exports);
}

// The rule reader has checked what rules say; names of operations are words.
uint32_t Prefilter::number(const std::string& entry) {
  auto id = vocabulary_.add(entry);
  return id ? *id : vocabulary_.add_word(entry);
}

Prefilter::Texts Prefilter::triggers_of(const CompiledRule& rule) {
  Texts out = rule.rule->triggers;
  if (rule.callees.empty()) return out;
  std::set<std::string> words;
  for (const Operation* op : rule.callees) {
    for (std::string& word : name_words(*op)) words.insert(std::move(word));
  }
  for (const auto* list : {&rule.rule->match.call, &rule.rule->match.construct}) {
    for (const std::string& name : *list) words.insert(last_name(name));
  }
  // `hasattr(F, "scaled_dot_product_attention")` calls nothing.
  std::vector<std::string>& any_of = out.emplace_back();
  for (const std::string& word : words) {
    callees_.emplace(word, number(word));
    any_of.push_back("code " + word);
  }
  return out;
}

void Prefilter::add_tree_words(const CompiledRules& rules) {
  std::set<std::string> asked;
  const auto ask = [&](const std::vector<Where>& where) {
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
  for (const std::string& entry : tree_words_) tree_word_ids_.push_back(number(entry));
}

EntrySet Prefilter::scan(std::string_view text, bool comments, WordSet* words) const {
  EntrySet out = vocabulary_.none();
  const auto known = [&](uint32_t id) { return out.test(id); };
  const auto found = [&](uint32_t id, size_t) { out.set(id); };
  if (words == nullptr) {
    vocabulary_.scan(text, comments, known, found, [](uint64_t, size_t, size_t) {});
  } else {
    *words = WordSet(text.size());
    vocabulary_.scan(text, comments, known, found,
                     [&](uint64_t hash, size_t, size_t) { words->add(hash); });
  }
  out.add(vocabulary_.given(out));
  return out;
}

bool Prefilter::met(const Clauses& clauses, const EntrySet& held) {
  return std::ranges::all_of(clauses,
                             [&](const EntrySet& any_of) { return held.intersects(any_of); });
}

std::vector<bool> Prefilter::file(const EntrySet& held) const {
  std::vector<bool> out(rules_.size());
  for (size_t r = 0; r < rules_.size(); ++r) {
    out[r] = met(rules_[r].triggers, held) && met(rules_[r].in_file, held);
  }
  return out;
}

bool Prefilter::wanted(const EntrySet& seen, const std::vector<bool>& rules) const {
  if (named(seen)) return true;
  for (size_t r = 0; r < rules_.size(); ++r) {
    if (rules[r] && met(rules_[r].triggers, seen)) return true;
  }
  return false;
}

bool Prefilter::touched(const EntrySet& held, const std::vector<bool>& rules) const {
  for (size_t r = 0; r < rules_.size(); ++r) {
    const auto stands = [&](const EntrySet& any_of) { return held.intersects(any_of); };
    if (rules[r] && std::ranges::any_of(rules_[r].triggers, stands)) return true;
  }
  return false;
}

size_t Prefilter::exporter(std::string_view text) const {
  size_t out = std::string_view::npos;
  vocabulary_.scan(
      text, true, [&](uint32_t id) { return id != exporter_; },
      [&](uint32_t, size_t at) { out = std::min(out, at); }, [](uint64_t, size_t, size_t) {});
  return out;
}

std::vector<bool> Prefilter::words(const EntrySet& held) const {
  std::vector<bool> out;
  for (const uint32_t id : tree_word_ids_) out.push_back(held.test(id));
  return out;
}

std::set<std::string> Prefilter::mentioned(const EntrySet& held,
                                           const std::set<std::string>& names) const {
  std::set<std::string> out;
  const bool any =
      std::ranges::any_of(callees_, [&](const auto& callee) { return held.test(callee.second); });
  if (!any) return out;
  for (const std::string& name : names) {
    auto known = callees_.find(name);  // of a function with several names one may tell of all
    if (known == callees_.end() || held.test(known->second)) out.insert(name);
  }
  return out;
}

}  // namespace refit
