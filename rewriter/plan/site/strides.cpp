// The strides of a new call's result: where they would not be those of the computation that it
// replaces, and a reader could tell, the call is told which. Entry points:
// SitePlanner::tell_strides, tell_attention_strides.
#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "rewriter/match/facts.hpp"
#include "rewriter/match/strides.hpp"
#include "rewriter/plan/site/site_planner.hpp"
#include "rewriter/rule/rule_keys.hpp"

namespace refit {

namespace {

// A product of matrices lies as [batch, heads, sequence, width], whatever lies before it.
constexpr std::string_view kByHeads = "BNSD";
constexpr int kAttentionRank = 4;

bool takes(const Operation* target, std::string_view strides) {
  return target != nullptr &&
         std::ranges::find(target->told_strides, strides) != target->told_strides.end();
}

Literal text_literal(std::string_view text) {
  Literal out;
  out.kind = Literal::Kind::string;
  out.text = text;
  return out;
}

}  // namespace

void SitePlanner::add_strides(Change& change, std::string_view strides) const {
  NewArgument argument;
  argument.keyword = "strides";
  argument.text = frontend_.literal(text_literal(strides));
  change.arguments.push_back(std::move(argument));
}

// Of each parameter of the new call, the values that its argument is made of.
std::multimap<std::string, ValueId> SitePlanner::read_by_parameter(const CompiledRewrite& rewrite,
                                                                   const Bindings& bindings,
                                                                   const SetTexts& set) const {
  const Operation* target = catalogue_.find(rewrite.with.callee);
  std::multimap<std::string, ValueId> out;
  for (size_t position = 0; position < rewrite.with.arguments.size(); ++position) {
    const auto& [keyword, text] = rewrite.with.arguments[position];
    const std::string name = keyword.empty() ? target_name(target, position) : keyword;
    for (const std::string& hole : holes_in(text)) {
      for (const std::string& part : parts_of(hole, set)) {
        auto bound = bindings.holes.find(part);
        if (bound != bindings.holes.end()) out.emplace(name, bound->second);
      }
    }
  }
  return out;
}

bool SitePlanner::tell_strides(const CompiledRewrite& rewrite, const Bindings& bindings,
                               const SetTexts& set, Change& change, PlannedSite& site) {
  if (!change.behind.empty()) return true;  // the rule gives the result its strides there
  const Operation* target = catalogue_.find(change.callee);
  if (target == nullptr || target->strides.empty()) return true;  // as its operand, as torch's
  auto read = read_by_parameter(rewrite, bindings, set);
  for (auto& [parameter, value] : read) {
    for (const Change::Bypass& bypass : change.bypassed) {
      // What carried the part carries its operand.
      if (reads().reach({value}, bypass.value)) value = bypass.operand;
    }
  }
  if (!change.results.empty()) return keeps_strides(*target, read, change, site);
  std::vector<ValueId> vectors, all;
  for (const auto& [parameter, value] : read) {
    all.push_back(value);
    if (std::ranges::find(target->vectors, parameter) != target->vectors.end()) {
      vectors.push_back(value);
    }
  }
  const Leader led = leader(g_, change.root, all, vectors);
  std::string strides;
  if (led.kind == Leader::Kind::dense) strides = "dense";
  if (led.kind == Leader::Kind::root) strides = "root";
  const auto named = [&](const Leader& by) -> std::string {
    std::string out;
    for (const auto& [parameter, value] : read) {
      if (by.kind != Leader::Kind::value || value != by.value) continue;
      if (out.empty() || parameter == target->strides) out = parameter;
    }
    return out;
  };
  if (led.kind == Leader::Kind::value) strides = named(led);
  const std::string both = strides + "_" + named(next_leader(g_, change.root, all, vectors));
  if (takes(target, both)) strides = both;
  if (strides == "root" && !takes(target, strides)) strides = "dense";  // a sum of products
  if (strides == target->strides) return true;
  // What comes first has the result's shape; a table may lack axes, which others then order.
  auto own = read.find(target->strides);
  const bool both_dense = strides == "dense" &&
                          target->strides == target->parameters.front().name && own != read.end() &&
                          made_dense(g_, own->second);
  if (both_dense || !strides_matter(g_, change.root)) return true;
  if (takes(target, strides)) {
    add_strides(change, strides);
    return true;
  }
  return refuse_strides(site);
}

bool SitePlanner::refuse_strides(PlannedSite& site) {
  refuse(site, "no-counterpart",
         "the new call cannot give its result the strides that this one has, and a reader by "
         "`.view` would see others");
  return false;
}

bool SitePlanner::keeps_strides(const Operation& target,
                                const std::multimap<std::string, ValueId>& read, Change& change,
                                PlannedSite& site) const {
  std::vector<ValueId> all;
  for (const auto& [parameter, value] : read) all.push_back(value);
  const auto led_by = [&](const Leader& led, const std::string& parameter) {
    const auto own = read.find(parameter);
    return led.kind == Leader::Kind::value && own != read.end() && own->second == led.value;
  };
  std::istringstream words(target.strides);
  std::string told;
  for (const Change::Result& result : change.results) {
    std::string given;
    words >> given;
    const Leader led = leader(g_, result.value, all, {});
    const bool as_given = given == "dense" ? led.kind == Leader::Kind::dense : led_by(led, given);
    if (as_given || !strides_matter(g_, result.value)) continue;
    const auto asked = std::ranges::find_if(
        target.told_strides, [&](const std::string& name) { return led_by(led, name); });
    if (given != "dense" || asked == target.told_strides.end()) return refuse_strides(site);
    told = *asked;
  }
  if (!told.empty()) add_strides(change, told);
  return true;
}

// Of the transposes around the call, those that go were between the result and its readers.
void SitePlanner::tell_attention_strides(PlannedSite& site) {
  Change& change = site.change;
  const bool head_first = std::ranges::any_of(
      change.arguments, [](const NewArgument& a) { return a.keyword == "head_first"; });
  const std::optional<int> rank = rank_of(g_, change.root);
  if (rank && *rank != kAttentionRank) return;  // the runtime's result of another rank is dense
  const auto query = site.operands.find("query");
  const ValueId of = head_first && query != site.operands.end() ? query->second : kNone;
  if (of != kNone && made_dense(g_, of)) return;
  // Where the call gives places outside of heads without gaps, and the computation heads outside of
  // places, a regrouping into fewer axes gives one tensor: a copy of the one, a view of the other.
  const bool by_places =
      !head_first || (of != kNone && swapped_axes(g_, of, kAttentionRank) == std::pair(1, 2) &&
                      made_dense(g_, g_[of].operands[0]));
  if (!strides_matter(g_, change.root, by_places ? kAttentionRank : 0)) return;
  const Operation* target = catalogue_.find(change.callee);
  if (target != nullptr && !target->superset.empty()) target = catalogue_.find(target->superset);
  const std::string_view here = kTargetNames[static_cast<size_t>(planner_.options_.target)];
  if (takes(target, kByHeads) &&
      std::ranges::find(target->targets, here) != target->targets.end()) {
    change.callee = target->id;
    add_strides(change, kByHeads);
    return;
  }
  refuse(site, "no-counterpart",
         "a reader out of sight, or `.view`, may tell the strides of its result, and the published "
         "call gives others; use the result where it is made, by `.reshape`");
}

}  // namespace refit
