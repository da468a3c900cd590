// Writing the SARIF report. Entry point: to_sarif.
#include "rewriter/report/sarif.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "rewriter/plan/fingerprint.hpp"
#include "rewriter/report/sarif_parts.hpp"

namespace refit {
namespace {

using Json = nlohmann::ordered_json;

std::string message_of(const Finding& finding) {
  if (finding.outcome == Outcome::refused) {
    return fmt::format("{}: {}", finding.code, finding.message);
  }
  if (finding.through) return fmt::format("rewritten through {}", *finding.through);
  std::string text = fmt::format("becomes {}", finding.after);
  if (finding.assumes.empty()) return text;
  return fmt::format("{} (assumes {})", text, fmt::join(finding.assumes, "; "));
}

Json fix_of(const Finding& finding) {
  Json replacements = Json::array();
  for (const SiteEdit& edit : finding.edits) {
    replacements.push_back({{"deletedRegion",
                             {{"startLine", edit.line},
                              {"startColumn", edit.column},
                              {"endLine", edit.end_line},
                              {"endColumn", edit.end_column}}},
                            {"insertedContent", {{"text", edit.text}}}});
  }
  return {{"description", {{"text", "Rewrite this site"}}},
          {"artifactChanges",
           {{{"artifactLocation", sarif_artifact(finding.file)}, {"replacements", replacements}}}}};
}

Json result_of(const Finding& finding, std::size_t rule) {
  const bool refused = finding.outcome == Outcome::refused;
  Json place = sarif_location(finding.file, {{"startLine", finding.line},
                                             {"startColumn", finding.column},
                                             {"endLine", finding.end_line}});
  if (!finding.function.empty()) {
    place["logicalLocations"] = {{{"fullyQualifiedName", finding.function}}};
  }
  Json properties = {{"outcome", to_string(finding.outcome)}, {"callee", finding.callee}};
  if (refused) properties["code"] = finding.code;
  if (!finding.clause.empty()) properties["clause"] = finding.clause;
  if (!finding.assumes.empty()) properties["assumes"] = finding.assumes;
  Json result = {{"ruleId", finding.rule},
                 {"ruleIndex", rule},
                 {"level", refused ? "note" : "warning"},
                 {"message", {{"text", message_of(finding)}}},
                 {"locations", {place}},
                 {"partialFingerprints", {{"refitSite/v1", fingerprint(finding)}}}};
  if (!finding.edits.empty()) result["fixes"] = {fix_of(finding)};
  result["properties"] = properties;
  return result;
}

Json notifications(const RunResult& result) {
  Json all = Json::array();
  for (const Problem& problem : result.problems) {
    all.push_back(
        {{"level", "error"},
         {"message", {{"text", to_string(problem.kind) + ": " + problem.message}}},
         {"locations",
          {{{"physicalLocation", {{"artifactLocation", sarif_artifact(problem.file)}}}}}}});
  }
  for (const std::string& note : result.notes) {
    all.push_back({{"level", "note"}, {"message", {{"text", note}}}});
  }
  return all;
}

}  // namespace

std::string to_sarif(const RunResult& result, const ReportContext& context,
                     const std::map<std::string, std::string>& summaries) {
  std::vector<std::string> ids;
  for (const Finding& finding : result.findings) ids.push_back(finding.rule);
  std::ranges::sort(ids);
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  Json results = Json::array();
  for (const Finding& finding : result.findings) {
    const auto rule = std::ranges::lower_bound(ids, finding.rule);
    results.push_back(result_of(finding, static_cast<std::size_t>(rule - ids.begin())));
  }
  return sarif_text(context, sarif_rules(ids, summaries), result.problems.empty(),
                    notifications(result), std::move(results));
}

}  // namespace refit
