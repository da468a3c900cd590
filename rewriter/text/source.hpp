// A source file in memory: its bytes, what they are encoded in, and the UTF-8 text that the front
// ends read. Offsets everywhere in the rewriter are byte offsets into `text()`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rewriter/text/expected.hpp"

namespace refit {

struct ByteRange {
  uint32_t begin = 0;
  uint32_t end = 0;  // one past the last byte
  uint32_t size() const { return end - begin; }
  bool contains(ByteRange other) const { return begin <= other.begin && other.end <= end; }
  bool overlaps(ByteRange other) const { return begin < other.end && other.begin < end; }
  friend bool operator==(const ByteRange&, const ByteRange&) = default;
};

struct Position {
  uint32_t line = 1;    // 1-based
  uint32_t column = 1;  // 1-based, in characters (code points)
};

class Source {
 public:
  // Decodes a file's bytes. A byte order mark is kept apart; a PEP 263 coding cookie in the first
  // two lines names the encoding (UTF-8 without one). A file whose every line ends in a lone "\r"
  // has "\n" in text(), which encode() turns back. Fails where the bytes are not valid in that
  // encoding, the encoding is unknown, decoding and encoding again does not give the same bytes, or
  // a lone "\r" stands beside other line ends.
  static Expected<Source> decode(std::string path, std::string bytes);

  const std::string& path() const { return path_; }
  std::string_view text() const { return text_; }
  std::string_view slice(ByteRange range) const {
    return std::string_view(text_).substr(range.begin, range.size());
  }
  // The line ending of most lines of text(): "\n" or "\r\n"; "\n" for a file of one line.
  std::string_view newline() const { return newline_; }
  Position position(uint32_t offset) const;
  uint32_t line_begin(uint32_t line) const;  // offset of a 1-based line's first byte
  // Every line end begins a line, so a text that ends in one has an empty last line, as in editors.
  uint32_t line_count() const { return static_cast<uint32_t>(line_starts_.size()); }

  // New text in this file's encoding, byte order mark and all. Fails where a character of the new
  // text does not exist in that encoding.
  Expected<std::string> encode(std::string_view new_text) const;

 private:
  std::string path_;
  std::string text_;
  std::string encoding_;  // canonical name for iconv; "UTF-8" needs no conversion
  bool has_bom_ = false;
  bool ends_lines_in_cr_ = false;
  std::string newline_ = "\n";
  std::vector<uint32_t> line_starts_;
};

}  // namespace refit
