#include "rewriter/text/file_uri.hpp"

#include <fmt/format.h>

#include <charconv>

namespace refit {

std::string uri_path(std::string_view path) {
  constexpr std::string_view kUnreserved =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/";
  std::string out;
  for (const char c : path) {
    if (kUnreserved.find(c) != std::string_view::npos) {
      out += c;
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

std::string file_uri(std::string_view path) { return "file://" + uri_path(path); }

std::optional<std::string> path_of_uri(std::string_view uri) {
  constexpr std::string_view kScheme = "file://", kLocal = "localhost";
  if (!uri.starts_with(kScheme)) return std::nullopt;
  uri.remove_prefix(kScheme.size());
  if (uri.starts_with(kLocal)) uri.remove_prefix(kLocal.size());
  if (!uri.starts_with('/')) return std::nullopt;
  std::string path;
  for (std::size_t at = 0; at < uri.size(); ++at) {
    if (uri[at] == '?' || uri[at] == '#') return std::nullopt;
    if (uri[at] != '%') {
      path += uri[at];
      continue;
    }
    unsigned byte = 0;
    const std::string_view digits = uri.substr(at + 1, 2);
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), byte, 16);
    const bool whole = digits.size() == 2 && end == digits.data() + 2 && error == std::errc();
    if (!whole || byte == 0) return std::nullopt;
    path += static_cast<char>(byte);
    at += 2;
  }
  return path;
}

}  // namespace refit
