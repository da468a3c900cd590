// What values of options must look like. Entry points: report_of and the checks, which give CLI11
// what to say, or nothing where all is well.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "rewriter/cli/options.hpp"

namespace refit {

// "json:FILE" as data; nullopt where it is not that.
std::optional<ReportOption> report_of(std::string_view value);

std::string check_report(std::string& value);   // json:FILE, sarif:FILE, github:FILE
std::string check_place(std::string& value);    // FILE:LINE, the line from 1
std::string check_jobs(std::string& value);     // a number of threads
std::string check_define(std::string& value);   // NAME or NAME=VALUE
std::string check_inputs(std::string& value);   // FILE.py:FUNCTION
std::string check_seconds(std::string& value);  // a limit of time

}  // namespace refit
