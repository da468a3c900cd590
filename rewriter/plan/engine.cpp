// The run over all files: prefilter, parse, plan, realise, check, and the calls that are rewritten
// through a definition. Entry point: run.
#include "rewriter/plan/engine.hpp"

#include <fnmatch.h>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <ranges>
#include <thread>

#include "rewriter/frontend/python/frontend.hpp"
#include "rewriter/plan/aliases.hpp"
#include "rewriter/plan/frontends.hpp"
#include "rewriter/plan/planner.hpp"
#include "rewriter/project/prefilter.hpp"
#include "rewriter/text/disk.hpp"

namespace refit {

namespace {

constexpr size_t kRetries = 32;  // recognised computations of one file that are tried singly
constexpr int kRounds = 4;       // times that a new text may be planned again
constexpr int kAliasRounds = 4;  // packages that hand a name on
constexpr uint64_t kReadLimit = uint64_t{1} << 31;

struct CallSite {  // a call to something that the project defines
  std::string callee;
  std::string rule;  // that knows this callee, but only outside its own library
  std::string code, says;
  Finding finding;
};

struct FileState {
  bool scanned = false, parsed = false, relevant = false, aliased = false;
  const LanguageFacts* language = nullptr;     // null: none that could concern a rule
  bool unreadable_here = false;                // this build has no front end for it
  std::vector<Alias> aliases;                  // that the file makes
  std::map<std::string, std::string> patched;  // callee name -> FILE:LINE that assigns to it
  std::vector<bool> enabled;
  std::vector<bool> words;  // of Run::tree_words
  std::vector<Finding> findings;
  std::vector<CallSite> calls;
  std::vector<std::pair<std::string, std::pair<std::string, std::string>>>
      definitions;                    // qualified -> (FILE:LINE, rule)
  std::vector<std::string> migrated;  // functions that call the runtime already
  std::vector<std::pair<std::string, std::string>>
      gives;  // function -> what it returns the call of
  std::optional<FileResult> changed;
  std::vector<Problem> problems;
  std::vector<std::string> notes;
  std::vector<std::string> replaced;  // said where anything was changed
  bool trains = false, exports = false;
};

Triggers triggers_of(const CompiledRule& rule) {
  if (!rule.rule->triggers.empty()) return rule.rule->triggers;
  std::vector<std::string> names;
  for (const auto* list : {&rule.rule->match.call, &rule.rule->match.construct}) {
    for (const std::string& name : *list) names.push_back(name.substr(name.rfind('.') + 1));
  }
  for (const Operation* op : rule.callees) {
    for (const std::string& name : op->names) names.push_back(name.substr(name.rfind('.') + 1));
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  if (names.empty()) return {};
  return {names};
}

class Run {
 public:
  Run(const RuleSet& rules, const CompiledRules& compiled, const Input& input,
      const EngineOptions& options, Frontends& frontends)
      : compiled_(compiled),
        input_(input),
        options_(options),
        frontends_(frontends),
        planner_(compiled, rules.catalogue(), options),
        states_(input.files.size()) {}

  RunResult go(const Progress& progress) {
    std::vector<Triggers> triggers;
    triggers.reserve(compiled_.rules.size() + 2);
    for (const CompiledRule& rule : compiled_.rules) triggers.push_back(triggers_of(rule));
    triggers.push_back({{".backward("}, {"optim", "Optimizer", "Trainer"}});
    triggers.push_back({{"torch.onnx.export", "onnx.export(", "tensorrt", "torch.jit.script(",
                         "torch.jit.trace(", "torch.export.export("}});
    size_t first_word = triggers.size();
    for (const std::string& word : tree_words()) triggers.push_back({{word}});
    Prefilter prefilter(triggers);
    for (const CompiledRule& rule : compiled_.rules) {
      for (const Operation* op : rule.callees) {
        if (!op->is_class) callee_names_.insert(op->id.substr(op->id.rfind('.') + 1));
      }
    }
    each([&](size_t i) { scan(i, prefilter, first_word); }, nullptr);
    follow_aliases();
    std::set<std::string, std::less<>> words;
    std::vector<std::string> asked = tree_words();
    for (size_t w = 0; w < asked.size(); ++w) {
      bool met = std::any_of(states_.begin(), states_.end(), [&](const FileState& state) {
        return w < state.words.size() && state.words[w];
      });
      if (met) words.insert(asked[w]);
    }
    planner_.set_words(std::move(words));
    std::map<std::string, std::string, std::less<>> patched;
    for (const FileState& state : states_)
      patched.insert(state.patched.begin(), state.patched.end());
    planner_.set_patched(std::move(patched));
    each([&](size_t i) { file(i); }, progress);
    through();
    return collect();
  }

 private:
  template <typename Work>
  void each(Work work, const Progress& progress) {
    std::atomic<size_t> next{0}, done{0};
    std::mutex reporting;
    auto loop = [&] {
      for (size_t i = next++; i < states_.size(); i = next++) {
        work(i);
        size_t n = ++done;
        if (progress && (n % 16 == 0 || n == states_.size())) {
          std::lock_guard lock(reporting);
          progress(n, states_.size());
        }
      }
    };
    unsigned jobs =
        options_.jobs != 0 ? options_.jobs : std::max(1u, std::thread::hardware_concurrency());
    std::vector<std::thread> threads;
    for (unsigned t = 1; t < jobs && t < states_.size(); ++t) threads.emplace_back(loop);
    loop();
    for (std::thread& t : threads) t.join();
  }

  std::optional<std::string> read(size_t i) {
    FileState& state = states_[i];
    auto bytes = real_disk().read(input_.files[i].path, kReadLimit);
    if (bytes) return std::move(*bytes);
    bool vanished = bytes.error().kind == DiskError::Kind::missing;
    state.problems.push_back(
        {FileProblem::unreadable, input_.files[i].relative,
         vanished ? "it was there when the files were listed and is gone now; nothing was changed"
                  : "it cannot be read: " + bytes.error().message});
    return std::nullopt;
  }

  // Looks at files that know a callee by another name only.
  void follow_aliases() {
    std::map<std::string, std::set<std::string>> names;  // alias -> last parts of callees
    std::set<std::string> modules;
    auto add = [&](size_t i) {
      for (const Alias& alias : states_[i].aliases) names[alias.name].insert(alias.callee);
      modules.insert(last_module(input_.files[i].relative));
    };
    for (size_t i = 0; i < states_.size(); ++i) {
      if (!states_[i].aliases.empty()) add(i);
    }
    for (int round = 0; round < kAliasRounds && !names.empty(); ++round) {
      std::set<std::string> words;
      std::vector<std::string> alternatives, mentions;
      for (const auto& [name, callees] : names) {
        words.insert(name);
        alternatives.push_back(name);
      }
      for (const std::string& module : modules) {
        for (std::string& text : mentions_of(module)) mentions.push_back(std::move(text));
      }
      Prefilter prefilter({{alternatives, mentions}});
      std::vector<char> handing_on(states_.size(), 0);
      auto look = [&](size_t i) {
        FileState& state = states_[i];
        if (!state.scanned || state.aliased || !state.problems.empty()) return;
        auto bytes = read(i);
        if (!bytes || !prefilter.scan(*bytes)[0]) return;
        state.aliased = state.relevant = true;
        for (size_t r = 0; r < compiled_.rules.size(); ++r) {
          for (const Operation* op : compiled_.rules[r].callees) {
            std::string last = op->id.substr(op->id.rfind('.') + 1);
            for (const auto& [name, callees] : names) {
              if (callees.contains(last)) state.enabled[r] = true;
            }
          }
        }
        for (Alias& alias : aliases_in(*bytes, words)) {
          for (const std::string& callee : names.at(alias.callee)) {
            state.aliases.push_back({alias.name, callee});
          }
        }
        handing_on[i] = hands_on(input_.files[i].relative, *bytes) || !state.aliases.empty();
      };
      each(look, nullptr);
      size_t before = names.size() + modules.size();
      for (size_t i = 0; i < states_.size(); ++i) {
        if (handing_on[i] != 0) add(i);
      }
      if (names.size() + modules.size() == before) break;
    }
  }

  // The texts that clauses of the rules ask of the whole run.
  std::vector<std::string> tree_words() const {
    std::set<std::string> words;
    auto collect = [&](const std::vector<Where>& clauses) {
      for (const Where& clause : clauses) {
        if (clause.kind != "not_in_tree") continue;
        for (const Literal& text : clause.values) words.insert(text.text);
      }
    };
    for (const CompiledRule& rule : compiled_.rules) {
      collect(rule.rule->where);
      for (const Pattern& pattern : rule.rule->match.patterns) collect(pattern.where);
      for (const Rewrite& rewrite : rule.rule->rewrites) collect(rewrite.where);
    }
    return {words.begin(), words.end()};
  }

  void scan(size_t i, const Prefilter& prefilter, size_t first_word) {
    FileState& state = states_[i];
    auto bytes = read(i);
    if (!bytes) return;
    state.scanned = true;
    state.language = language_of(input_.files[i].relative);
    if (state.language != nullptr && !may_concern(*state.language, *bytes)) {
      state.language = nullptr;
    }
    auto hits = prefilter.scan(*bytes);
    size_t n = compiled_.rules.size();
    state.trains = hits[n];
    state.exports = hits[n + 1];
    state.words.assign(hits.begin() + static_cast<std::ptrdiff_t>(first_word), hits.end());
    state.enabled.assign(hits.begin(), hits.begin() + static_cast<std::ptrdiff_t>(n));
    state.relevant =
        state.language != nullptr &&
        std::find(state.enabled.begin(), state.enabled.end(), true) != state.enabled.end();
    if (!state.relevant) return;
    for (const Replacement& r : replacements_in(*bytes, callee_names_)) {
      std::string place = fmt::format("{}:{}", input_.files[i].relative, r.line);
      if (r.lasting) {
        state.patched.emplace(r.callee, place);
      } else {
        state.replaced.push_back(fmt::format(
            "{} replaces `{}` for a while; calls that were rewritten do not go through it", place,
            r.callee));
      }
    }
    state.aliases = aliases_in(*bytes, callee_names_);
  }

  void file(size_t i) {
    if (!options_.explain.empty() && input_.files[i].relative == options_.explain) {
      FileState& state = states_[i];  // whatever the prefilter thinks of it
      state.relevant = state.scanned;
      state.enabled.assign(compiled_.rules.size(), true);
    }
    if (!states_[i].relevant) return;
    auto bytes = read(i);
    if (bytes) plan(i, *bytes);
  }

  Frontend* frontend(size_t i) {
    const LanguageFacts* language = states_[i].language;
    return language == nullptr ? nullptr : frontends_.of(language->language);
  }

  std::unique_ptr<Unit> load(size_t i, const std::string& bytes) {
    FileState& state = states_[i];
    const std::string& name = input_.files[i].relative;
    Frontend* reader = frontend(i);
    if (reader == nullptr) {
      state.unreadable_here = state.language != nullptr;
      return nullptr;
    }
    if (bytes.size() > options_.size_limit) {
      state.problems.push_back(
          {FileProblem::too_large, name,
           fmt::format("it has {} MiB, more than the {} MiB that are read as source; it stays as "
                       "it is",
                       bytes.size() >> 20, options_.size_limit >> 20)});
      return nullptr;
    }
    auto source = Source::decode(name, bytes);
    if (!source) {
      state.problems.push_back({FileProblem::undecodable, name, source.error().message});
      return nullptr;
    }
    auto unit = reader->load(std::move(*source), name);
    if (!unit) {
      state.problems.push_back({FileProblem::syntax, name, unit.error().message});
      return nullptr;
    }
    state.parsed = true;
    return std::move(*unit);
  }

  void plan(size_t i, const std::string& bytes) {
    FileState& state = states_[i];
    const std::string& name = input_.files[i].relative;
    auto unit = load(i, bytes);
    if (!unit) return;
    UnitPlan plan = planner_.plan(*unit, *frontend(i), state.enabled);
    if (name == options_.explain) {
      near_ = planner_.near_misses(*unit, *frontend(i), options_.explain_line);
    }
    if (!unit->syntax_errors.empty()) {
      leave_broken(i, *unit, plan);
      return;
    }
    std::vector<Change> changes;
    std::vector<PlannedSite*> changing;
    for (PlannedSite& site : plan.sites) {
      if (!site.rewritten) continue;
      changes.push_back(site.change);
      changing.push_back(&site);
    }
    if (!changes.empty()) realise(i, *unit, changes, changing, bytes);
    std::set<std::pair<uint32_t, uint32_t>> own;
    for (PlannedSite& site : plan.sites) {
      site.finding.file = name;
      own.insert({site.finding.line, site.finding.column});
      if (site.rewritten && site.definition) {
        state.definitions.push_back(
            {site.function, {fmt::format("{}:{}", name, site.finding.line), site.finding.rule}});
      }
      state.findings.push_back(std::move(site.finding));
    }
    note_calls(*unit, own, state);
    note_migrated(*unit, state);
  }

  static void note_migrated(const Unit& unit, FileState& state) {
    for (const Function& function : unit.functions) {
      for (const graph::Value& v : function.graph.values) {
        if (v.op != nullptr && !v.op->targets.empty()) {
          state.migrated.push_back(function.qualified);
          break;
        }
      }
    }
  }

  // A file that does not parse is left whole, its sites said.
  void leave_broken(size_t i, const Unit& unit, UnitPlan& plan) {
    FileState& state = states_[i];
    const std::string& name = input_.files[i].relative;
    auto at = unit.source().position(unit.syntax_errors.front().begin);
    for (PlannedSite& site : plan.sites) {
      site.finding.file = name;
      site.finding.outcome = Outcome::refused;
      site.finding.code = "syntax-error";
      site.finding.message = fmt::format(
          "the file does not parse at line {}, so it is left whole; mend that and run again",
          at.line);
      state.findings.push_back(std::move(site.finding));
    }
    bool named = false;
    for (size_t r = 0; r < state.enabled.size(); ++r) {
      named = named || (state.enabled[r] && !compiled_.rules[r].callees.empty());
    }
    if (!plan.sites.empty() || named) {
      state.problems.push_back({FileProblem::syntax, name,
                                fmt::format("it does not parse as {} at line {}, column {}; it "
                                            "stays as it is",
                                            state.language->name, at.line, at.column)});
    }
  }

  void realise(size_t i, const Unit& unit, const std::vector<Change>& changes,
               std::vector<PlannedSite*>& sites, const std::string& bytes) {
    FileState& state = states_[i];
    const std::string& name = input_.files[i].relative;
    auto realised = frontend(i)->realise(unit, changes);
    auto withhold = [&](const std::string& why) {
      for (PlannedSite* site : sites) {
        site->rewritten = false;
        site->finding.outcome = Outcome::refused;
        site->finding.code = "withheld";
        site->finding.message = why;
      }
      state.problems.push_back({FileProblem::withheld, name, why});
    };
    if (!realised) {
      withhold("the edits of its sites do not fit together: " + realised.error().message);
      return;
    }
    for (size_t c = 0; c < sites.size(); ++c) {
      if (realised->accepted[c]) {
        sites[c]->finding.after = realised->after[c];
        continue;
      }
      sites[c]->rewritten = false;
      sites[c]->finding.outcome = Outcome::refused;
      sites[c]->finding.code = realised->codes[c];
      sites[c]->finding.message = realised->refused[c].message;
    }
    for (const std::string& note : realised->notes) state.notes.push_back(note);
    std::string text = realised->edits.apply(unit.source().text());
    if (auto error = frontend(i)->verify(unit, text)) {
      withhold("self-check: " + *error);
      return;
    }
    auto encoded = unit.source().encode(text);
    if (!encoded) {
      withhold("self-check: " + encoded.error().message);
      return;
    }
    Further further = settle(i, unit, realised->edits, *encoded);
    if (!further.settled) {
      if (retry(i, unit, changes, sites, bytes)) return;
      withhold("self-check: planning the new text again is not empty, so the result is not final");
      return;
    }
    for (Finding& f : further.findings) {
      f.file = name;
      state.findings.push_back(std::move(f));
    }
    if (!further.bytes.empty()) encoded = std::move(further.bytes);
    if (*encoded == bytes) return;
    state.changed = FileResult{name, bytes, std::move(*encoded)};
  }

  // The calls may be sound where a recognised computation was not: those are taken up one by one,
  // and one that would leave something to rewrite again stays out.
  bool retry(size_t i, const Unit& unit, const std::vector<Change>& changes,
             const std::vector<PlannedSite*>& sites, const std::string& bytes) {
    std::vector<Change> kept;
    std::vector<PlannedSite*> kept_sites;
    auto settles = [&](const std::vector<Change>& some) {
      auto realised = frontend(i)->realise(unit, some);
      if (!realised) return false;
      auto encoded = unit.source().encode(realised->edits.apply(unit.source().text()));
      return encoded && settled(i, *encoded);
    };
    size_t tried = 0;
    for (int regions = 0; regions < 2; ++regions) {
      for (size_t c = 0; c < sites.size(); ++c) {
        if (changes[c].edit_call != (regions == 0)) continue;
        bool take = regions == 0;
        if (!take && ++tried <= kRetries) {
          kept.push_back(changes[c]);
          take = settles(kept);
          kept.pop_back();
        }
        if (take) {
          kept.push_back(changes[c]);
          kept_sites.push_back(sites[c]);
          continue;
        }
        sites[c]->rewritten = false;
        sites[c]->finding.outcome = Outcome::refused;
        sites[c]->finding.code = "not-settled";
        sites[c]->finding.message =
            "rewriting it would leave something that a rule wants to rewrite again; simplify it "
            "by hand";
        sites[c]->finding.after.clear();
      }
    }
    if (kept.size() == changes.size()) return false;
    if (!kept.empty()) realise(i, unit, kept, kept_sites, bytes);
    return true;
  }

  // What a rewrite leaves may be a site of its own, a clamp behind a maximum that went: the new
  // text is planned until nothing changes, and what is found on the way has its place in the old
  // one.
  struct Further {
    bool settled = false;
    std::string bytes;  // the final content, where it is another than that given
    std::vector<Finding> findings;
  };
  Further settle(size_t i, const Unit& unit, const EditSet& edits, const std::string& bytes) {
    Further out;
    std::vector<EditSet> made{edits};
    std::string now = bytes;
    for (int round = 0; round <= kRounds; ++round) {
      auto source = Source::decode(input_.files[i].relative, now);
      if (!source) return out;
      auto next = frontend(i)->load(std::move(*source), input_.files[i].relative);
      if (!next) return out;
      UnitPlan again = planner_.plan(**next, *frontend(i), states_[i].enabled);
      std::vector<Change> changes;
      std::vector<PlannedSite*> sites;
      for (PlannedSite& site : again.sites) {
        if (!site.rewritten) continue;
        changes.push_back(site.change);
        sites.push_back(&site);
      }
      auto realised = frontend(i)->realise(**next, changes);
      if (!realised) return out;
      bool any = false;
      for (size_t c = 0; c < sites.size(); ++c) {
        if (!realised->accepted[c]) continue;
        any = true;
        Finding f = sites[c]->finding;
        f.after = realised->after[c];
        uint32_t begin = sites[c]->range.begin, end = sites[c]->range.end;
        for (const EditSet& before : std::views::reverse(made)) {
          begin = before.original(begin);
          end = before.original(end);
        }
        f.line = unit.source().position(begin).line;
        f.column = unit.source().position(begin).column;
        f.end_line = unit.source().position(std::max(begin, end)).line;
        out.findings.push_back(std::move(f));
      }
      if (!any) {
        out.settled = true;
        return out;
      }
      std::string text = realised->edits.apply((*next)->source().text());
      auto encoded = unit.source().encode(text);
      if (frontend(i)->verify(unit, text) || !encoded) return out;
      now = out.bytes = std::move(*encoded);
      made.push_back(std::move(realised->edits));
    }
    return out;
  }

  // Migrating the result again would change nothing.
  bool settled(size_t i, const std::string& bytes) {
    auto source = Source::decode(input_.files[i].relative, bytes);
    if (!source) return false;
    auto unit = frontend(i)->load(std::move(*source), input_.files[i].relative);
    if (!unit) return false;
    UnitPlan again = planner_.plan(**unit, *frontend(i), states_[i].enabled);
    std::vector<Change> changes;
    for (const PlannedSite& site : again.sites) {
      if (site.rewritten) changes.push_back(site.change);
    }
    if (changes.empty()) return true;
    auto realised = frontend(i)->realise(**unit, changes);
    return realised && std::find(realised->accepted.begin(), realised->accepted.end(), true) ==
                           realised->accepted.end();
  }

  void note_calls(const Unit& unit, const std::set<std::pair<uint32_t, uint32_t>>& own,
                  FileState& state) {
    for (const ProjectCall& call : unit.project_calls) {
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
  }

  // Calls of definitions that were rewritten, also in files that no rule looked at.
  void through() {
    std::map<std::string, std::pair<std::string, std::string>> definitions;
    for (const FileState& state : states_) {
      for (const auto& [qualified, where] : state.definitions)
        definitions.emplace(qualified, where);
    }
    // A function that gives what a rewritten one gives is rewritten with it.
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
    std::set<std::string> migrated;
    for (const FileState& state : states_) {
      migrated.insert(state.migrated.begin(), state.migrated.end());
    }
    std::vector<std::string> names;
    names.reserve(definitions.size());
    for (const auto& [qualified, where] : definitions) {
      names.push_back(qualified.substr(qualified.rfind('.') + 1));
    }
    for (const CompiledRule& rule : compiled_.rules) {
      for (const Anchor& anchor : rule.rule->anchors) {
        for (std::string glob : anchor.names) {
          std::erase(glob, '*');  // one star at an end: the rest is what the name contains
          names.push_back(std::move(glob));
        }
      }
    }
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    Prefilter prefilter({{names}});
    if (!names.empty())
      each(
          [&](size_t i) {
            FileState& state = states_[i];
            if (!state.scanned || state.parsed || state.language == nullptr ||
                !state.problems.empty()) {
              return;
            }
            auto bytes = read(i);
            if (!bytes || !prefilter.scan(*bytes)[0]) return;
            auto unit = load(i, *bytes);
            if (unit) note_calls(*unit, {}, state);
          },
          nullptr);
    for (FileState& state : states_) {
      for (CallSite& call : state.calls) {
        auto found = definitions.find(call.callee);
        if (found == definitions.end()) {
          if (migrated.contains(call.callee)) continue;
          if (call.rule.empty()) name_anchor(call);
          if (call.rule.empty()) continue;
          call.finding.rule = call.rule;
          call.finding.outcome = Outcome::refused;
          call.finding.code = call.code;
          call.finding.message = call.says;
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

  // A call by a telltale name of a definition that no pattern recognised.
  void name_anchor(CallSite& call) const {
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

  RunResult collect() {
    RunResult out;
    out.files_seen = states_.size();
    out.near = std::move(near_);
    std::vector<std::string> training, exporting, unread;
    for (size_t i = 0; i < states_.size(); ++i) {
      FileState& state = states_[i];
      out.files_scanned += state.scanned;
      out.files_parsed += state.parsed;
      std::stable_sort(state.findings.begin(), state.findings.end(),
                       [](const Finding& a, const Finding& b) {
                         return std::pair(a.line, a.column) < std::pair(b.line, b.column);
                       });
      for (Finding& f : state.findings) out.findings.push_back(std::move(f));
      if (state.changed) out.changed.push_back(std::move(*state.changed));
      for (Problem& p : state.problems) out.problems.push_back(std::move(p));
      for (std::string& n : state.notes) out.notes.push_back(std::move(n));
      if (state.unreadable_here) unread.push_back(input_.files[i].relative);
      if (state.trains) training.push_back(input_.files[i].relative);
      if (state.exports) exporting.push_back(input_.files[i].relative);
    }
    if (!unread.empty()) {
      out.notes.push_back(fmt::format(
          "{}: its words could be a rule's, and it was not looked at{}: {}", unread.front(),
          unread.size() == 1
              ? ""
              : fmt::format(", nor were {} more files of its kind", unread.size() - 1),
          frontends_.why_not(Language::cpp)));
    }
    if (!out.changed.empty()) {
      for (const FileState& state : states_) {
        out.notes.insert(out.notes.end(), state.replaced.begin(), state.replaced.end());
      }
      for (const std::string& f : training) {
        out.notes.push_back("training-code: " + f +
                            " trains; what was migrated runs at inference only");
      }
      for (const std::string& f : exporting) {
        out.notes.push_back("export-code: " + f +
                            " exports models; exporters do not know the runtime's operators");
      }
    }
    return out;
  }

  const CompiledRules& compiled_;
  const Input& input_;
  const EngineOptions& options_;
  Frontends& frontends_;
  Planner planner_;
  std::vector<FileState> states_;
  std::set<std::string> callee_names_;
  std::vector<NearMiss> near_;  // of the one file that is asked about
};

}  // namespace

Expected<RunResult> run(const RuleSet& rules, const Input& input, const EngineOptions& options,
                        const Progress& progress) {
  // Isomorphisms and patterns are compiled without a project around them; the isomorphisms
  // themselves without isomorphisms.
  python::PythonFrontend bare(".", {}, {}, rules.catalogue(), nullptr);
  Isomorphisms isomorphisms;
  if (!options.isomorphisms.empty()) {
    auto loaded = Isomorphisms::load(options.isomorphisms, rules.catalogue(),
                                     [&](std::string_view code) { return bare.pattern(code); });
    if (!loaded) return tl::unexpected(loaded.error());
    isomorphisms = std::move(*loaded);
  }
  python::PythonFrontend patterns(".", {}, {}, rules.catalogue(), &isomorphisms);
  auto compiled = compile(rules, patterns);
  if (!compiled) return tl::unexpected(compiled.error());
  Frontends frontends(input, options, rules.catalogue(), isomorphisms);
  return Run(rules, *compiled, input, options, frontends).go(progress);
}

}  // namespace refit
