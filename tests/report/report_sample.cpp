// Prints the JSON report of the sample result, or of an empty one when called with `empty`, for
// test_schema.py. Entry point: main.
#include <cstdio>
#include <string_view>

#include "rewriter/report/json.hpp"
#include "tests/report/samples.hpp"

int main(int argc, char** argv) {
  const bool empty = argc > 1 && std::string_view(argv[1]) == "empty";
  refit::ReportContext context;
  context.version = "0.1.0";
  context.root = "/tree";
  if (!empty) {
    context.target = refit::Target::ascend;
    context.assume = {"no-overflow"};
    context.written = {"pkg/a.py"};
  }
  const std::string text = to_json(empty ? refit::RunResult() : refit::sample_result(), context);
  return std::fputs(text.c_str(), stdout) < 0 ? 1 : 0;
}
