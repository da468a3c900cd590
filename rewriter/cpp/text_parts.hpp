// Lines of a text and the blanks around its parts.
#pragma once

#include <cstdint>
#include <string_view>

#include "rewriter/text/source.hpp"

namespace refit::cpp {

// The line that holds a place, its end included.
inline ByteRange line_of(std::string_view text, uint32_t at) {
  size_t begin = at == 0 ? std::string_view::npos : text.rfind('\n', at - 1);
  begin = begin == std::string_view::npos ? 0 : begin + 1;
  size_t end = text.find('\n', at);
  end = end == std::string_view::npos ? text.size() : end + 1;
  return {static_cast<uint32_t>(begin), static_cast<uint32_t>(end)};
}

inline std::string_view indentation(std::string_view text, uint32_t at) {
  ByteRange line = line_of(text, at);
  size_t end = line.begin;
  while (end < text.size() && (text[end] == ' ' || text[end] == '\t')) ++end;
  return text.substr(line.begin, end - line.begin);
}

inline std::string_view trimmed(std::string_view s) {
  size_t begin = s.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return "";
  return s.substr(begin, s.find_last_not_of(" \t\r\n") + 1 - begin);
}

}  // namespace refit::cpp
