// Writing the JSON report. Entry point: to_json.
#include "rewriter/report/json.hpp"

#include <llvm/Support/JSON.h>

#include <nlohmann/json.hpp>

#include "rewriter/plan/fingerprint.hpp"
#include "rewriter/report/summary.hpp"
#include "rewriter/report/text.hpp"

namespace refit {
namespace {

// Keys keep the order in which they are written here, which is the order a person reads them in.
using Json = nlohmann::ordered_json;

constexpr int kSchema = 1;

template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json names(const std::vector<std::string>& files) {
  Json list = Json::array();
  for (const std::string& file : files) list.push_back(printable_name(file));
  return list;
}

Json edits_of(const Finding& finding) {
  Json edits = Json::array();
  for (const SiteEdit& edit : finding.edits) {
    edits.push_back({{"line", edit.line},
                     {"column", edit.column},
                     {"end_line", edit.end_line},
                     {"end_column", edit.end_column},
                     {"text", edit.text}});
  }
  return edits;
}

Json site(const Finding& finding) {
  return {
      {"file", printable_name(finding.file)},
      {"line", finding.line},
      {"column", finding.column},
      {"end_line", finding.end_line},
      {"rule", finding.rule},
      {"callee", finding.callee},
      {"outcome", to_string(finding.outcome)},
      {"through", or_null(finding.through)},
      {"assumes", finding.assumes},
      {"code", finding.code},
      {"message", finding.message},
      {"clause", finding.clause},
      {"before", finding.before},
      {"after", finding.after},
      {"absorbed", or_null(finding.absorbed)},
      {"layout_kept", finding.layout_kept},
      {"function", finding.function},
      {"fingerprint", fingerprint(finding)},
      {"edits", edits_of(finding)},
  };
}

Json counts(const RuleSummary& rule) {
  Json by_code = Json::object();
  for (const auto& [code, count] : rule.refused_by_code) by_code[code] = count;
  Json json = Json::object();
  if (!rule.rule.empty()) json["rule"] = rule.rule;
  json["found"] = rule.found;
  json["rewritten"] = rule.rewritten;
  json["assumed"] = rule.assumed;
  json["through"] = rule.through;
  json["refused"] = rule.refused;
  json["refused_by_code"] = by_code;
  json["transposes_absorbed"] = rule.transposes_absorbed;
  json["transposes_kept"] = rule.transposes_kept;
  return json;
}

}  // namespace

std::string printable_name(const std::string& file) {
  return llvm::json::isUTF8(file) ? file : printable(file, Breaks::escaped);
}

std::string to_string(Target target) { return target == Target::cuda ? "cuda" : "ascend"; }

std::string to_string(Outcome outcome) {
  return outcome == Outcome::rewritten ? "rewritten" : "refused";
}

std::string to_string(FileProblem problem) {
  switch (problem) {
    case FileProblem::unreadable:
      return "unreadable";
    case FileProblem::undecodable:
      return "undecodable";
    case FileProblem::too_large:
      return "too-large";
    case FileProblem::syntax:
      return "syntax";
    case FileProblem::withheld:
      return "withheld";
    case FileProblem::unwritable:
      return "unwritable";
  }
  return "unreadable";
}

std::string to_json(const RunResult& result, const ReportContext& context) {
  const std::vector<RuleSummary> rules = summarise(result.findings);
  Json by_rule = Json::array();
  for (const RuleSummary& rule : rules) by_rule.push_back(counts(rule));
  Json changed = Json::array();
  for (const FileResult& file : result.changed) changed.push_back(printable_name(file.file));
  Json problems = Json::array();
  for (const Problem& problem : result.problems) {
    problems.push_back({{"kind", to_string(problem.kind)},
                        {"file", printable_name(problem.file)},
                        {"message", problem.message}});
  }
  Json sites = Json::array();
  for (const Finding& finding : result.findings) {
    sites.push_back(site(finding));
    if (const auto run = context.verdicts.find(&finding); run != context.verdicts.end()) {
      sites.back()["verdict"] = run->second.verdict;
      sites.back()["verdict_reason"] = run->second.reason;
    }
  }

  const Json report = {
      {"schema", kSchema},
      {"tool", {{"name", "refit"}, {"version", context.version}}},
      {"target", to_string(context.target)},
      {"strict", context.strict},
      {"assume", context.assume},
      {"root", printable_name(context.root)},
      {"files",
       {{"seen", result.files_seen},
        {"scanned", result.files_scanned},
        {"parsed", result.files_parsed},
        {"lowered_functions", result.functions_lowered},
        {"changed", changed},
        {"written", names(context.written)}}},
      {"summary", {{"total", counts(total(rules))}, {"rules", by_rule}}},
      {"sites", sites},
      {"problems", problems},
      {"notes", result.notes},
  };
  // Beyond ASCII all is escaped, for the report may be shown on a terminal too. Replacing what is
  // not UTF-8 is what keeps dump() from throwing.
  return report.dump(2, ' ', true, Json::error_handler_t::replace) + "\n";
}

}  // namespace refit
