// Decoding a file into a Source and encoding new text back. Entry points: Source::decode,
// Source::encode.
#include "rewriter/text/source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "rewriter/text/byte_scan.hpp"
#include "rewriter/text/encoding.hpp"

namespace refit {
namespace {

constexpr std::string_view kBom = "\xef\xbb\xbf";

struct Lines {
  std::vector<uint32_t> starts{0};
  std::size_t lf = 0, crlf = 0, cr = 0;
  std::size_t first_cr = 0;  // the line that the first lone "\r" ends, from 1
};

// A form feed, a vertical tab or a Unicode separator is no line end to Python.
Lines split_lines(std::string_view text) {
  Lines lines;
  if (text.find('\r') == std::string_view::npos) {  // as nearly every file is
    lines.starts.reserve(text.size() / 32);
    each_of_bytes(text, "\n", [&](std::size_t at) {
      lines.starts.push_back(static_cast<uint32_t>(at + 1));
      return true;
    });
    lines.lf = lines.starts.size() - 1;
    return lines;
  }
  for (std::size_t at = text.find_first_of("\r\n"); at != std::string_view::npos;
       at = text.find_first_of("\r\n", at)) {
    const bool pair = text.substr(at, 2) == "\r\n";
    ++(pair ? lines.crlf : text[at] == '\n' ? lines.lf : lines.cr);
    if (lines.cr == 1 && lines.first_cr == 0) lines.first_cr = lines.starts.size();
    at += pair ? 2 : 1;
    lines.starts.push_back(static_cast<uint32_t>(at));
  }
  return lines;
}

std::size_t line_of(std::string_view bytes, std::size_t offset) {
  return split_lines(bytes.substr(0, offset)).starts.size();
}

Error invalid_byte(std::string_view bytes, std::size_t offset,
                   const std::optional<CodingCookie>& cookie) {
  const std::string what =
      cookie ? fmt::format("the coding cookie in line {} declares {}", cookie->line, cookie->name)
             : std::string("without a coding cookie the file must be UTF-8");
  return Error{fmt::format(
      "{}, but byte 0x{:02X} in line {} is not valid in it; save the file in that encoding or "
      "declare the right one in its first line (# -*- coding: NAME -*-)",
      what, static_cast<unsigned char>(bytes[offset]), line_of(bytes, offset))};
}

// The character at `offset` of valid UTF-8, as U+XXXX.
std::string code_point(std::string_view text, std::size_t offset) {
  const Conversion wide = convert(text.substr(offset, 4), "UTF-8", "UTF-32BE");
  uint32_t value = 0;
  for (std::size_t i = 0; i < 4 && i < wide.text.size(); ++i) {
    value = value << 8 | static_cast<unsigned char>(wide.text[i]);
  }
  return fmt::format("U+{:04X}", value);
}

}  // namespace

Expected<Source> Source::decode(std::string path, std::string bytes) {
  Source source;
  source.path_ = std::move(path);
  if (bytes.size() > std::numeric_limits<uint32_t>::max()) {
    return failure("the file is longer than 4 GiB, which no offset can address; exclude it");
  }
  std::string_view body = bytes;
  source.has_bom_ = body.starts_with(kBom);
  if (source.has_bom_) body.remove_prefix(kBom.size());

  if (const std::size_t nul = body.find('\0'); nul != std::string_view::npos) {
    return failure(fmt::format(
        "found a NUL byte in line {}; Python source cannot hold one (is this UTF-16, or not text "
        "at all?); save the file as UTF-8",
        line_of(body, nul)));
  }

  const std::optional<CodingCookie> cookie = find_coding_cookie(body);
  source.encoding_ = "UTF-8";
  if (cookie) {
    const Expected<std::string> known = iconv_name(cookie->name);
    if (!known) {
      return failure(
          fmt::format("the coding cookie in line {}: {}; name the encoding that the "
                      "file is in, or save it as UTF-8",
                      cookie->line, known.error().message));
    }
    source.encoding_ = *known;
  }
  if (source.has_bom_ && source.encoding_ != "UTF-8") {
    return failure(fmt::format(
        "the file begins with the byte order mark of UTF-8, but the coding cookie in line {} "
        "declares {}; remove one of the two",
        cookie->line, cookie->name));
  }

  if (source.encoding_ == "UTF-8") {
    if (const auto at = find_invalid_utf8(body)) {
      return tl::unexpected<Error>(invalid_byte(body, *at, cookie));
    }
    source.text_ = source.has_bom_ ? std::string(body) : std::move(bytes);
  } else {
    Conversion decoded = convert(body, source.encoding_, "UTF-8");
    if (decoded.invalid_at) {
      return tl::unexpected<Error>(invalid_byte(body, *decoded.invalid_at, cookie));
    }
    if (decoded.text.size() > std::numeric_limits<uint32_t>::max()) {
      return failure("the file is longer than 4 GiB in UTF-8; exclude it");
    }
    const Conversion again = convert(decoded.text, "UTF-8", source.encoding_);
    if (again.invalid_at || again.text != body) {
      return failure(fmt::format(
          "decoding the file from {} and encoding it again does not give the same bytes, so it "
          "cannot be edited safely; save it as UTF-8",
          cookie->name));
    }
    source.text_ = std::move(decoded.text);
  }

  // Python ends a line at a lone "\r" and the grammar does not: code behind a comment would be
  // taken for a part of it, and an import that it uses for unused.
  Lines lines = split_lines(source.text_);
  if (lines.cr > 0 && lines.lf + lines.crlf > 0) {
    return failure(fmt::format(
        "line {} ends in a carriage return alone and other lines end otherwise; give all lines of "
        "the file the same ending",
        lines.first_cr));
  }
  source.ends_lines_in_cr_ = lines.cr > 0;
  if (source.ends_lines_in_cr_) {
    std::replace(source.text_.begin(), source.text_.end(), '\r', '\n');
  }
  source.newline_ = lines.crlf > lines.lf ? "\r\n" : "\n";
  source.line_starts_ = std::move(lines.starts);
  return source;
}

Position Source::position(uint32_t offset) const {
  offset = std::min<uint32_t>(offset, static_cast<uint32_t>(text_.size()));
  const auto next = std::upper_bound(line_starts_.begin(), line_starts_.end(), offset);
  const uint32_t begin = *(next - 1);
  const std::string_view before = std::string_view(text_).substr(begin, offset - begin);
  // Code points are the bytes that do not continue one.
  const auto characters = std::count_if(before.begin(), before.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  });
  return {static_cast<uint32_t>(next - line_starts_.begin()),
          static_cast<uint32_t>(characters) + 1};
}

uint32_t Source::line_begin(uint32_t line) const {
  if (line == 0) return 0;
  if (line > line_starts_.size()) return static_cast<uint32_t>(text_.size());
  return line_starts_[line - 1];
}

Expected<std::string> Source::encode(std::string_view new_text) const {
  std::string bytes;
  if (has_bom_) bytes = kBom;
  std::string with_cr;
  if (ends_lines_in_cr_) {
    with_cr = new_text;
    std::replace(with_cr.begin(), with_cr.end(), '\n', '\r');
    new_text = with_cr;
  }
  if (encoding_ == "UTF-8") {
    if (const auto at = find_invalid_utf8(new_text)) {
      return failure(fmt::format("the new text is not valid UTF-8 at offset {}", *at));
    }
    bytes += new_text;
    return bytes;
  }
  const Conversion encoded = convert(new_text, "UTF-8", encoding_);
  if (encoded.invalid_at) {
    return failure(fmt::format(
        "the new text holds the character {} (line {}), which does not exist in the file's "
        "encoding, {}; save the file as UTF-8 first",
        code_point(new_text, *encoded.invalid_at), line_of(new_text, *encoded.invalid_at),
        encoding_));
  }
  bytes += encoded.text;
  return bytes;
}

}  // namespace refit
