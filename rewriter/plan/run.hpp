// One run over all files, as its parts see it: what is known of each file, and what each part does.
// engine.cpp scans, plans and collects; settle.cpp makes a file's new text and checks it;
// call_propagation.cpp finds the calls of what was rewritten. Nobody outside plan/ includes this.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "rewriter/plan/aliases.hpp"
#include "rewriter/plan/engine.hpp"
#include "rewriter/plan/planner.hpp"
#include "rewriter/plan/prefilter.hpp"
#include "rewriter/plan/workers.hpp"
#include "rewriter/project/word_set.hpp"
#include "rewriter/text/bounds.hpp"
#include "rewriter/text/disk.hpp"

namespace refit {

// The calls that one file makes to what the project defines. Nearly all of them come to nothing,
// and there are many: their texts stand in one.
struct CallSites {
  struct Text {
    uint32_t begin, size;
  };
  struct Site {
    Text callee, before;
    uint32_t line, column, end_line;
    // Of a rule that knows this callee, but only outside its own library; null: none does.
    const std::string *rule, *code, *says;
  };
  struct Given {  // by a function: what it returns the call of
    Text function, callee;
  };
  Text add(std::string_view text) {
    const auto begin = static_cast<uint32_t>(texts.size());
    texts += text;
    return {begin, static_cast<uint32_t>(text.size())};
  }
  std::string_view of(Text text) const {
    return std::string_view(texts).substr(text.begin, text.size);
  }
  void shrink_to_fit() {
    texts.shrink_to_fit();
    sites.shrink_to_fit();
    gives.shrink_to_fit();
  }
  std::string texts;
  std::vector<Site> sites;
  std::vector<Given> gives;
};

struct FileState {
  bool scanned = false, parsed = false, relevant = false, aliased = false;
  uint64_t lowered = 0;                        // functions, of all its units
  bool migrated_here = false;                  // names the runtime already
  std::optional<std::string> bytes;            // until it is planned, where there is room
  std::vector<LeftOut> left_out;               // what was not looked into
  const LanguageFacts* language = nullptr;     // null: none that could concern a rule
  std::vector<Alias> aliases;                  // that the file makes
  std::map<std::string, std::string> patched;  // callee name -> FILE:LINE that assigns to it
  std::vector<bool> enabled;
  std::vector<bool> words;  // of Run::tree_words
  WordSet holds;            // its words, for whoever looks for one later
  std::vector<Finding> findings;
  CallSites calls;
  std::vector<std::pair<std::string, std::pair<std::string, std::string>>>
      definitions;  // qualified -> (FILE:LINE, rule)
  std::vector<std::pair<std::string, std::pair<std::string, std::string>>>
      rewritten_in;                   // the same of functions that hold a rewritten site
  std::vector<std::string> migrated;  // functions that call the runtime already
  std::unique_ptr<FileResult> changed;
  std::vector<Problem> problems;
  std::vector<std::string> notes;
  std::vector<uint32_t> idle;             // lines of comments that keep no site
  std::vector<std::string> replaced;      // said where anything was changed
  std::unique_ptr<BoundsReached> bounds;  // the line where each was first reached; null: none was
  bool trains = false, exports = false;
};

class Run {
 public:
  Run(const RuleSet& rules, const CompiledRules& compiled, const Input& input,
      const EngineOptions& options, const Languages& languages, const Isomorphisms& isomorphisms,
      const Prefilter& prefilter);

  RunResult go(const Progress& progress);

 private:
  template <typename Work>
  void each(Work work, size_t count, const Progress& progress) const {
    std::atomic<size_t> done{0};
    std::mutex reporting;
    each_of(count, options_.jobs, [&](size_t i) {
      work(i);
      size_t n = ++done;
      if (progress && (n % 16 == 0 || n == count)) {
        std::lock_guard lock(reporting);
        progress(n, count);
      }
    });
  }

  // The bytes of a file, which stand in `room` until it is used again.
  std::optional<std::string_view> read(size_t i, ReadRoom& room);

  // Looks at files that know a callee by another name only.
  void follow_aliases();

  void scan(size_t i);

  // Where the file gives a callee's name another meaning, and other names to callees.
  void note_other_meanings(size_t i, std::string_view bytes, const EntrySet& held);

  void file(size_t i);

  // What a run over the file's rules wants lowered; a file that calls the runtime already is read
  // whole.
  Focus rules_focus(size_t i) const;

  // The front end of a file's language, of which null is none. Any thread may ask.
  Frontend* frontend(size_t i);
  Frontend& frontend_of(Language language);

  std::unique_ptr<Unit> load(size_t i, const std::string& bytes, const Focus& focus);

  static void count(FileState& state, const Unit& unit);

  // The sites of a unit of that file.
  UnitPlan plan_unit(size_t i, const Unit& unit);
  void plan(size_t i, const std::string& bytes);

  static void note_migrated(const Unit& unit, FileState& state);

  // A file that does not parse is left whole, its sites said.
  void refuse_exported(const Unit& unit, UnitPlan& plan) const;
  void leave_broken(size_t i, const Unit& unit, UnitPlan& plan);
  // Those in code that is not compiled where the file is read, beside the sites of the plan.
  std::vector<Finding> skipped_sites(size_t i, const Unit& unit, const UnitPlan& plan);
  void enable_for(const std::set<std::string>& borrowed, std::string_view text,
                  FileState& state) const;

  void realise(size_t i, std::unique_ptr<Unit> unit, const std::vector<Change>& changes,
               std::vector<PlannedSite*>& sites, const std::string& bytes);

  // Finding::edits of the sites, each realised alone or with those that it is right with.
  void note_edits(size_t i, const Unit& unit, const std::vector<Change>& changes,
                  const std::vector<PlannedSite*>& sites);

  // The calls may be sound where a recognised computation was not: those are taken up one by one,
  // and one that would leave something to rewrite again stays out.
  bool retry(size_t i, std::unique_ptr<Unit> unit, const std::vector<Change>& changes,
             const std::vector<PlannedSite*>& sites, const std::string& bytes);

  // What a rewrite leaves may be a site of its own, a clamp behind a maximum that went: the new
  // text is planned until nothing changes, and what is found on the way has its place in the old
  // one.
  struct Further {
    bool settled = false;
    bool broken = false;  // the new text does not parse
    std::string bytes;    // the final content, where it is another than that given
    std::vector<Finding> findings;
  };

  Further settle(size_t i, const Unit& unit, const EditSet& edits, const std::string& bytes);

  // Counts bounds that were reached in a file, given by their offsets in it.
  void take_bounds(size_t i, const BoundsReached& bounds, const std::string& bytes);

  // The unit that its edits make of a unit; functions that see nothing of them are not lowered.
  std::unique_ptr<Unit> reload(size_t i, const Unit& unit, const EditSet& edits,
                               const std::string& bytes);

  // Migrating the result again would change nothing.
  bool settled(size_t i, const Unit& unit);

  // The places of sites, but for those that left a call what it was.
  std::set<std::pair<uint32_t, uint32_t>> own_places(const std::vector<PlannedSite>& sites) const;
  void note_calls(const Unit& unit, const std::set<std::pair<uint32_t, uint32_t>>& own,
                  FileState& state);

  using Definitions = std::map<std::string, std::pair<std::string, std::string>, std::less<>>;

  // A function that gives what a rewritten one gives is rewritten with it.
  void add_givers(Definitions& definitions) const;

  // Looks for calls of some definitions where none were looked for yet.
  void look_for_callers(const std::vector<std::string>& definitions);

  void look_for_callers(const Callers& callers);

  // Calls of definitions that were rewritten, also in files that no rule looked at.
  void propagate_calls();

  // A call by a telltale name of a definition that no pattern recognised.
  void name_anchor(std::string_view callee, CallSites::Site& call) const;

  RunResult collect();

  const CompiledRules& compiled_;
  const Input& input_;
  const EngineOptions& options_;
  const Catalogue& catalogue_;
  const Languages& languages_;
  const Isomorphisms& isomorphisms_;
  const Prefilter& prefilter_;
  Planner planner_;
  std::vector<FileState> states_;
  std::atomic<uint64_t> kept_{0}, files_read_{0}, bytes_read_{0};
  std::set<std::string> callee_names_, class_names_;
  std::unordered_map<std::string_view, size_t> numbers_;  // files by relative name
  std::unordered_map<Language, std::unique_ptr<Frontend>> frontends_;
  std::mutex frontends_mutex_;  // guards frontends_
  std::vector<NearMiss> near_;  // of the one file that is asked about
};

}  // namespace refit
