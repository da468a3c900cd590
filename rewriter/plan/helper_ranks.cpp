// See helper_ranks.hpp. Callees come before their callers: what a helper gives may be another
// helper's result.
#include "rewriter/plan/helper_ranks.hpp"

#include <algorithm>
#include <map>

#include "rewriter/match/facts.hpp"

namespace refit {

using graph::Kind;
using graph::kNone;

namespace {

// The rank of all that a function gives; 0 where it is not shown.
int result_rank(const Function& f) {
  if (!f.decorators.empty() || f.graph.results.empty()) return 0;
  std::optional<int> out;
  for (graph::ValueId result : f.graph.results) {
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
        unit_.functions[f].graph[value].axes = result_rank(unit_.functions[callee]);
      }
    }
  }

  Unit& unit_;
  std::map<uint32_t, std::vector<std::pair<graph::ValueId, uint32_t>>> calls_;
  std::vector<State> done_;
};

}  // namespace

void note_helper_ranks(Unit& unit) { HelperRanks(unit).run(); }

}  // namespace refit
