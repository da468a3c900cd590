// What reports in SARIF share. Entry points: sarif_location, sarif_rules, sarif_text.
#include "rewriter/report/sarif_parts.hpp"

#include <utility>

#include "rewriter/text/file_uri.hpp"

namespace refit {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kSchema[] =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";
constexpr char kRoot[] = "ROOT";

}  // namespace

Json sarif_artifact(std::string_view file) {
  return {{"uri", uri_path(file)}, {"uriBaseId", kRoot}};
}

Json sarif_location(std::string_view file, Json region) {
  return {{"physicalLocation",
           {{"artifactLocation", sarif_artifact(file)}, {"region", std::move(region)}}}};
}

Json sarif_rules(const std::vector<std::string>& ids,
                 const std::map<std::string, std::string>& summaries) {
  Json rules = Json::array();
  for (const std::string& id : ids) {
    const auto summary = summaries.find(id);
    Json rule = {{"id", id}};
    if (summary != summaries.end()) rule["shortDescription"] = {{"text", summary->second}};
    rule["defaultConfiguration"] = {{"level", "warning"}};
    rules.push_back(rule);
  }
  return rules;
}

std::string sarif_text(const ReportContext& context, Json rules, bool successful,
                       Json notifications, Json results) {
  const Json run = {
      {"tool",
       {{"driver",
         {{"name", "refit"}, {"version", context.version}, {"rules", std::move(rules)}}}}},
      {"columnKind", "unicodeCodePoints"},
      {"originalUriBaseIds", {{kRoot, {{"uri", file_uri(context.root) + "/"}}}}},
      {"invocations",
       {{{"executionSuccessful", successful},
         {"toolExecutionNotifications", std::move(notifications)}}}},
      {"results", std::move(results)},
  };
  const Json report = {{"$schema", kSchema}, {"version", "2.1.0"}, {"runs", {run}}};
  return report.dump(2, ' ', true, Json::error_handler_t::replace) + "\n";
}

}  // namespace refit
