// The SARIF report of `refit verify`. Entry point: verification_sarif.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "rewriter/plan/fingerprint.hpp"
#include "rewriter/report/sarif_parts.hpp"
#include "rewriter/report/verification.hpp"

namespace refit {
namespace {

using Json = nlohmann::ordered_json;

// The id of what is found in a function without a site: someone changed it by hand.
constexpr char kChanged[] = "changed-function";

// Only a failure may have a level (SARIF 3.27.9).
Json result_for(Verdict verdict) {
  switch (verdict) {
    case Verdict::agrees:
      return {{"kind", "pass"}, {"level", "none"}};
    case Verdict::differs:
      return {{"kind", "fail"}, {"level", "error"}};
    case Verdict::not_run:
      break;
  }
  return {{"kind", "open"}, {"level", "none"}};
}

std::string message_of(const VerifiedFunction& function, Verdict verdict,
                       const std::string& reason) {
  switch (verdict) {
    case Verdict::agrees:
      return fmt::format("{} computes what it did", function.function);
    case Verdict::differs:
      return fmt::format("{} computes something else: {}", function.function, reason);
    case Verdict::not_run:
      break;
  }
  return fmt::format("{} was not run: {}", function.function, reason);
}

}  // namespace

std::string verification_sarif(const Verification& verification, const ReportContext& context,
                               const std::map<std::string, std::string>& summaries) {
  std::vector<std::string> ids{kChanged};
  for (const VerifiedFunction& function : verification.functions) {
    for (const VerifiedSite& site : function.sites) ids.push_back(site.finding->rule);
  }
  std::ranges::sort(ids);
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  std::map<std::string, std::string> described = summaries;
  described.emplace(kChanged, "A function that differs from the original and holds no site");
  Json results = Json::array();
  const auto add = [&](const VerifiedFunction& function, const std::string& rule, Json region,
                       Verdict verdict, const std::string& reason) -> Json& {
    Json result = result_for(verdict);
    result["ruleId"] = rule;
    result["ruleIndex"] = std::ranges::lower_bound(ids, rule) - ids.begin();
    result["message"] = {{"text", message_of(function, verdict, reason)}};
    Json place = sarif_location(function.file, std::move(region));
    place["logicalLocations"] = {{{"fullyQualifiedName", function.function}}};
    result["locations"] = {place};
    results.push_back(std::move(result));
    return results.back();
  };
  for (const VerifiedFunction& function : verification.functions) {
    const Json whole = {{"startLine", function.line}};
    if (function.sites.empty()) add(function, kChanged, whole, function.verdict, function.reason);
    for (const VerifiedSite& site : function.sites) {
      const Json region = {{"startLine", site.finding->line}, {"endLine", site.finding->end_line}};
      Json& result = add(function, site.finding->rule, verification.original_lies ? region : whole,
                         site.verdict, site.reason);
      result["partialFingerprints"] = {{"refitSite/v1", fingerprint(*site.finding)}};
    }
  }
  Json notes = Json::array();
  for (const std::string& note : verification.notes) {
    notes.push_back({{"level", "note"}, {"message", {{"text", note}}}});
  }
  return sarif_text(context, sarif_rules(ids, described), true, std::move(notes),
                    std::move(results));
}

}  // namespace refit
