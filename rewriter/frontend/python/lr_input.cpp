// Tokens as tree-sitter's lexer finds them: the grammar's scanner is asked first, then its lexer,
// and a name may be a keyword. See lr_input.hpp.
#include "rewriter/frontend/python/lr_input.hpp"

#include <cstring>

#include "rewriter/frontend/python/lines.hpp"

namespace refit::python {

namespace {

constexpr size_t kFewScannerBytes = 250, kRecentStates = 64;
constexpr std::ptrdiff_t kWideIndentation = 32;  // of which each may be eight columns

// What the grammar's scanner can find, by the numbers that it and the grammar know them by, and how
// it writes down the quotes of an open string.
constexpr size_t kNewline = 0, kIndent = 1, kDedent = 2, kStringStart = 3, kStringContent = 4,
                 kEscape = 5, kCloseParen = 8, kCloseBracket = 9, kCloseBrace = 10;
constexpr uint8_t kSingleQuote = 1, kDoubleQuote = 2, kFormat = 16, kTriple = 32;

enum class Char : uint8_t { other, blank, line_end, letter, digit, mark };

constexpr std::array<Char, 256> kChars = [] {
  std::array<Char, 256> out{};
  for (const char c : std::string_view("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_")) {
    out[static_cast<uint8_t>(c)] = Char::letter;
  }
  for (const char c : std::string_view("0123456789")) out[static_cast<uint8_t>(c)] = Char::digit;
  out[' '] = out['\t'] = Char::blank;
  out['\n'] = out['\r'] = out['\f'] = Char::line_end;
  for (const char c : Table::kMarks) out[static_cast<uint8_t>(c)] = Char::mark;
  return out;
}();

Char char_of(char c) { return kChars[static_cast<uint8_t>(c)]; }

bool ends_name(char c) {
  const Char kind = char_of(c);
  return kind != Char::letter && kind != Char::digit && static_cast<uint8_t>(c) < 0x80 &&
         c != kFold;
}

// Letters that may stand before a string.
bool string_prefix(char c) {
  return std::string_view("fFrRbBuU").find(c) != std::string_view::npos;
}
bool quote(char c) { return c == '\'' || c == '"' || c == '`'; }

}  // namespace

void Table::read_lexer() {
  uint32_t states = 0, external_states = 0;
  for (uint32_t s = 0; s < language_.state_count; ++s) {
    const TSLexerMode& mode = language_.lex_modes[s];
    if (mode.lex_state != UINT16_MAX) states = std::max<uint32_t>(states, mode.lex_state + 1u);
    external_states = std::max<uint32_t>(external_states, mode.external_lex_state + 1u);
  }
  // What the lexer takes a text for, behind blanks, if it takes all but the last character.
  const auto taken = [&](uint32_t state, std::string_view token) -> TSSymbol {
    constexpr std::string_view kBlanks = " \t\n\r\f";
    const std::string text = std::string(kBlanks) + std::string(token);
    Lexer lexer(text, Folded::no);
    lexer.start(text.data());
    if (!language_.lex_fn(&lexer, static_cast<TSStateId>(state))) return 0;
    lexer.finish();
    const bool all =
        lexer.token_begin == text.data() + kBlanks.size() && lexer.token_end + 1 == lexer.stop;
    return all ? lexer.result_symbol : 0;
  };
  plain_.resize(states);
  for (uint32_t state = 0; state < states; ++state) {
    Plain& plain = plain_[state];
    const TSSymbol name = language_.keyword_capture_token;
    const bool names = taken(state, "z ") == name && taken(state, "_Z9_ ") == name;
    if (names) plain.name = name;
    plain.comment = taken(state, "#\r# a(\n");
    const TSSymbol integer = taken(state, "0 ");
    const bool integers = taken(state, "7)") == integer && taken(state, "08 ") == integer &&
                          taken(state, "900]") == integer && taken(state, "12,") == integer &&
                          taken(state, "12:") == integer && taken(state, "12\n") == integer;
    if (integers) plain.integer = integer;
    for (const char mark : kMarks) {
      const TSSymbol symbol = taken(state, std::string{mark, ' '});
      const bool same = taken(state, std::string{mark, 'a'}) == symbol &&
                        taken(state, std::string{mark, '\n'}) == symbol;
      if (same) plain.marks[static_cast<uint8_t>(mark)] = symbol;
    }
  }
  keyword_begins_.resize(size_t{128} * 128);
  for (size_t a = 0; a < 128; ++a) {
    const auto read = [&](size_t b) {
      const char text[] = {static_cast<char>(a), static_cast<char>(b), ' '};
      Lexer lexer({text, sizeof text}, Folded::no);
      lexer.start(text);
      language_.keyword_lex_fn(&lexer, 0);
      return lexer.at - text;
    };
    if (char_of(static_cast<char>(a)) != Char::letter || read(' ') == 0) continue;
    for (size_t b = 0; b < 128; ++b) keyword_begins_[a * 128 + b] = read(b) > 1;
  }
  sought_.resize(external_states);
  sought_[0].bracketed = true;  // the scanner is not asked
  for (uint32_t state = 1; state < external_states; ++state) {
    const bool* valid =
        language_.external_scanner.states + size_t{language_.external_token_count} * state;
    sought_[state].in_string = valid[kStringContent] || valid[kEscape];
    sought_[state].content = valid[kStringContent] && !valid[kIndent];
    sought_[state].string_start = valid[kStringStart];
    sought_[state].newline = valid[kNewline];
    sought_[state].indent = valid[kIndent];
    sought_[state].dedent = valid[kDedent];
    sought_[state].brackets = valid[kCloseParen] || valid[kCloseBracket] || valid[kCloseBrace];
    sought_[state].bracketed = (valid[kCloseParen] || valid[kCloseBracket] || valid[kCloseBrace]) &&
                               !valid[kNewline] && !valid[kIndent] && !valid[kDedent];
  }
}

uint32_t decode(const char* text, size_t length, Folded folded, int32_t* code) {
  const auto first = static_cast<uint8_t>(*text);
  if (folded == Folded::yes && *text == kFold) {
    uint32_t size = 0;
    std::memcpy(&size, text + 1, sizeof size);
    *code = '0';
    return size;
  }
  if (first < 0x80) {
    *code = first;
    return 1;
  }
  const uint32_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (size > length) {
    *code = -1;
    return 1;
  }
  int32_t value = first & (0x7f >> size);
  for (uint32_t i = 1; i < size; ++i) value = value << 6 | (text[i] & 0x3f);
  *code = value;
  return size;
}

Tokens::Tokens(std::string_view text, Folded folded, const Table& table)
    : language_(*tree_sitter_python()),
      table_(table),
      text_(text),
      lexer_(text, folded),
      scanner_(language_.external_scanner.create()) {}

bool Tokens::reserved(TSStateId state, TSSymbol symbol) const {
  const uint32_t set = language_.lex_modes[state].reserved_word_set_id;
  if (set == 0) return false;
  const TSSymbol* words = language_.reserved_words + set * language_.max_reserved_word_set_size;
  for (uint32_t i = 0; i < language_.max_reserved_word_set_size && words[i] != 0; ++i) {
    if (words[i] == symbol) return true;
  }
  return false;
}

bool Tokens::plain(const TSLexerMode& mode, TSStateId state, const char* from, bool over_lines,
                   Token& token) {
  const Table::Sought& sought = table_.sought(mode.external_lex_state);
  if (sought.in_string) return false;
  const Table::Plain& known = table_.plain(mode.lex_state);
  const bool lines = over_lines || sought.bracketed;
  const char* at = from;
  while (at != lexer_.stop &&
         (char_of(*at) == Char::blank || (lines && char_of(*at) == Char::line_end))) {
    ++at;
  }
  if (at == lexer_.stop) return false;
  const Char kind = char_of(*at);
  const char* end = at + 1;
  if (kind == Char::letter) {
    if (known.name == 0) return false;
    if (sought.string_start && string_prefix(*at)) {
      const char* behind = end;
      while (behind != lexer_.stop && string_prefix(*behind)) ++behind;
      if (behind != lexer_.stop && quote(*behind)) return false;
    }
    while (end != lexer_.stop && (char_of(*end) == Char::letter || char_of(*end) == Char::digit)) {
      ++end;
    }
    if (end != lexer_.stop && !ends_name(*end)) return false;
    token.symbol = known.name;
  } else if (kind == Char::mark) {
    token.symbol = known.marks[static_cast<uint8_t>(*at)];
    if (token.symbol == 0 || end == lexer_.stop) return false;
    // Brackets and commas end where they begin; the others do before these.
    const bool longer = *at == '.' || *at == ':' || *at == '=';
    if (longer && *end != ' ' && *end != '\n' && char_of(*end) != Char::letter) return false;
  } else if (kind == Char::digit) {
    while (end != lexer_.stop && char_of(*end) == Char::digit) ++end;
    if (known.integer == 0 || end == lexer_.stop) return false;
    const bool over = *end == ' ' || *end == '\n' || (char_of(*end) == Char::mark && *end != '.');
    if (!over) return false;
    token.symbol = known.integer;
  } else {
    return false;
  }
  token.begin = static_cast<uint32_t>(at - text_.data());
  token.end = static_cast<uint32_t>(end - text_.data());
  if (kind == Char::letter) note_keyword(state, token);
  return true;
}

Tokens::LineEnd Tokens::line_end(const Table::Sought& sought, uint32_t scanner_state,
                                 const char* from, std::ptrdiff_t& column) const {
  if (sought.in_string || always_set_) return LineEnd::ask;
  const std::string& state = scanner_states_[scanner_state];
  if (!state.empty() && (state[0] != 0 || state[1] != 0)) return LineEnd::ask;  // in a string
  const std::ptrdiff_t indented = state.size() > 2 ? static_cast<uint8_t>(state.back()) : 0;
  const bool any = sought.newline || sought.indent || sought.dedent;
  const char* line = nullptr;
  std::ptrdiff_t comment = -1;  // how far the first is indented
  const char* at = from;
  for (; at != lexer_.stop; ++at) {
    if (*at == '\n') {
      line = at + 1;
    } else if (*at == '#' && any) {
      if (line == nullptr) return LineEnd::nothing;
      if (comment < 0) comment = at - line;
      while (at + 1 != lexer_.stop && at[1] != '\n') {
        if (*++at == '\0' || *at == kFold) return LineEnd::ask;
      }
    } else if (*at != ' ') {
      break;
    }
  }
  // Another sort of blank, a line that goes on, a fold, the end of the text.
  if (at == lexer_.stop || line == nullptr || static_cast<uint8_t>(*at) <= ' ' || *at == '#' ||
      *at == '\\' || static_cast<uint8_t>(*at) >= 0x80) {
    return LineEnd::ask;
  }
  column = at - line;
  if (column > indented && sought.indent) {
    const bool kept = column < kWideIndentation && state.size() < kFewScannerBytes;
    return kept ? LineEnd::indent : LineEnd::ask;
  }
  if (column < indented && comment < indented) {
    if (sought.dedent) return LineEnd::dedent;
    if (!sought.newline && !sought.brackets) return LineEnd::ask;
  }
  if (sought.newline) return LineEnd::newline;
  const bool string = comment < 0 && sought.string_start && (string_prefix(*at) || quote(*at));
  return string ? LineEnd::ask : LineEnd::nothing;
}

bool Tokens::comment(const TSLexerMode& mode, const char* from, Token& token) const {
  const TSSymbol symbol = table_.plain(mode.lex_state).comment;
  if (symbol == 0) return false;
  const char* at = from;
  while (at != lexer_.stop && (char_of(*at) == Char::blank || char_of(*at) == Char::line_end)) ++at;
  if (at == lexer_.stop || *at != '#') return false;
  const std::string_view rest(at, static_cast<size_t>(lexer_.stop - at));
  const size_t size = rest.find('\n');
  const std::string_view whole = rest.substr(0, size);
  if (size == std::string_view::npos || whole.find('\0') != std::string_view::npos ||
      whole.find(kFold) != std::string_view::npos) {
    return false;
  }
  token.symbol = symbol;
  token.begin = static_cast<uint32_t>(at - text_.data());
  token.end = token.begin + static_cast<uint32_t>(size);
  return true;
}

void Tokens::note_keyword(TSStateId state, Token& token) {
  const char* word = text_.data() + token.begin;
  if (token.end - token.begin > 1 && !table_.begins_keyword(word[0], word[1])) return;
  lexer_.start(word);
  token.keyword = language_.keyword_lex_fn(&lexer_, 0);
  if (token.keyword && lexer_.token_end == text_.data() + token.end &&
      (table_.at(state, lexer_.result_symbol) != 0 || reserved(state, lexer_.result_symbol))) {
    token.symbol = lexer_.result_symbol;
  }
}

const char* Tokens::string_text(uint32_t scanner_state, const char* from) const {
  const std::string& open = scanner_states_[scanner_state];
  const size_t strings = open.size() < 2 ? 0 : static_cast<uint8_t>(open[1]);
  if (strings == 0) return from;
  const auto flags = static_cast<uint8_t>(open[1 + strings]);
  const char end = (flags & kSingleQuote) != 0 ? '\'' : (flags & kDoubleQuote) != 0 ? '"' : '`';
  const char line = (flags & kTriple) != 0 ? end : '\n';
  const char* at = from;
  for (; at != lexer_.stop; ++at) {
    const char c = *at;
    if (c == '\\' || c == end || c == line || c == '\0' || c == kFold) break;
    if ((flags & kFormat) != 0 && (c == '{' || c == '}')) break;
  }
  if (at == from) return from;
  --at;
  while (at != from && (static_cast<uint8_t>(*at) & 0xc0) == 0x80) --at;
  return at;
}

bool Tokens::next(TSStateId state, uint32_t position, uint32_t scanner_state, Token& token) {
  const TSLexerMode& mode = language_.lex_modes[state];
  if (mode.lex_state == UINT16_MAX) return false;
  const char* from = text_.data() + position;
  token.scanner = scanner_state;
  token.keyword = token.external = false;
  if (plain(mode, state, from, false, token)) return true;
  const Table::Sought& sought = table_.sought(mode.external_lex_state);
  std::ptrdiff_t column = 0;
  const LineEnd said = mode.external_lex_state == 0 ? LineEnd::nothing
                                                    : line_end(sought, scanner_state, from, column);
  if (said != LineEnd::ask && said != LineEnd::nothing) {
    const TSSymbol symbol = language_.external_scanner.symbol_map[static_cast<size_t>(said)];
    if (said != LineEnd::newline || table_.next(state, symbol) != state) {
      token.symbol = symbol;
      token.begin = token.end = position;
      token.external = true;
      token.scanner = behind(said, column, scanner_state);
      return true;
    }
  }
  if (said == LineEnd::ask) {
    lexer_.start(sought.content ? string_text(scanner_state, from) : from);
    lexer_.token_begin = from;
    if (scanner_now_ != scanner_state || always_set_) {
      const std::string& now = scanner_states_[scanner_state];
      language_.external_scanner.deserialize(scanner_, now.data(),
                                             static_cast<unsigned>(now.size()));
      scanner_now_ = scanner_state;
    }
    const bool* valid = language_.external_scanner.states +
                        size_t{language_.external_token_count} * mode.external_lex_state;
    const bool found = language_.external_scanner.scan(scanner_, &lexer_, valid);
    if (found && lexer_.result_symbol == kDedent && !valid[kDedent] && in_brackets(position)) {
      // Behind an operator the grammar's scanner sees no closing bracket coming and takes a line
      // further left for the end of a block.
      const std::string& before = scanner_states_[scanner_state];
      language_.external_scanner.deserialize(scanner_, before.data(),
                                             static_cast<unsigned>(before.size()));
    } else if (found) {
      lexer_.finish();
      const TSSymbol symbol = language_.external_scanner.symbol_map[lexer_.result_symbol];
      const bool changed = note_scanner(scanner_state);
      if (lexer_.token_end > from || changed || table_.next(state, symbol) != state) {
        take(symbol, token);
        token.external = true;
        token.scanner = scanner_now_;
        return true;
      }
    }
  }
  if (comment(mode, from, token)) return true;
  // What stands first in a line, where its beginning means nothing to the scanner.
  if (mode.external_lex_state != 0 && plain(mode, state, from, true, token)) return true;
  lexer_.start(from);
  if (!language_.lex_fn(&lexer_, mode.lex_state)) return false;
  lexer_.finish();
  take(lexer_.result_symbol, token);
  if (token.symbol == language_.keyword_capture_token && token.symbol != 0) {
    note_keyword(state, token);
  }
  return true;
}

bool Tokens::in_brackets(uint32_t position) {
  static constexpr std::array<bool, 256> kTold = [] {
    std::array<bool, 256> out{};
    for (const char c : std::string_view("()[]{}#\"'")) out[static_cast<uint8_t>(c)] = true;
    out[static_cast<uint8_t>(kFold)] = true;
    return out;
  }();
  if (position < counted_to_) counted_to_ = open_brackets_ = 0;
  const Lines lines(text_);
  while (counted_to_ < position) {
    const char* at = text_.data() + counted_to_;
    if (!kTold[static_cast<uint8_t>(*at)]) {
      ++counted_to_;
    } else if (*at == '"' || *at == '\'') {
      const size_t end = lines.string_end(counted_to_, 0);
      if (end == std::string_view::npos) return false;
      counted_to_ = static_cast<uint32_t>(end);
    } else if (*at == '#') {
      counted_to_ = static_cast<uint32_t>(lines.next_line(counted_to_));
    } else if (*at == kFold) {
      int32_t code = 0;
      counted_to_ += decode(at, text_.size() - counted_to_, lexer_.folded, &code);
    } else {
      open_brackets_ += *at == '(' || *at == '[' || *at == '{' ? 1 : -1;
      ++counted_to_;
    }
  }
  return open_brackets_ > 0;
}

void Tokens::take(TSSymbol symbol, Token& token) const {
  token.symbol = symbol;
  token.begin = static_cast<uint32_t>(lexer_.token_begin - text_.data());
  token.end = static_cast<uint32_t>(lexer_.token_end - text_.data());
}

// Keeps the scanner's state behind an external token; returns whether it is another than before.
bool Tokens::note_scanner(uint32_t before) {
  char buffer[TREE_SITTER_SERIALIZATION_BUFFER_SIZE];
  const unsigned size = language_.external_scanner.serialize(scanner_, buffer);
  const std::string_view now(buffer, size);
  if (now == scanner_states_[before]) {
    scanner_now_ = before;
    return false;
  }
  // Where a column does not fit the byte that keeps it, tree-sitter goes on with what does.
  const char* blank = lexer_.at;
  while (blank > lexer_.begin && (blank[-1] == ' ' || blank[-1] == '\t')) --blank;
  always_set_ = always_set_ || size > kFewScannerBytes || lexer_.at - blank >= kWideIndentation;
  scanner_now_ = number_of(now);
  return true;
}

uint32_t Tokens::number_of(std::string_view state) {
  const size_t known = scanner_states_.size();
  for (size_t i = known; i > 0 && i + kRecentStates > known; --i) {
    if (scanner_states_[i - 1] == state) return static_cast<uint32_t>(i - 1);
  }
  scanner_states_.emplace_back(state);
  return static_cast<uint32_t>(known);
}

uint32_t Tokens::behind(LineEnd said, std::ptrdiff_t column, uint32_t scanner_state) {
  if (said == LineEnd::newline) return scanner_state;
  std::string state = scanner_states_[scanner_state];
  if (state.empty()) state.assign(2, '\0');  // no string is open
  if (said == LineEnd::indent) {
    state += static_cast<char>(column);
  } else {
    state.pop_back();
  }
  return number_of(state);
}

}  // namespace refit::python
