// Tokens as tree-sitter's lexer finds them: the grammar's scanner is asked first, then its lexer,
// and a name may be a keyword. See lr_input.hpp.
#include "rewriter/frontend/python/lr_input.hpp"

#include <cstring>

namespace refit::python {

namespace {

constexpr size_t kFewScannerBytes = 250, kRecentStates = 64;
constexpr std::ptrdiff_t kWideIndentation = 32;  // of which each may be eight columns

}  // namespace

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

bool Tokens::next(TSStateId state, uint32_t position, uint32_t scanner_state, Token& token) {
  const TSLexerMode& mode = language_.lex_modes[state];
  if (mode.lex_state == UINT16_MAX) return false;
  const char* from = text_.data() + position;
  token.scanner = scanner_state;
  token.keyword = token.external = false;
  if (mode.external_lex_state != 0) {
    lexer_.start(from);
    if (scanner_now_ != scanner_state || always_set_) {
      const std::string& now = scanner_states_[scanner_state];
      language_.external_scanner.deserialize(scanner_, now.data(),
                                             static_cast<unsigned>(now.size()));
      scanner_now_ = scanner_state;
    }
    if (language_.external_scanner.scan(
            scanner_, &lexer_,
            language_.external_scanner.states +
                size_t{language_.external_token_count} * mode.external_lex_state)) {
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
  lexer_.start(from);
  if (!language_.lex_fn(&lexer_, mode.lex_state)) return false;
  lexer_.finish();
  take(lexer_.result_symbol, token);
  if (token.symbol == language_.keyword_capture_token && token.symbol != 0) {
    const char* end = lexer_.token_end;
    lexer_.start(lexer_.token_begin);
    token.keyword = language_.keyword_lex_fn(&lexer_, 0);
    if (token.keyword && lexer_.token_end == end &&
        (table_.at(state, lexer_.result_symbol) != 0 || reserved(state, lexer_.result_symbol))) {
      token.symbol = lexer_.result_symbol;
    }
  }
  return true;
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
  const size_t known = scanner_states_.size();
  for (size_t i = known; i > 0 && i + kRecentStates > known; --i) {
    if (scanner_states_[i - 1] == now) {
      scanner_now_ = static_cast<uint32_t>(i - 1);
      return true;
    }
  }
  scanner_states_.emplace_back(now);
  scanner_now_ = static_cast<uint32_t>(known);
  return true;
}

}  // namespace refit::python
