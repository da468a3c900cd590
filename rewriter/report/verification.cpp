// The table and the JSON report of `refit verify`. Entry points: verification_text,
// verification_summary, verification_json.
#include "rewriter/report/verification.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>

#include "rewriter/plan/fingerprint.hpp"
#include "rewriter/text/count.hpp"
#include "rewriter/text/printable.hpp"

namespace refit {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kSchema = 1;
constexpr std::size_t kColumns = 6;

// The kind of inputs whose errors the table shows: the first, which is the widest type.
std::array<std::string, 2> errors_of(const VerifiedFunction& function) {
  if (function.errors.empty()) return {"", ""};
  const VerifiedErrors& first = function.errors.front();
  return {fmt::format("{:.1e}", first.original.largest),
          fmt::format("{:.1e}", first.migrated.largest)};
}

std::string_view colour_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::agrees:
      return "32";
    case Verdict::differs:
      return "31";
    case Verdict::not_run:
      break;
  }
  return "33";
}

std::string_view words_of(Verdict verdict) {
  return verdict == Verdict::not_run  ? "not run"
         : verdict == Verdict::agrees ? "agrees"
                                      : "differs";
}

// What a reader needs to know below a function's row.
std::string remarks(const VerifiedFunction& function) {
  std::string text;
  const auto add = [&](const std::string& line) {
    text += fmt::format("    {}\n", printable(line, Breaks::escaped));
  };
  if (!function.reason.empty()) add(function.reason);
  if (function.verdict == Verdict::differs) {
    if (!function.shown.empty()) add("for example with " + function.shown);
    for (const VerifiedSite& site : function.sites) {
      if (site.finding->assumes.empty()) continue;
      add(fmt::format("line {} assumes {}", site.finding->line,
                      fmt::join(site.finding->assumes, "; ")));
    }
  }
  if (function.verdict == Verdict::agrees) {
    for (const VerifiedSite& site : function.sites) {
      if (site.verdict == Verdict::agrees) continue;
      add(fmt::format("line {} was not run: {}", site.finding->line, site.reason));
    }
  }
  if (!function.placeholders.empty()) {
    add(fmt::format("with placeholders for {}, not installed",
                    fmt::join(function.placeholders, ", ")));
  }
  return text;
}

Json json_of(const VerifiedErrors::Error& error) {
  return {{"largest", error.largest}, {"root_mean_square", error.root_mean_square}};
}

Json json_of(const VerifiedFunction& function) {
  Json errors = Json::array();
  for (const VerifiedErrors& one : function.errors) {
    errors.push_back({{"inputs", one.inputs},
                      {"type", one.type},
                      {"original", json_of(one.original)},
                      {"migrated", json_of(one.migrated)}});
  }
  Json sites = Json::array();
  for (const VerifiedSite& site : function.sites) {
    sites.push_back({{"fingerprint", fingerprint(*site.finding)},
                     {"rule", site.finding->rule},
                     {"line", site.finding->line},
                     {"assumes", site.finding->assumes},
                     {"verdict", to_string(site.verdict)},
                     {"reason", site.reason}});
  }
  return {{"file", printable_name(function.file)},
          {"line", function.line},
          {"function", function.function},
          {"verdict", to_string(function.verdict)},
          {"reason", function.reason},
          {"inputs", function.inputs},
          {"given", function.given},
          {"example", function.shown},
          {"errors", errors},
          {"placeholders", function.placeholders},
          {"sites", sites}};
}

template <typename Count>
Json counts_of(const Count& count) {
  return {{"agrees", count(Verdict::agrees)},
          {"differs", count(Verdict::differs)},
          {"not_run", count(Verdict::not_run)}};
}

}  // namespace

uint64_t Verification::count(Verdict verdict) const {
  return static_cast<uint64_t>(std::ranges::count(functions, verdict, &VerifiedFunction::verdict));
}

uint64_t Verification::count_sites(Verdict verdict) const {
  uint64_t found = 0;
  for (const VerifiedFunction& function : functions) {
    found +=
        static_cast<uint64_t>(std::ranges::count(function.sites, verdict, &VerifiedSite::verdict));
  }
  return found;
}

std::string to_string(Verdict verdict) {
  return verdict == Verdict::not_run ? "not_run" : std::string(words_of(verdict));
}

std::string verification_text(const Verification& verification, bool colour) {
  if (verification.functions.empty()) return "";
  std::vector<std::array<std::string, kColumns>> rows{
      {"verdict", "inputs", "original's error", "migrated", "place", "function"}};
  for (const VerifiedFunction& function : verification.functions) {
    const auto [was, now] = errors_of(function);
    rows.push_back({std::string(words_of(function.verdict)), fmt::format("{}", function.inputs),
                    was, now,
                    fmt::format("{}:{}", printable(function.file, Breaks::escaped), function.line),
                    printable(function.function)});
  }
  std::array<std::size_t, kColumns> widths{};
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < kColumns; ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const auto& row = rows[r];
    std::string verdict = fmt::format("{:<{}}", row[0], widths[0]);
    if (colour && r > 0) {
      verdict = fmt::format("\x1b[{}m{}\x1b[m", colour_of(verification.functions[r - 1].verdict),
                            verdict);
    }
    text += fmt::format("{}  {:>{}}  {:>{}}  {:>{}}  {:<{}}  {}\n", verdict, row[1], widths[1],
                        row[2], widths[2], row[3], widths[3], row[4], widths[4], row[5]);
    if (r > 0) text += remarks(verification.functions[r - 1]);
  }
  return text;
}

std::string verification_summary(const Verification& verification) {
  const auto counted = [](uint64_t agree, uint64_t differ, uint64_t not_run) {
    return fmt::format("{} {}, {} {}, {} not run", agree, agree == 1 ? "agrees" : "agree", differ,
                       differ == 1 ? "differs" : "differ", not_run);
  };
  const auto count = [&](Verdict verdict) { return verification.count(verdict); };
  const auto sites = [&](Verdict verdict) { return verification.count_sites(verdict); };
  const uint64_t all = sites(Verdict::agrees) + sites(Verdict::differs) + sites(Verdict::not_run);
  return fmt::format(
      "{}: {}; {} in them: {}\n", count_of(verification.functions.size(), "changed function"),
      counted(count(Verdict::agrees), count(Verdict::differs), count(Verdict::not_run)),
      count_of(all, "site"),
      counted(sites(Verdict::agrees), sites(Verdict::differs), sites(Verdict::not_run)));
}

std::string verification_json(const Verification& verification, const ReportContext& context) {
  Json functions = Json::array();
  for (const VerifiedFunction& function : verification.functions) {
    functions.push_back(json_of(function));
  }
  const Json report = {
      {"schema", kSchema},
      {"tool", {{"name", "refit"}, {"version", context.version}}},
      {"target", to_string(context.target)},
      {"root", printable_name(context.root)},
      {"original", verification.original},
      {"summary",
       {{"functions", counts_of([&](Verdict v) { return verification.count(v); })},
        {"sites", counts_of([&](Verdict v) { return verification.count_sites(v); })}}},
      {"functions", functions},
      {"notes", verification.notes},
  };
  return report.dump(2, ' ', true, Json::error_handler_t::replace) + "\n";
}

}  // namespace refit
