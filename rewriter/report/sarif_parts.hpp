// The parts of SARIF 2.1.0 that all reports have. Entry points: sarif_location, sarif_rules,
// sarif_text.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "rewriter/report/json.hpp"

namespace refit {

nlohmann::ordered_json sarif_artifact(std::string_view file);
nlohmann::ordered_json sarif_location(std::string_view file, nlohmann::ordered_json region);

// The descriptions of rules; `ids` are sorted.
nlohmann::ordered_json sarif_rules(const std::vector<std::string>& ids,
                                   const std::map<std::string, std::string>& summaries);

// The whole report: one run.
std::string sarif_text(const ReportContext& context, nlohmann::ordered_json rules, bool successful,
                       nlohmann::ordered_json notifications, nlohmann::ordered_json results);

}  // namespace refit
