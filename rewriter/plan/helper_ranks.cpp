// See helper_ranks.hpp. Callees come before their callers: what a helper gives may be another
// helper's result.
#include "rewriter/plan/helper_ranks.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>

#include "rewriter/match/facts.hpp"
#include "rewriter/text/byte_scan.hpp"

namespace refit {

namespace {

// What gives a tensor other axes where it stands.
constexpr std::string_view kInPlace[] = {"squeeze_(", "resize", "set_(", "strided_(", ".data"};

// Whether a function is the module's own, without decorators, and leaves the axes of what it is
// given.
bool plain(const Unit& unit, const Function& f) {
  if (f.parent != kNone && unit.functions[f.parent].parent != kNone) return false;
  const std::string head = unit.module + ".";
  if (!f.qualified.starts_with(head) || f.qualified.find('.', head.size()) != std::string::npos) {
    return false;
  }
  std::string_view text = unit.source().slice(f.range);
  std::string_view before = unit.source().text().substr(0, f.range.begin);
  size_t last = before.find_last_not_of(" \t\r\n");
  before = before.substr(0, last == std::string_view::npos ? 0 : last + 1);
  size_t line = before.rfind('\n');
  if (text.starts_with('@') || before.substr(line + 1).starts_with('@')) return false;
  // A decorator over several lines ends in a bracket at a line's beginning.
  if (before.substr(line + 1).starts_with(')')) return false;
  return std::ranges::none_of(kInPlace,
                              [&](std::string_view word) { return contains_text(text, word); });
}

// The rank of all that a function gives; 0 where it is not shown.
int result_rank(const Unit& unit, const Function& f) {
  if (!plain(unit, f) || !f.decorators.empty() || f.graph.results.empty()) return 0;
  std::optional<int> out;
  for (ValueId result : f.graph.results) {
    auto rank = rank_of(f.graph, result);
    if (!rank || (out && *rank != *out)) return 0;
    out = rank;
  }
  return *out;
}

class HelperRanks {
 public:
  explicit HelperRanks(Unit& unit) : unit_(unit), done_(unit.functions.size(), State::unseen) {
    std::map<std::string_view, uint32_t> by_name;
    for (uint32_t f = 0; f < unit.functions.size(); ++f) {
      auto [at, fresh] = by_name.emplace(unit.functions[f].qualified, f);
      if (!fresh) at->second = kNone;  // defined twice, either may be meant
    }
    for (const ProjectCall& call : unit.project_calls) {
      if (call.outside) continue;
      if (unit.functions[call.function].graph[call.value].kind != Kind::call) continue;
      auto named = by_name.find(call.callee);
      uint32_t callee = call.local != kNone      ? call.local
                        : named != by_name.end() ? named->second
                                                 : kNone;
      if (callee != kNone) calls_[call.function].emplace_back(call.value, callee);
    }
  }

  void run() {
    for (const auto& [function, calls] : calls_) visit(function);
  }

 private:
  enum class State : uint8_t { unseen, begun, done };

  void visit(uint32_t start) {
    std::vector<uint32_t> work{start};
    while (!work.empty()) {
      const uint32_t f = work.back();
      auto calls = calls_.find(f);
      if (done_[f] == State::unseen) {
        done_[f] = State::begun;
        if (calls == calls_.end()) continue;
        for (const auto& [value, callee] : calls->second) {
          if (done_[callee] == State::unseen) work.push_back(callee);
        }
        continue;
      }
      work.pop_back();
      if (done_[f] == State::done) continue;
      done_[f] = State::done;
      if (calls == calls_.end()) continue;
      for (const auto& [value, callee] : calls->second) {
        // One that calls itself shows nothing.
        if (done_[callee] != State::done || callee == f) continue;
        unit_.functions[f].graph[value].axes = result_rank(unit_, unit_.functions[callee]);
      }
    }
  }

  Unit& unit_;
  std::map<uint32_t, std::vector<std::pair<ValueId, uint32_t>>> calls_;
  std::vector<State> done_;
};

}  // namespace

void note_helper_ranks(Unit& unit) { HelperRanks(unit).run(); }

}  // namespace refit
