// Checking the values of options. Entry points: report_of and the checks.
#include "rewriter/cli/option_checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>
#include <utility>

namespace refit {

std::optional<ReportOption> report_of(std::string_view value) {
  constexpr std::pair<std::string_view, ReportFormat> kFormats[] = {
      {"json:", ReportFormat::json},
      {"sarif:", ReportFormat::sarif},
      {"github:", ReportFormat::github},
  };
  for (const auto& [prefix, format] : kFormats) {
    if (!value.starts_with(prefix) || value.size() == prefix.size()) continue;
    return ReportOption{format, std::string(value.substr(prefix.size()))};
  }
  return std::nullopt;
}

std::string check_report(std::string& value) {
  if (report_of(value)) return {};
  return fmt::format(
      "expected json:FILE, sarif:FILE or github:FILE, with - for standard output, found '{}'",
      value);
}

std::string check_place(std::string& value) {
  uint32_t line = 0;
  const std::size_t colon = value.rfind(':');
  if (colon != std::string::npos && colon != 0) {
    const char* begin = value.data() + colon + 1;
    const char* end = value.data() + value.size();
    const auto [stop, error] = std::from_chars(begin, end, line);
    if (error == std::errc() && stop == end && line >= 1) return {};
  }
  return fmt::format("expected FILE:LINE with a line from 1, found '{}'", value);
}

std::string check_jobs(std::string& value) {
  unsigned number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error == std::errc() && end == value.data() + value.size() && number >= 1 && number <= 1024) {
    return {};
  }
  return fmt::format("expected a number of threads from 1 to 1024, found '{}'", value);
}

std::string check_define(std::string& value) {
  const std::string name = value.substr(0, value.find('='));
  const auto letter = [](unsigned char c) { return isalnum(c) != 0 || c == '_'; };
  const bool fits = !name.empty() && isdigit(static_cast<unsigned char>(name.front())) == 0 &&
                    std::ranges::all_of(name, letter) &&
                    value.find_first_of("\r\n") == std::string::npos;
  if (fits) return {};
  return fmt::format("expected NAME or NAME=VALUE on one line, found '{}'", value);
}

std::string check_inputs(std::string& value) {
  const std::size_t colon = value.rfind(':');
  if (colon != std::string::npos && colon + 1 < value.size() &&
      std::string_view(value).substr(0, colon).ends_with(".py")) {
    return {};
  }
  return fmt::format("expected FILE.py:FUNCTION, found '{}'", value);
}

std::string check_seconds(std::string& value) {
  double number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  const bool whole = error == std::errc() && end == value.data() + value.size();
  if (whole && std::isfinite(number) && number >= 1 && number <= 86400) return {};
  return fmt::format("expected seconds from 1 to 86400, found '{}'", value);
}

}  // namespace refit
