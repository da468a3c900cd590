// Encodings of Python source: which one a file declares (PEP 263) and conversion through iconv(3).
// Entry points: declared_encoding, convert.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "rewriter/text/expected.hpp"

namespace refit {

struct CodingCookie {
  std::string name;  // as written
  int line = 0;      // 1 or 2
};

// The coding cookie of PEP 263 in the first two lines of `bytes` (without a byte order mark), if
// there is one; the second line counts only after a first that is blank or a comment.
std::optional<CodingCookie> find_coding_cookie(std::string_view bytes);

// iconv's name for an encoding by the name that Python knows it under. "UTF-8" for all spellings of
// that. Fails for a name nobody knows and for an encoding in which ASCII is not ASCII (UTF-16),
// which Python does not accept for source either.
Expected<std::string> iconv_name(std::string_view python_name);

struct Conversion {
  std::string text;
  std::optional<std::size_t> invalid_at;  // offset of the first input byte that did not convert
};

// Converts between two of iconv's encodings; stops at what is not valid in `from` or does not exist
// in `to`. Strict both ways: no replacement characters, no surrogates, no overlong forms.
Conversion convert(std::string_view bytes, const std::string& from, const std::string& to);

// Offset of the first byte that is not valid UTF-8, if there is one.
std::optional<std::size_t> find_invalid_utf8(std::string_view bytes);

}  // namespace refit
