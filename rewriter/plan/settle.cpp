// A file's new text: the edits of its sites, planned again until nothing is left to do, and refused
// where it would not come to rest. Entry point: Run::realise.
#include <fmt/format.h>

#include <algorithm>
#include <ranges>
#include <tuple>

#include "rewriter/plan/helper_ranks.hpp"
#include "rewriter/plan/run.hpp"

#include "rewriter/text/bounds.hpp"

namespace refit {

namespace {

constexpr size_t kRetries = 32;  // recognised computations of one file that are tried singly
constexpr int kRounds = 4;       // times that a new text may be planned again
constexpr size_t kLarge = size_t{1} << 20;

// Where a text of a further round stood in the file: what an earlier round moved inside its
// function where it stood, and of one that it made, for which `text` is set, what stood there.
std::pair<uint32_t, uint32_t> moved_from(std::string_view whole, std::string& text, ByteRange at,
                                         ByteRange function) {
  if (text.empty() || whole.substr(at.begin, text.size()) == text) return {at.begin, at.end};
  const auto distance = [&](size_t place) {
    return place > at.begin ? place - at.begin : at.begin - place;
  };
  size_t nearest = std::string_view::npos;
  for (size_t place = whole.find(text, function.begin); place < function.end;
       place = whole.find(text, place + 1)) {
    if (nearest == std::string_view::npos || distance(place) < distance(nearest)) nearest = place;
  }
  if (nearest == std::string_view::npos) {
    text = whole.substr(at.begin, std::max(at.begin, at.end) - at.begin);
    return {at.begin, at.end};
  }
  const auto begin = static_cast<uint32_t>(nearest);
  return {begin, begin + static_cast<uint32_t>(text.size())};
}

}  // namespace

void Run::realise(size_t i, std::unique_ptr<Unit> unit, const std::vector<Change>& changes,
                  std::vector<PlannedSite*>& sites, const std::string& bytes) {
  FileState& state = states_[i];
  const std::string& name = input_.files[i].relative;
  auto realised = frontend(i)->realise(*unit, changes);
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
  if (options_.site_edits) note_edits(i, *unit, changes, sites);
  std::string text = realised->edits.apply(unit->source().text());
  auto encoded = unit->source().encode(text);
  if (!encoded) {
    withhold("self-check: " + encoded.error().message);
    return;
  }
  // Of a large file there is no room for two trees.
  const bool released = bytes.size() > kLarge;
  if (released) unit->release();
  Further further = settle(i, *unit, realised->edits, *encoded);
  if (further.broken) {
    withhold("self-check: " +
             frontend(i)->verify(*unit, text).value_or("the new text cannot be read again"));
    return;
  }
  if (!further.settled) {
    if (released) unit = load(i, bytes, rules_focus(i));
    if (unit != nullptr && retry(i, std::move(unit), changes, sites, bytes)) return;
    withhold("self-check: planning the new text again is not empty, so the result is not final");
    return;
  }
  for (Finding& f : further.findings) {
    f.file = name;
    // A call that was rewritten itself does not go through its definition any more.
    std::erase_if(state.calls.sites, [&f](const CallSites::Site& call) {
      return call.line == f.line && call.column == f.column;
    });
    // What overlapped with another rewrite is said as what it became.
    auto same = std::ranges::find_if(sites, [&](const PlannedSite* site) {
      const Finding& first = site->finding;
      return !site->rewritten && first.code == "overlap" && first.rule == f.rule &&
             first.line == f.line && first.column == f.column;
    });
    if (same == sites.end()) {
      state.findings.push_back(std::move(f));
    } else {
      (*same)->finding = std::move(f);
    }
  }
  if (!further.bytes.empty()) encoded = std::move(further.bytes);
  if (*encoded == bytes) return;
  state.changed = std::make_unique<FileResult>(FileResult{name, bytes, std::move(*encoded)});
}

void Run::note_edits(size_t i, const Unit& unit, const std::vector<Change>& changes,
                     const std::vector<PlannedSite*>& sites) {
  for (size_t c = 0; c < sites.size(); ++c) {
    Finding& finding = sites[c]->finding;
    finding.edits.clear();
    if (!sites[c]->rewritten) continue;
    std::vector<Change> own{changes[c]};
    for (size_t other = 0; other < changes.size(); ++other) {
      const bool joint = !changes[c].together.empty() && other != c &&
                         changes[other].function == changes[c].function &&
                         changes[other].together == changes[c].together;
      if (joint) own.push_back(changes[other]);
    }
    const auto alone = frontend(i)->realise(unit, own);
    if (!alone || std::ranges::find(alone->accepted, false) != alone->accepted.end()) continue;
    for (const Edit& edit : alone->edits.edits()) {
      const auto begin = unit.source().position(edit.range.begin);
      const auto end = unit.source().position(edit.range.end);
      finding.edits.push_back({begin.line, begin.column, end.line, end.column, edit.replacement});
    }
  }
}

bool Run::retry(size_t i, std::unique_ptr<Unit> unit, const std::vector<Change>& changes,
                const std::vector<PlannedSite*>& sites, const std::string& bytes) {
  std::vector<Change> kept;
  std::vector<PlannedSite*> kept_sites;
  auto settles = [&](const std::vector<Change>& some) {
    auto realised = frontend(i)->realise(*unit, some);
    if (!realised) return false;
    auto encoded = unit->source().encode(realised->edits.apply(unit->source().text()));
    if (!encoded) return false;
    const Origins origins(realised->edits);
    const BoundsScope scope([&](uint32_t at) { return origins.before(at); });
    std::unique_ptr<Unit> again = reload(i, *unit, realised->edits, *encoded);
    return again != nullptr && settled(i, *again);
  };
  size_t tried = 0;
  for (int regions = 0; regions < 2; ++regions) {
    for (size_t c = 0; c < sites.size(); ++c) {
      if (changes[c].edit_call != (regions == 0)) continue;
      bool take = regions == 0;
      if (!take && ++tried > kRetries) reached(Bound::retries, sites[c]->range.begin);
      if (!take && tried <= kRetries) {
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
  if (!kept.empty()) realise(i, std::move(unit), kept, kept_sites, bytes);
  return true;
}

Run::Further Run::settle(size_t i, const Unit& unit, const EditSet& edits,
                         const std::string& bytes) {
  Further out;
  EditSet made = edits;          // of the round before
  std::vector<Origins> origins;  // of all rounds
  origins.emplace_back(edits);
  std::string now = bytes;
  std::unique_ptr<Unit> held;  // of the round before
  const auto before = [&](uint32_t at) {
    for (const Origins& round_before : std::views::reverse(origins)) at = round_before.before(at);
    return at;
  };
  const BoundsScope scope(before);
  for (int round = 0; round <= kRounds; ++round) {
    const Unit& last = held == nullptr ? unit : *held;
    std::unique_ptr<Unit> next = reload(i, last, made, now);
    if (next == nullptr || next->syntax_errors.size() > unit.syntax_errors.size() ||
        new_error(unit.errors, next->errors)) {
      out.broken = true;
      return out;
    }
    UnitPlan again = plan_unit(i, *next);
    std::vector<Change> changes;
    std::vector<PlannedSite*> sites;
    for (PlannedSite& site : again.sites) {
      if (!site.rewritten) continue;
      changes.push_back(site.change);
      sites.push_back(&site);
    }
    auto realised = frontend(i)->realise(*next, changes);
    if (!realised) return out;
    bool any = false;
    for (size_t c = 0; c < sites.size(); ++c) {
      if (!realised->accepted[c]) continue;
      any = true;
      Finding f = sites[c]->finding;
      f.after = realised->after[c];
      uint32_t begin = before(sites[c]->range.begin), end = before(sites[c]->range.end);
      const ByteRange home = next->functions[sites[c]->site_function].range;
      std::tie(begin, end) = moved_from(unit.source().text(), f.before, {begin, end},
                                        {before(home.begin), before(home.end)});
      f.line = unit.source().position(begin).line;
      f.column = unit.source().position(begin).column;
      f.end_line = unit.source().position(std::max(begin, end)).line;
      out.findings.push_back(std::move(f));
    }
    if (!any) {
      out.settled = true;
      return out;
    }
    std::string text = realised->edits.apply(next->source().text());
    auto encoded = unit.source().encode(text);
    if (!encoded) return out;
    now = out.bytes = std::move(*encoded);
    made = std::move(realised->edits);
    origins.emplace_back(made);
    if (bytes.size() > kLarge) next->release();
    held = std::move(next);
  }
  reached(Bound::rounds, 0);
  return out;
}

std::unique_ptr<Unit> Run::reload(size_t i, const Unit& unit, const EditSet& edits,
                                  const std::string& bytes) {
  auto source = Source::decode(input_.files[i].relative, bytes);
  if (!source) return nullptr;
  Focus focus = rules_focus(i);
  focus.before = &unit;
  focus.edits = &edits;
  if (!states_[i].migrated_here && !states_[i].aliased) focus.changed = edits.results();
  auto again = frontend(i)->load_for(std::move(*source), input_.files[i].relative, focus);
  if (!again || *again == nullptr) return nullptr;
  count(states_[i], **again);
  note_helper_ranks(**again);
  return std::move(*again);
}

bool Run::settled(size_t i, const Unit& unit) {
  UnitPlan again = plan_unit(i, unit);
  std::vector<Change> changes;
  for (const PlannedSite& site : again.sites) {
    if (site.rewritten) changes.push_back(site.change);
  }
  if (changes.empty()) return true;
  auto realised = frontend(i)->realise(unit, changes);
  return realised && std::ranges::find(realised->accepted, true) == realised->accepted.end();
}

}  // namespace refit
