// The run over all files: what is looked at, what is planned, and the result. Entry point: run.
#include "rewriter/plan/engine.hpp"

#include <fmt/format.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <algorithm>
#include <map>

#include "rewriter/plan/helper_ranks.hpp"
#include "rewriter/plan/run.hpp"
#include "rewriter/text/byte_scan.hpp"

namespace refit {
namespace {

constexpr uint64_t kKeepLimit = uint64_t{16} << 20;  // bytes of files kept until they are planned
constexpr int kAliasRounds = 16;                     // packages that hand a name on
constexpr uint64_t kReadLimit = uint64_t{1} << 31;
constexpr uint64_t kLarge = uint64_t{1} << 20;

// The allocator keeps what a thread frees, and the diff of a large file has no use of that.
void give_back() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

}  // namespace

Run::Run(const RuleSet& rules, const CompiledRules& compiled, const Input& input,
         const EngineOptions& options, const Languages& languages, const Isomorphisms& isomorphisms,
         const Prefilter& prefilter)
    : compiled_(compiled),
      input_(input),
      options_(options),
      catalogue_(rules.catalogue()),
      languages_(languages),
      isomorphisms_(isomorphisms),
      prefilter_(prefilter),
      planner_(compiled, rules.catalogue(), options),
      states_(input.files.size()) {
  for (size_t i = 0; i < input.files.size(); ++i) numbers_.emplace(input.files[i].relative, i);
}

RunResult Run::go(const Progress& progress) {
  for (const CompiledRule& rule : compiled_.rules) {
    for (const Operation* op : rule.callees) {
      (op->is_class ? class_names_ : callee_names_).insert(op->id.substr(op->id.rfind('.') + 1));
    }
  }
  each([&](size_t i) { scan(i); }, states_.size(), nullptr);
  follow_aliases();
  std::set<std::string, std::less<>> words;
  std::vector<std::string> asked = prefilter_.tree_words();
  for (size_t w = 0; w < asked.size(); ++w) {
    bool met = std::ranges::any_of(
        states_, [&](const FileState& state) { return w < state.words.size() && state.words[w]; });
    if (met) words.insert(asked[w]);
  }
  planner_.set_words(std::move(words));
  std::map<std::string, std::string, std::less<>> patched;
  for (const FileState& state : states_) patched.insert(state.patched.begin(), state.patched.end());
  planner_.set_patched(std::move(patched));
  each([&](size_t i) { file(i); }, states_.size(), progress);
  propagate_calls();
  return collect();
}

std::optional<std::string_view> Run::read(size_t i, ReadRoom& room) {
  FileState& state = states_[i];
  if (const auto& given = input_.files[i].bytes) return *given;
  auto bytes = read_file(input_.files[i].path, kReadLimit, room);
  if (bytes) {
    ++files_read_;
    bytes_read_ += bytes->size();
    return *bytes;
  }
  bool vanished = bytes.error().kind == DiskError::Kind::missing;
  state.problems.push_back(
      {FileProblem::unreadable, input_.files[i].relative,
       vanished ? "it was there when the files were listed and is gone now; nothing was changed"
                : "it cannot be read: " + bytes.error().message});
  return std::nullopt;
}

void Run::follow_aliases() {
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
    std::vector<char> handing_on(states_.size(), 0);
    auto look = [&](size_t i) {
      FileState& state = states_[i];
      if (!state.scanned || state.aliased || !state.problems.empty()) return;
      auto held = [&](const std::string& word) { return state.holds.may_hold(word); };
      if (!std::ranges::any_of(alternatives, held) || !std::ranges::any_of(modules, held)) {
        return;
      }
      ReadRoom room;
      auto bytes = read(i, room);
      auto stands = [&](const std::string& text) { return contains_text(*bytes, text); };
      if (!bytes || std::ranges::none_of(alternatives, stands) ||
          std::ranges::none_of(mentions, stands)) {
        return;
      }
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
      if (handing_on[i] != 0 && round + 1 == kAliasRounds) {
        if (!state.bounds) state.bounds = std::make_unique<BoundsReached>();
        add_reached((*state.bounds)[static_cast<size_t>(Bound::alias_rounds)], {1, 1});
      }
    };
    each(look, states_.size(), nullptr);
    size_t before = names.size() + modules.size();
    for (size_t i = 0; i < states_.size(); ++i) {
      if (handing_on[i] != 0) add(i);
    }
    if (names.size() + modules.size() == before) break;
  }
}

void Run::scan(size_t i) {
  // What most files leave at once is not worth memory of their own.
  static thread_local ReadRoom room;
  FileState& state = states_[i];
  auto bytes = read(i, room);
  if (!bytes) return;
  state.scanned = true;
  state.language = language_of(input_.files[i].relative);
  if (state.language != nullptr && !may_concern(*state.language, *bytes)) {
    state.language = nullptr;
  }
  bool python = state.language != nullptr && state.language->language == Language::python;
  const EntrySet held = prefilter_.scan(*bytes, python, &state.holds);
  if (python) frontend(i)->note(input_.files[i].relative, *bytes);
  state.trains = prefilter_.trains(held);
  state.exports = prefilter_.exports(held);
  state.words = prefilter_.words(held);
  if (options_.prefilter) {
    state.enabled = prefilter_.file(held);
  } else {
    state.enabled.assign(compiled_.rules.size(), true);
  }
  bool named =
      prefilter_.named(held) || std::ranges::find(state.enabled, true) != state.enabled.end();
  state.relevant = state.language != nullptr && named;
  note_other_meanings(i, *bytes, held);
  if (state.relevant) {
    state.migrated_here = prefilter_.migrated(held);
    if ((kept_ += bytes->size()) <= kKeepLimit) state.bytes = std::string(*bytes);
  }
  if (bytes->size() > kLarge) room = {};
}

void Run::note_other_meanings(size_t i, std::string_view bytes, const EntrySet& held) {
  FileState& state = states_[i];
  const std::set<std::string> callees = prefilter_.mentioned(held, callee_names_),
                              classes = prefilter_.mentioned(held, class_names_);
  if (callees.empty() && classes.empty()) return;
  std::vector<Replacement> replacements = replacements_in(bytes, callees);
  for (Replacement& r : replacements_in(bytes, classes)) {
    if (r.lasting) replacements.push_back(std::move(r));
  }
  for (const Replacement& r : replacements) {
    std::string place = fmt::format("{}:{}", input_.files[i].relative, r.line);
    if (r.lasting || !frontend(i)->is_test(input_.files[i].relative)) {
      state.patched.emplace(r.callee, place);
    } else {
      state.replaced.push_back(fmt::format(
          "{} replaces `{}` for a while; calls that were rewritten do not go through it", place,
          r.callee));
    }
  }
  state.aliases = aliases_in(bytes, callees);
}

void Run::file(size_t i) {
  FileState& state = states_[i];
  if (!options_.explain.empty() && input_.files[i].relative == options_.explain) {
    state.relevant = state.scanned;  // whatever the prefilter thinks of it
    state.enabled.assign(compiled_.rules.size(), true);
  }
  if (!state.relevant) return;
  if (!state.bytes) {
    ReadRoom room;
    if (auto bytes = read(i, room)) state.bytes = std::string(*bytes);
  }
  if (state.bytes) {
    BoundsReached bounds{};
    {
      const BoundsScope scope(bounds);
      plan(i, *state.bytes);
    }
    take_bounds(i, bounds, *state.bytes);
  }
  const bool large = state.bytes && state.bytes->size() > kLarge;
  state.bytes.reset();
  if (large) give_back();
}

void Run::take_bounds(size_t i, const BoundsReached& bounds, const std::string& bytes) {
  if (!any_reached(bounds)) return;
  auto source = Source::decode(input_.files[i].relative, bytes);
  for (size_t b = 0; b < kBounds; ++b) {
    const uint32_t line = source ? source->position(bounds[b].first).line : 1;
    if (!states_[i].bounds) states_[i].bounds = std::make_unique<BoundsReached>();
    add_reached((*states_[i].bounds)[b], {bounds[b].times, line});
  }
}

Focus Run::rules_focus(size_t i) const {
  const FileState& state = states_[i];
  bool all = !options_.prefilter || state.migrated_here || state.aliased ||
             input_.files[i].relative == options_.explain;
  Focus out;
  out.vocabulary = &prefilter_.vocabulary();
  out.wanted = [this, all, &state](ByteRange, const EntrySet& seen) {
    return all || prefilter_.wanted(seen, state.enabled);
  };
  out.helpers = !all;
  return out;
}

Frontend* Run::frontend(size_t i) {
  const LanguageFacts* language = states_[i].language;
  return language == nullptr ? nullptr : &frontend_of(language->language);
}

Frontend& Run::frontend_of(Language language) {
  std::lock_guard lock(frontends_mutex_);
  std::unique_ptr<Frontend>& out = frontends_[language];
  if (!out) out = languages_.frontend(language, input_, catalogue_, isomorphisms_);
  return *out;
}

std::unique_ptr<Unit> Run::load(size_t i, const std::string& bytes, const Focus& focus) {
  FileState& state = states_[i];
  const std::string& name = input_.files[i].relative;
  Frontend* reader = frontend(i);
  if (reader == nullptr) return nullptr;
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
  auto unit = reader->load_for(std::move(*source), name, focus);
  if (!unit) {
    state.problems.push_back({FileProblem::syntax, name, unit.error().message});
    return nullptr;
  }
  if (*unit == nullptr) return nullptr;
  state.parsed = true;
  count(state, **unit);
  note_helper_ranks(**unit);
  return std::move(*unit);
}

void Run::count(FileState& state, const Unit& unit) {
  state.lowered +=
      static_cast<uint64_t>(std::ranges::count_if(unit.functions, [](const Function& f) {
        return !f.name.empty() && !f.graph.values.empty();
      }));
}

// What a rule looks for may stand in the functions of other files that calls were replaced by.
void Run::enable_for(const std::set<std::string>& borrowed, std::string_view text,
                     FileState& state) const {
  if (borrowed.empty()) return;
  std::string all(text);
  for (const std::string& function : borrowed) all += "\n" + function;
  const std::vector<bool> enabled = prefilter_.file(prefilter_.scan(all, true, nullptr));
  for (size_t r = 0; r < enabled.size(); ++r) state.enabled[r] = state.enabled[r] || enabled[r];
}

UnitPlan Run::plan_unit(size_t i, const Unit& unit) {
  const FileSettings settings =
      options_.by_file ? options_.by_file(input_.files[i].relative) : FileSettings();
  return planner_.plan(unit, *frontend(i), states_[i].enabled, settings);
}

void Run::plan(size_t i, const std::string& bytes) {
  FileState& state = states_[i];
  const std::string& name = input_.files[i].relative;
  auto unit = load(i, bytes, rules_focus(i));
  if (!unit) return;
  if (!unit->too_deep.empty()) {
    const ByteRange first = unit->too_deep.front();
    const size_t more = unit->too_deep.size() - 1;
    state.notes.push_back(fmt::format(
        "{}:{}: what stands here is nested more deeply than is followed{}; sites in it are not "
        "looked for",
        name, unit->source().position(first.begin).line,
        more == 0 ? "" : fmt::format(", and so at {} more places", more)));
  }
  if (!unit->unread.empty()) {
    const uint32_t first = *std::ranges::min_element(unit->unread);
    const size_t more = unit->unread.size() - 1;
    state.notes.push_back(
        fmt::format("{}:{}: the grammar that refit reads {} with does not know what stands here{}; "
                    "sites in the definition around it are not looked for",
                    name, unit->source().position(first).line, state.language->name,
                    more == 0 ? "" : fmt::format(", and so at {} more places", more)));
  }
  if (options_.prefilter) enable_for(unit->borrowed, unit->source().text(), state);
  UnitPlan plan = plan_unit(i, *unit);
  for (const uint32_t line : plan.idle) {
    state.idle.push_back(line);
    state.notes.push_back(
        fmt::format("{}:{}: no site needs the comment `refit: ignore`; remove it", name, line));
  }
  if (name == options_.explain) {
    near_ = planner_.near_misses(*unit, *frontend(i), options_.explain_line);
  }
  state.left_out = std::move(unit->left_out);
  bool any = std::ranges::find(state.enabled, true) != state.enabled.end();
  if (!unit->syntax_errors.empty() && any) {
    leave_broken(i, *unit, plan);
    return;
  }
  if (state.exports) refuse_exported(*unit, plan);
  std::vector<Finding> skipped;
  if (!unit->skipped.empty()) skipped = skipped_sites(i, *unit, plan);
  std::vector<Change> changes;
  std::vector<PlannedSite*> changing;
  for (PlannedSite& site : plan.sites) {
    if (!site.rewritten) continue;
    changes.push_back(site.change);
    changing.push_back(&site);
  }
  note_calls(*unit, own_places(plan.sites), state);
  note_migrated(*unit, state);
  if (!changes.empty()) realise(i, std::move(unit), changes, changing, bytes);
  const std::vector<Finding> later = state.findings;  // what further rounds rewrote
  for (PlannedSite& site : plan.sites) {
    site.finding.file = name;
    if (site.rewritten) {
      auto& list = site.definition ? state.definitions : state.rewritten_in;
      list.push_back(
          {site.function, {fmt::format("{}:{}", name, site.finding.line), site.finding.rule}});
    }
    const bool done = std::ranges::any_of(later, [&own = site.finding](const Finding& f) {
      return f.rule == own.rule && f.line == own.line && f.column == own.column;
    });
    if (!done || site.rewritten) state.findings.push_back(std::move(site.finding));
  }
  std::ranges::move(skipped, std::back_inserter(state.findings));
}

RunResult Run::collect() {
  RunResult out;
  out.files_seen = states_.size();
  out.files_read = files_read_;
  out.bytes_read = bytes_read_;
  out.near = std::move(near_);
  std::vector<std::string> training, exporting;
  for (size_t i = 0; i < states_.size(); ++i) {
    FileState& state = states_[i];
    out.files_scanned += state.scanned;
    out.files_parsed += state.parsed;
    out.functions_lowered += state.lowered;
    std::ranges::stable_sort(state.findings, [](const Finding& a, const Finding& b) {
      return std::pair(a.line, a.column) < std::pair(b.line, b.column);
    });
    for (Finding& f : state.findings) out.findings.push_back(std::move(f));
    if (state.changed) out.changed.push_back(std::move(*state.changed));
    for (Problem& p : state.problems) out.problems.push_back(std::move(p));
    for (const uint32_t line : state.idle) out.idle.push_back({input_.files[i].relative, line});
    for (std::string& n : state.notes) out.notes.push_back(std::move(n));
    if (state.trains) training.push_back(input_.files[i].relative);
    if (state.exports) exporting.push_back(input_.files[i].relative);
  }
  for (size_t b = 0; b < kBounds; ++b) {
    uint64_t times = 0;
    std::string first;
    for (size_t i = 0; i < states_.size(); ++i) {
      if (!states_[i].bounds) continue;
      const BoundReached& here = (*states_[i].bounds)[b];
      if (here.times == 0) continue;
      times += here.times;
      if (first.empty()) first = fmt::format("{}:{}", input_.files[i].relative, here.first);
    }
    if (times == 0) continue;
    out.notes.push_back(fmt::format("bound: {} was reached {} times, first in {}",
                                    name_of(static_cast<Bound>(b)), times, first));
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

Expected<RunResult> run(const RuleSet& rules, const Languages& languages, const Input& input,
                        const EngineOptions& options, const Progress& progress) {
  // Isomorphisms and patterns are compiled without a project around them; the isomorphisms
  // themselves without isomorphisms.
  const std::unique_ptr<RuleLanguage> bare = languages.rules(rules.catalogue(), nullptr);
  Isomorphisms isomorphisms;
  if (!options.rules_folder.empty()) {
    std::vector<std::string> files{options.rules_folder + "/isomorphisms.yaml"};
    files.insert(files.end(), rules.spellings().begin(), rules.spellings().end());
    auto loaded = Isomorphisms::load(files, rules.catalogue(),
                                     [&](std::string_view code) { return bare->pattern(code); });
    if (!loaded) return tl::unexpected(loaded.error());
    isomorphisms = std::move(*loaded);
  }
  const std::unique_ptr<RuleLanguage> patterns = languages.rules(rules.catalogue(), &isomorphisms);
  auto compiled = compile(rules, *patterns);
  if (!compiled) return tl::unexpected(compiled.error());
  const Prefilter prefilter(*compiled, rules.catalogue());
  return Run(rules, *compiled, input, options, languages, isomorphisms, prefilter).go(progress);
}

}  // namespace refit
