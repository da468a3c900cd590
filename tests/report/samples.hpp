// Hand-made results with every kind of finding, problem and awkward text, for the tests of the
// reporters and of the command line. Entry point: sample_result.
#pragma once

#include "rewriter/plan/finding.hpp"

namespace refit {

inline Finding sample_site(std::string file, uint32_t line, std::string rule) {
  Finding finding;
  finding.file = std::move(file);
  finding.line = line;
  finding.column = 12;
  finding.end_line = line;
  finding.rule = std::move(rule);
  finding.callee = "torch.nn.functional.scaled_dot_product_attention";
  finding.outcome = Outcome::rewritten;
  finding.before = "F.scaled_dot_product_attention(q, k, v)";
  finding.after = "mindiesd.attention_forward(q, k, v)";
  finding.absorbed = true;
  finding.transposes_absorbed = 4;
  return finding;
}

inline RunResult sample_result() {
  RunResult result;
  result.findings.push_back(sample_site("pkg/a.py", 3, "sdpa"));

  Finding assumed = sample_site("pkg/a.py", 9, "sdpa");
  assumed.assumes = {"dropout_p == 0 at inference", "parallel_config is None"};
  assumed.absorbed = false;
  assumed.transposes_absorbed = 0;
  result.findings.push_back(assumed);

  for (uint32_t line : {20u, 21u}) {
    Finding through = sample_site("pkg/b.py", line, "rotary");
    through.callee = "pkg.a.apply_rope";
    through.through = "pkg/a.py:30";
    through.after = "";
    through.absorbed = std::nullopt;
    through.transposes_absorbed = 0;
    result.findings.push_back(through);
  }

  const auto refuse = [&](std::string file, uint32_t line, std::string code, std::string message) {
    Finding refused = sample_site(std::move(file), line, "sdpa");
    refused.outcome = Outcome::refused;
    refused.code = std::move(code);
    refused.message = std::move(message);
    refused.after = "";
    refused.absorbed = std::nullopt;
    refused.transposes_absorbed = 0;
    result.findings.push_back(refused);
  };
  refuse("pkg/b.py", 40, "rank-unknown", "the rank of query is not shown; annotate it");
  refuse("pkg/b.py", 50, "splatted-arguments", "**kwargs hides\nthe arguments");
  refuse("pkg/b.py", 60, "rank-unknown", "the rank of query is not shown; annotate it");
  refuse("pkg/caf\xc3\xa9 \x1b[31m.py", 1, "rank-unknown", "a name with an escape in it");

  result.changed.push_back({"pkg/a.py", "old\n", "new\n"});
  result.problems.push_back({FileProblem::undecodable, "pkg/latin\xe9.py", "byte 0xE9 in line 2"});
  result.problems.push_back({FileProblem::syntax, "pkg/py2.py", "line 3: does not parse"});
  result.problems.push_back({FileProblem::withheld, "pkg/c.py", "a second run would change it"});
  result.notes.push_back("pkg/train.py: trains what is migrated (training-code)");
  result.files_seen = 12;
  result.files_scanned = 11;
  result.files_parsed = 5;
  result.functions_lowered = 21;
  return result;
}

}  // namespace refit
