// Calls of definitions that were rewritten, in whatever file, and calls of definitions that no
// pattern recognised. Entry points: Run::note_calls, while a file is at hand, and Run::through.
#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>

#include "rewriter/plan/run.hpp"

namespace refit {

void Run::note_migrated(const Unit& unit, FileState& state) {
  for (const Function& function : unit.functions) {
    for (const graph::Value& v : function.graph.values) {
      if (v.op != nullptr && !v.op->targets.empty()) {
        state.migrated.push_back(function.qualified);
        break;
      }
    }
  }
}

void Run::note_calls(const Unit& unit, const std::set<std::pair<uint32_t, uint32_t>>& own,
                     FileState& state) {
  for (const ProjectCall& call : unit.project_calls) {
    if (call.function == 0 && state.noted) continue;
    const Function& home = unit.functions[call.function];
    const graph::Value& v = home.graph[call.value];
    if (is_result(home.graph, call.value)) state.gives.emplace_back(home.qualified, call.callee);
    auto begin = unit.source().position(v.range.begin);
    if (own.contains({begin.line, begin.column})) continue;
    CallSite site;
    site.callee = call.callee;
    if (v.op != nullptr) {
      auto known = compiled_.by_callee.find(v.op);
      if (known != compiled_.by_callee.end()) {
        for (size_t r : known->second) {
          for (const Where& clause : compiled_.rules[r].rule->where) {
            if (clause.kind != "outside") continue;
            site.rule = compiled_.rules[r].rule->id;
            site.code = clause.code;
            site.says = clause.says;
          }
        }
      }
    }
    Finding& f = site.finding;
    f.file = unit.source().path();
    f.line = begin.line;
    f.column = begin.column;
    f.end_line = unit.source().position(v.range.end).line;
    f.callee = call.callee;
    f.outcome = Outcome::rewritten;
    f.before = f.after = std::string(unit.source().slice(v.range));
    state.calls.push_back(std::move(site));
  }
  state.noted = true;
}

void Run::add_givers(Definitions& definitions) const {
  for (const FileState& state : states_) {
    for (const auto& [qualified, where] : state.definitions) definitions.emplace(qualified, where);
  }
  for (bool more = true; more;) {
    more = false;
    for (const FileState& state : states_) {
      for (const auto& [function, callee] : state.gives) {
        auto found = definitions.find(callee);
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
    Frontend* reader = frontends_.of(language);
    if (reader == nullptr) continue;
    Callers callers = reader->callers_of(definitions);
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
  Literals literals;
  for (const auto& words : callers.words) {
    for (const std::string& word : words) literals.add(word, true);
  }
  literals.build();
  // The sets of words of the definitions, each by the first of its words.
  std::vector<std::set<std::vector<uint32_t>>> wanted(literals.size());
  for (const auto& words : callers.words) {
    std::vector<uint32_t> ids;
    for (const std::string& word : words) ids.push_back(literals.add(word, true));
    if (!ids.empty()) wanted[ids.front()].insert({ids.begin() + 1, ids.end()});
  }
  auto names_one = [&](const LiteralBits& seen) {
    bool one = false;
    seen.each([&](uint32_t id) {
      one = one || std::any_of(wanted[id].begin(), wanted[id].end(), [&](const auto& rest) {
              return std::all_of(rest.begin(), rest.end(),
                                 [&](uint32_t word) { return seen.test(word); });
            });
    });
    return one;
  };
  each(
      [&](size_t n) {
        auto number = numbers_.find(callers.files[n]);
        if (number == numbers_.end()) return;
        FileState& state = states_[number->second];
        if (!state.scanned || state.language == nullptr || !state.problems.empty()) return;
        const bool may = std::any_of(
            callers.words.begin(), callers.words.end(), [&](const std::vector<std::string>& words) {
              return std::all_of(words.begin(), words.end(), [&](const std::string& word) {
                return state.holds.may_hold(word);
              });
            });
        if (!may) return;
        ReadRoom room;
        const auto read_bytes = read(number->second, room);
        if (!read_bytes || !names_one(literals.scan(*read_bytes))) return;
        bool first = !state.parsed;
        if (!first && state.left_out.empty()) return;  // every call in it was noted
        const std::string bytes(*read_bytes);
        Focus focus;
        focus.sparse = true;
        focus.literals = &literals;
        focus.wanted = [&](ByteRange where, const LiteralBits& seen) {
          bool looked_into = !first && std::find(state.left_out.begin(), state.left_out.end(),
                                                 where) == state.left_out.end();
          return !looked_into && names_one(seen);
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
        std::vector<ByteRange> rest;
        for (ByteRange range : unit->left_out) {
          if (first || std::find(state.left_out.begin(), state.left_out.end(), range) !=
                           state.left_out.end()) {
            rest.push_back(range);
          }
        }
        state.left_out = std::move(rest);
      },
      callers.files.size(), nullptr);
}

void Run::through() {
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
  std::set<std::string> migrated;
  std::map<std::string, std::string> refused;  // definition -> what its body was refused for, where
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
    auto found = std::find_if(compiled_.rules.begin(), compiled_.rules.end(),
                              [&](const CompiledRule& r) { return r.rule->id == rule; });
    return found == compiled_.rules.end() ? std::string() : found->rule->subject;
  };
  Definitions inside;  // functions that compute what they are asked for by the runtime, and more
  for (const FileState& state : states_) {
    for (const auto& [qualified, where] : state.rewritten_in) inside.emplace(qualified, where);
  }
  for (FileState& state : states_) {
    for (CallSite& call : state.calls) {
      auto found = definitions.find(call.callee);
      // An object of a class whose arithmetic was rewritten.
      if (found == definitions.end() && !call.rule.empty()) {
        found = definitions.find(call.callee + ".forward");
      }
      if (found == definitions.end()) {
        if (migrated.contains(call.callee)) continue;
        if (call.rule.empty()) name_anchor(call);
        if (call.rule.empty()) continue;
        auto part = inside.find(call.callee);
        if (part != inside.end() && subject(part->second.second) == subject(call.rule)) {
          call.finding.through = part->second.first;
          call.finding.rule = part->second.second;
          state.findings.push_back(call.finding);
          continue;
        }
        call.finding.rule = call.rule;
        call.finding.outcome = Outcome::refused;
        call.finding.code = call.code;
        auto body = refused.find(call.callee);
        call.finding.message = body != refused.end()
                                   ? body->second
                                   : fmt::format("{} (it calls {})", call.says, call.callee);
        call.finding.after.clear();
        state.findings.push_back(call.finding);
        continue;
      }
      call.finding.through = found->second.first;
      call.finding.rule = found->second.second;
      state.findings.push_back(call.finding);
    }
  }
}

void Run::name_anchor(CallSite& call) const {
  std::string last = call.callee.substr(call.callee.rfind('.') + 1);
  for (const CompiledRule& rule : compiled_.rules) {
    for (const Anchor& anchor : rule.rule->anchors) {
      for (const std::string& glob : anchor.names) {
        if (fnmatch(glob.c_str(), last.c_str(), 0) != 0) continue;
        call.rule = rule.rule->id;
        call.code = anchor.code;
        call.says = anchor.says;
        return;
      }
    }
  }
}

}  // namespace refit
