// Calls of definitions that were rewritten, in whatever file, and calls of definitions that no
// pattern recognised. Entry points: Run::note_calls, while a file is at hand, and
// Run::propagate_calls.
#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>

#include "rewriter/plan/run.hpp"

namespace refit {

namespace {

// The words by which definitions are named, as a vocabulary; a member's, `.name` or `name()`, as
// two entries of which one stands.
class CallerWords {
 public:
  explicit CallerWords(const Callers& callers) {
    for (const auto& words : callers.words) {
      std::vector<std::vector<uint32_t>> all;  // of each word, the entries
      for (const std::string& word : words) {
        std::vector<uint32_t>& any = all.emplace_back();
        if (words.size() == 1 || &word != &words.front()) {
          any = {vocabulary_.add_word(word)};
        } else {
          for (const std::string& entry : {"." + word, word + "()"}) {
            auto id = vocabulary_.add(entry);
            any.push_back(id ? *id : vocabulary_.add_word(word));
          }
        }
      }
      names_.push_back(std::move(all));
    }
    std::ranges::sort(names_);
    names_.erase(std::unique(names_.begin(), names_.end()), names_.end());
  }

  const Vocabulary& vocabulary() const { return vocabulary_; }

  bool named(const EntrySet& seen) const {
    return std::ranges::any_of(names_, [&](const auto& words) {
      return std::ranges::all_of(words, [&](const auto& entries) {
        return std::ranges::any_of(entries, [&](uint32_t id) { return seen.test(id); });
      });
    });
  }

  bool named_in(std::string_view text) const {
    EntrySet seen = vocabulary_.none();
    vocabulary_.scan(
        text, false, [&](uint32_t id) { return seen.test(id); },
        [&](uint32_t id, size_t) { seen.set(id); }, [](uint64_t, size_t, size_t) {});
    return named(seen);
  }

 private:
  Vocabulary vocabulary_;
  std::vector<std::vector<std::vector<uint32_t>>> names_;
};

}  // namespace

void Run::note_migrated(const Unit& unit, FileState& state) {
  for (const Function& function : unit.functions) {
    for (const Value& v : function.graph.values) {
      if (v.op != nullptr && !v.op->targets.empty()) {
        state.migrated.push_back(function.qualified);
        break;
      }
    }
  }
}

std::set<std::pair<uint32_t, uint32_t>> Run::own_places(
    const std::vector<PlannedSite>& sites) const {
  // A call that could not take over what stands before it is still the call that it was.
  const auto takes_over = [&](const std::string& rule) {
    return std::ranges::any_of(compiled_.rules, [&](const CompiledRule& r) {
      return r.rule->id == rule && !r.rule->match.bypass.empty();
    });
  };
  std::set<std::pair<uint32_t, uint32_t>> own;
  for (const PlannedSite& site : sites) {
    if (!site.rewritten && takes_over(site.finding.rule)) continue;
    own.insert({site.finding.line, site.finding.column});
  }
  return own;
}

void Run::note_calls(const Unit& unit, const std::set<std::pair<uint32_t, uint32_t>>& own,
                     FileState& state) {
  for (const ProjectCall& call : unit.project_calls) {
    const Function& home = unit.functions[call.function];
    const Value& v = home.graph[call.value];
    CallSites& calls = state.calls;
    CallSites::Site site{{}, {}, 0, 0, 0, nullptr, nullptr, nullptr};
    if (call.outside) {  // reported by its name, or not at all
      if (v.op != nullptr && compiled_.by_callee.contains(v.op)) continue;
      name_anchor(call.callee, site);
      if (site.rule == nullptr) continue;
    }
    site.callee = calls.add(call.callee);
    if (is_result(home.graph, call.value)) {
      calls.gives.push_back({calls.add(home.qualified), site.callee});
    }
    auto begin = unit.source().position(v.range.begin);
    if (own.contains({begin.line, begin.column})) continue;
    if (v.op != nullptr) {
      auto known = compiled_.by_callee.find(v.op);
      if (known != compiled_.by_callee.end()) {
        for (size_t r : known->second) {
          for (const Where& clause : compiled_.rules[r].rule->where) {
            if (clause.kind != "outside") continue;
            site.rule = &compiled_.rules[r].rule->id;
            site.code = &clause.code;
            site.says = &clause.says;
          }
        }
      }
    }
    site.line = begin.line;
    site.column = begin.column;
    site.end_line = unit.source().position(v.range.end).line;
    site.before = calls.add(unit.source().slice(v.range));
    calls.sites.push_back(site);
  }
  state.calls.shrink_to_fit();
}

void Run::add_givers(Definitions& definitions) const {
  for (const FileState& state : states_) {
    for (const auto& [qualified, where] : state.definitions) definitions.emplace(qualified, where);
  }
  for (bool more = true; more;) {
    more = false;
    for (const FileState& state : states_) {
      for (const CallSites::Given& given : state.calls.gives) {
        auto found = definitions.find(state.calls.of(given.callee));
        const std::string_view function = state.calls.of(given.function);
        if (found == definitions.end() || definitions.contains(function)) continue;
        definitions.emplace(function, found->second);
        more = true;
      }
    }
  }
}

void Run::look_for_callers(const std::vector<std::string>& definitions) {
  std::set<Language> languages;
  for (const FileState& state : states_) {
    if (state.language != nullptr) languages.insert(state.language->language);
  }
  for (Language language : languages) {
    Callers callers = frontend_of(language).callers_of(definitions);
    if (callers.anywhere) {
      for (size_t i = 0; i < states_.size(); ++i) {
        bool its = states_[i].language != nullptr && states_[i].language->language == language;
        if (its) callers.files.push_back(input_.files[i].relative);
      }
    }
    look_for_callers(callers);
  }
}

void Run::look_for_callers(const Callers& callers) {
  const CallerWords wanted(callers);
  each(
      [&](size_t n) {
        auto number = numbers_.find(callers.files[n]);
        if (number == numbers_.end()) return;
        FileState& state = states_[number->second];
        if (!state.scanned || state.language == nullptr || !state.problems.empty()) return;
        const auto one_of = [&](const auto& holds) {
          return std::ranges::any_of(
              callers.words, [&](const auto& words) { return std::ranges::all_of(words, holds); });
        };
        if (!one_of([&](const std::string& word) { return state.holds.may_hold(word); })) return;
        ReadRoom room;
        const auto read_bytes = read(number->second, room);
        if (!read_bytes || !wanted.named_in(*read_bytes)) return;
        // Of a file that was looked into before, only what was left out can hold more calls.
        bool first = !state.parsed;
        const auto may_call = [&](const LeftOut& left) {
          return one_of([&](const std::string& word) {
            return std::binary_search(left.words.begin(), left.words.end(), hash_of(word));
          });
        };
        if (!first && std::ranges::none_of(state.left_out, may_call)) return;
        const std::string bytes(*read_bytes);
        Focus focus;
        focus.vocabulary = &wanted.vocabulary();
        const auto was_left_out = [&](ByteRange where) {
          return std::ranges::any_of(state.left_out,
                                     [&](const LeftOut& left) { return left.range == where; });
        };
        focus.wanted = [&](ByteRange where, const EntrySet& seen) {
          return (first || was_left_out(where)) && wanted.named(seen);
        };
        BoundsReached bounds{};
        std::unique_ptr<Unit> unit;
        {
          const BoundsScope scope(bounds);
          unit = load(number->second, bytes, focus);
        }
        take_bounds(number->second, bounds, bytes);
        if (!unit) return;
        note_calls(*unit, {}, state);
        std::vector<LeftOut> rest;
        for (LeftOut& left : unit->left_out) {
          if (first || was_left_out(left.range)) rest.push_back(std::move(left));
        }
        state.left_out = std::move(rest);
      },
      callers.files.size(), nullptr);
}

void Run::propagate_calls() {
  Definitions definitions;
  std::set<std::string> known;
  while (true) {
    add_givers(definitions);
    std::vector<std::string> fresh;
    for (const auto& [qualified, where] : definitions) {
      if (known.insert(qualified).second) fresh.push_back(qualified);
    }
    if (fresh.empty()) break;
    look_for_callers(fresh);
  }
  std::set<std::string, std::less<>> migrated;
  std::map<std::string, std::string, std::less<>>
      refused;  // definition -> what its body was refused for, where
  for (const FileState& state : states_) {
    migrated.insert(state.migrated.begin(), state.migrated.end());
    for (const Finding& f : state.findings) {
      if (f.outcome != Outcome::refused) continue;
      refused.emplace(f.callee, fmt::format("the definition that it calls is refused at {}:{} "
                                            "({}: {})",
                                            f.file, f.line, f.code, f.message));
    }
  }
  auto subject = [&](const std::string& rule) {
    auto found = std::ranges::find_if(compiled_.rules,
                                      [&](const CompiledRule& r) { return r.rule->id == rule; });
    return found == compiled_.rules.end() ? std::string() : found->rule->subject;
  };
  Definitions inside;  // functions that compute what they are asked for by the runtime, and more
  for (const FileState& state : states_) {
    for (const auto& [qualified, where] : state.rewritten_in) inside.emplace(qualified, where);
  }
  for (size_t i = 0; i < states_.size(); ++i) {
    FileState& state = states_[i];
    for (CallSites::Site& call : state.calls.sites) {
      const std::string_view callee = state.calls.of(call.callee);
      auto found = definitions.find(callee);
      // An object of a class whose arithmetic was rewritten.
      if (found == definitions.end() && call.rule != nullptr) {
        found = definitions.find(std::string(callee) + ".forward");
      }
      bool refuses = false;
      if (found == definitions.end()) {
        if (migrated.contains(callee)) continue;
        if (call.rule == nullptr) name_anchor(callee, call);
        if (call.rule == nullptr) continue;
        found = inside.find(callee);
        refuses = found == inside.end() || subject(found->second.second) != subject(*call.rule);
      }
      Finding f;
      f.file = input_.files[i].relative;
      f.line = call.line;
      f.column = call.column;
      f.end_line = call.end_line;
      f.callee = callee;
      f.before = state.calls.of(call.before);
      if (refuses) {
        auto body = refused.find(callee);
        f.rule = *call.rule;
        f.outcome = Outcome::refused;
        f.code = *call.code;
        f.message = body != refused.end() ? body->second
                                          : fmt::format("{} (it calls {})", *call.says, callee);
      } else {
        f.rule = found->second.second;
        f.outcome = Outcome::rewritten;
        f.through = found->second.first;
        f.after = f.before;
      }
      state.findings.push_back(std::move(f));
    }
  }
}

void Run::name_anchor(std::string_view callee, CallSites::Site& call) const {
  const std::string last(callee.substr(callee.rfind('.') + 1));
  for (const CompiledRule& rule : compiled_.rules) {
    for (const Anchor& anchor : rule.rule->anchors) {
      for (const std::string& glob : anchor.names) {
        if (fnmatch(glob.c_str(), last.c_str(), 0) != 0) continue;
        call.rule = &rule.rule->id;
        call.code = &anchor.code;
        call.says = &anchor.says;
        return;
      }
    }
  }
}

}  // namespace refit
