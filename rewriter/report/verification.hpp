// What `refit verify` found out about functions, and how it is told: as a table, as JSON (its form
// is verification.schema.json beside this file) and as SARIF. Entry points: verification_text,
// verification_json, verification_sarif.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "rewriter/plan/finding.hpp"
#include "rewriter/report/json.hpp"

namespace refit {

enum class Verdict { agrees, differs, not_run };

// The errors of both versions against the original's run in float64, relative to the size of the
// result.
struct VerifiedErrors {
  std::string inputs;  // the kind of inputs, by their type
  std::string type;    // of the result
  struct Error {
    double largest = 0, root_mean_square = 0;
  } original, migrated;
};

struct VerifiedSite {
  const Finding* finding = nullptr;
  Verdict verdict = Verdict::not_run;
  std::string reason;  // of all but `agrees`
};

struct VerifiedFunction {
  std::string file, function;  // relative to the root; qualified by its module
  uint32_t line = 0;           // in the file as it lies there
  Verdict verdict = Verdict::not_run;
  std::string reason;  // of all but `agrees`
  bool given = false;  // the inputs are the user's
  uint64_t inputs = 0;
  std::string shown;  // one of the inputs
  std::vector<VerifiedErrors> errors;
  std::vector<std::string> placeholders;  // packages that are not installed
  std::vector<VerifiedSite> sites;
};

struct Verification {
  std::string original;                     // where the original texts are from, for a reader
  bool original_lies = true;                // as the files; else the migrated texts do
  std::vector<VerifiedFunction> functions;  // by file and line
  std::vector<std::string> notes;           // one sentence each

  uint64_t count(Verdict verdict) const;
  uint64_t count_sites(Verdict verdict) const;
};

std::string to_string(Verdict verdict);

// A row for each function, and a line with the reason below it where there is one.
std::string verification_text(const Verification& verification, bool colour);
// How many functions and sites there are of each verdict.
std::string verification_summary(const Verification& verification);

std::string verification_json(const Verification& verification, const ReportContext& context);

// One result a site, and one for a function without any: a failure where it differs, open where it
// was not run. `summaries` as of to_sarif.
std::string verification_sarif(const Verification& verification, const ReportContext& context,
                               const std::map<std::string, std::string>& summaries);

}  // namespace refit
