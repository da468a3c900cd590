// A text that a client has open, and places in it as the protocol counts them: lines from 0, and in
// a line units of UTF-16 or of UTF-8. Entry point: Document.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rewriter/lsp/json_rpc.hpp"

namespace refit::lsp {

enum class Units { utf16, utf8 };

class Document {
 public:
  Document(std::string text, Units units);

  const std::string& text() const { return text_; }
  std::size_t line_count() const { return begins_.size(); }
  // Of a line from 0, without its end; empty where there is no such line.
  std::string_view line(std::size_t number) const;
  std::size_t line_begin(std::size_t number) const;  // the end of the text behind the last line

  // Of a place of the protocol; one behind a line's end is that end, one behind the text its end.
  // Nothing where it is no place.
  std::optional<std::size_t> offset(const Json& position) const;
  // Of a line from 1 and a column from 1 in characters, as findings have them.
  std::size_t offset(uint32_t line, uint32_t column) const;
  Json position(std::size_t offset) const;
  Json range(std::size_t begin, std::size_t end) const;

  // Applies an entry of `contentChanges`; false, and nothing done, where it makes no sense.
  bool change(const Json& change);

 private:
  void set(std::string text);

  std::string text_;
  Units units_;
  std::vector<std::size_t> begins_;  // of lines
};

}  // namespace refit::lsp
