// Internal to the parser: what it reads. Tokens, the lexer's view of the text, as the grammar's
// generated lexer and its scanner ask for it, and the grammar's table of actions.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <tree_sitter/parser.h>

#include "rewriter/frontend/python/lr_parser.hpp"

extern "C" const TSLanguage* tree_sitter_python(void);

namespace refit::python {

// What the grammar's lexer and scanner read from.
struct Lexer : TSLexer {
  const char* begin = nullptr;
  const char* stop = nullptr;
  const char* at = nullptr;
  const char* token_begin = nullptr;
  const char* token_end = nullptr;
  uint32_t size = 0;  // of the character at `at`
  Folded folded;

  static Lexer& of(TSLexer* lexer) { return *static_cast<Lexer*>(lexer); }
  static const Lexer& of(const TSLexer* lexer) { return *static_cast<const Lexer*>(lexer); }

  Lexer(std::string_view text, Folded with)
      : TSLexer{}, begin(text.data()), stop(text.data() + text.size()), folded(with) {
    advance = [](TSLexer* lexer, bool skip) {
      Lexer& self = of(lexer);
      if (self.at == self.stop) return;
      self.at += self.size;
      if (skip) self.token_begin = self.at;
      self.look();
    };
    mark_end = [](TSLexer* lexer) { of(lexer).token_end = of(lexer).at; };
    get_column = [](TSLexer* lexer) {
      const Lexer& self = of(lexer);
      uint32_t column = 0;
      for (const char* c = self.at; c > self.begin && c[-1] != '\n'; --c) {
        column += (static_cast<uint8_t>(c[-1]) & 0xc0) != 0x80;
      }
      return column;
    };
    is_at_included_range_start = [](const TSLexer* lexer) {
      return of(lexer).at == of(lexer).begin;
    };
    eof = [](const TSLexer* lexer) { return of(lexer).at == of(lexer).stop; };
    log = say_nothing;
  }

  static void say_nothing(const TSLexer*, const char*, ...) {}

  void look() {
    if (at == stop) {
      lookahead = 0;
    } else if (const auto byte = static_cast<uint8_t>(*at); byte < 0x80 && *at != kFold) {
      lookahead = byte;
      size = 1;
    } else {
      size = decode(at, static_cast<size_t>(stop - at), folded, &lookahead);
    }
  }
  void start(const char* from) {
    at = token_begin = from;
    token_end = nullptr;
    result_symbol = 0;
    look();
  }
  void finish() {
    if (token_end == nullptr) token_end = at;
    token_begin = std::min(token_begin, token_end);
  }
};

// The parse table with a row of its own for every state, where the grammar's small states are lists
// to be searched.
class Table {
 public:
  explicit Table(const TSLanguage& language)
      : language_(language),
        width_(language.symbol_count),
        entries_(size_t{language.state_count} * width_) {
    read_lexer();
    for (uint32_t state = 0; state < language.state_count; ++state) {
      uint16_t* row = entries_.data() + state * width_;
      if (state < language.large_state_count) {
        std::copy_n(language.parse_table + state * width_, width_, row);
        continue;
      }
      const uint16_t* data = language.small_parse_table +
                             language.small_parse_table_map[state - language.large_state_count];
      for (uint16_t groups = *data++; groups > 0; --groups) {
        const uint16_t value = *data++;
        for (uint16_t count = *data++; count > 0; --count) row[*data++] = value;
      }
    }
  }

  uint16_t at(TSStateId state, TSSymbol symbol) const { return entries_[state * width_ + symbol]; }

  struct Actions {
    const TSParseActionEntry* first;
    uint32_t count;
    bool reusable;
  };
  Actions actions(TSStateId state, TSSymbol token) const {
    const TSParseActionEntry* entry = language_.parse_actions + at(state, token);
    return {entry + 1, entry->entry.count, entry->entry.reusable};
  }
  // What the generated lexer makes of the most frequent tokens, by its state: of a name of ASCII
  // characters, and of those of kMarks that are a token by themselves (0: none), if no character
  // follows that may belong to it.
  static constexpr std::string_view kMarks = "()[],.:=";
  struct Plain {
    TSSymbol name = 0;
    TSSymbol comment = 0;               // behind blanks and line ends, up to the next
    TSSymbol integer = 0;               // of digits alone, before what belongs to no number
    std::array<TSSymbol, 128> marks{};  // by character
  };
  const Plain& plain(uint32_t lex_state) const { return plain_[lex_state]; }
  // Whether a keyword may begin with these two characters.
  bool begins_keyword(char first, char second) const {
    const auto a = static_cast<uint8_t>(first), b = static_cast<uint8_t>(second);
    return a >= 128 || b >= 128 || keyword_begins_[a * size_t{128} + b];
  }
  // What the grammar's scanner may look for, by the state that it is told.
  struct Sought {
    bool in_string = false;  // what stands in a string or ends it
    bool content = false;    // the text of one, in a text without mistakes
    bool string_start = false;
    bool bracketed = false;  // no end of a line means anything
    // The same by what it is: the scanner's answers to the end of a line, and brackets around it.
    bool newline = false, indent = false, dedent = false, brackets = false;
  };
  const Sought& sought(uint32_t external_state) const { return sought_[external_state]; }

  // Where a token leads by its last action.
  TSStateId next(TSStateId state, TSSymbol token) const {
    const Actions found = actions(state, token);
    if (found.count == 0) return 0;
    const TSParseAction& last = found.first[found.count - 1].action;
    if (last.type != TSParseActionTypeShift) return 0;
    return last.shift.extra ? state : last.shift.state;
  }

 private:
  void read_lexer();

  const TSLanguage& language_;
  size_t width_;
  std::vector<uint16_t> entries_;
  std::vector<Plain> plain_;
  std::vector<bool> keyword_begins_;  // by two characters
  std::vector<Sought> sought_;
};

struct Token {
  uint32_t begin = 0, end = 0;
  TSSymbol symbol = 0;
  bool keyword = false;
  uint32_t scanner = 0;  // the scanner's state behind it
  bool external = false;
};

// The tokens of a text, by the state of the parser that asks. The grammar's scanner has a state of
// its own (indentation, open strings), which is known by a number.
class Tokens {
 public:
  Tokens(std::string_view text, Folded folded, const Table& table);
  ~Tokens() { language_.external_scanner.destroy(scanner_); }
  Tokens(const Tokens&) = delete;
  Tokens& operator=(const Tokens&) = delete;

  // The next token behind a place; false where there is none that the state can take.
  bool next(TSStateId state, uint32_t position, uint32_t scanner_state, Token& token);
  // Whether a word is a keyword in a state, whatever else it could be.
  bool reserved(TSStateId state, TSSymbol symbol) const;
  bool same_state(uint32_t a, uint32_t b) const {
    return a == b || scanner_states_[a] == scanner_states_[b];
  }

 private:
  // The same for what is told from a few characters; false where that takes the grammar's own. With
  // `over_lines` line ends before it are blanks.
  bool plain(const TSLexerMode& mode, TSStateId state, const char* from, bool over_lines,
             Token& token);
  // What the grammar's scanner says where a line ends, blank ones and comments follow and then code
  // in some column: one of its tokens, by its number, or nothing. In other places it is to be
  // asked.
  enum class LineEnd : uint8_t { newline, indent, dedent, nothing, ask };
  LineEnd line_end(const Table::Sought& sought, uint32_t scanner_state, const char* from,
                   std::ptrdiff_t& column) const;
  // The number of the scanner's state behind one of those tokens.
  uint32_t behind(LineEnd said, std::ptrdiff_t column, uint32_t scanner_state);
  uint32_t number_of(std::string_view state);
  // A comment that comes first behind blanks and line ends.
  bool comment(const TSLexerMode& mode, const char* from, Token& token) const;
  // Whether a word is a keyword, and where it must or can be one in a state, takes it for that.
  void note_keyword(TSStateId state, Token& token);
  // Of the text of a string the last character before one that may end it, change its meaning, or
  // is another scanner's business; `from` where that is the first.
  const char* string_text(uint32_t scanner_state, const char* from) const;
  // Whether brackets are open at a place. Counted on from the last place that was asked for.
  bool in_brackets(uint32_t position);
  void take(TSSymbol symbol, Token& token) const;
  bool note_scanner(uint32_t before);

  const TSLanguage& language_;
  const Table& table_;
  std::string_view text_;
  Lexer lexer_;
  void* scanner_;
  uint32_t scanner_now_ = 0;  // the state that the scanner is in
  bool always_set_ = false;
  uint32_t counted_to_ = 0;
  int32_t open_brackets_ = 0;
  std::vector<std::string> scanner_states_{""};
};

}  // namespace refit::python
