// Where strings and logical lines end, wherever in the blocks of a text they stand.
#include "rewriter/python/syntax/lines.hpp"

#include <gtest/gtest.h>

#include <string>

#include "tests/python/row_name.hpp"

namespace refit::python {
namespace {

struct Row {
  const char* name;
  const char* code;    // `~` stands for a filler of any length
  const char* behind;  // what goes on behind it
};
void PrintTo(const Row& row, std::ostream* out) { *out << row.name; }

std::string filled(std::string_view code, size_t filler) {
  std::string out;
  for (char c : code) {
    if (c == '~') {
      out.append(filler, 'x');
    } else {
      out += c;
    }
  }
  return out;
}

class Ends : public testing::TestWithParam<Row> {
 protected:
  // Calls check(text, begin, end) with the code at many places of a text, at many lengths.
  template <typename Check>
  static void everywhere(Check check) {
    for (size_t before = 0; before < 70; before += 3) {
      for (size_t filler = 0; filler < 140; filler += 7) {
        const std::string code = filled(GetParam().code, filler);
        const std::string text = std::string(before, ' ') + code + GetParam().behind;
        check(text, before, before + code.size());
      }
    }
  }
};

class StringEnds : public Ends {};

TEST_P(StringEnds, AtItsQuote) {
  everywhere([](const std::string& text, size_t begin, size_t end) {
    const size_t quote = text.find_first_of("'\"", begin);
    EXPECT_EQ(Lines(text).string_end(quote, 0), end) << text;
  });
}

INSTANTIATE_TEST_SUITE_P(
    Strings, StringEnds,
    testing::Values(Row{"plain", "'~'", " + 'y'"}, Row{"empty", "''", "~"},
                    Row{"other_quote", "'~\"~'", "\""}, Row{"escaped", "'~\\'~'", "'"},
                    Row{"escaped_backslash", "'~\\\\'", " 'y'"},
                    Row{"joined_lines", "'~\\\n~'", "\n'"},
                    Row{"joined_lines_of_windows", "'~\\\r\n~'", "\r\n'"},
                    Row{"three_quotes", "'''a~'b~''c~\n~'''", "'"},
                    Row{"three_quotes_escaped", "\"\"\"~\\\"\"\"a~\"\"\"", "\"\"\""},
                    Row{"field", "f'~{a['x']}~'", "'"}, Row{"no_field", "'~{'", "}'"},
                    Row{"doubled_brace", "f'~{{~'", "}'"},
                    Row{"format", "f'~{a:>{width}}~'", " + '}'"}),
    RowName{});

TEST(Lines, AnOpenStringHasNoEnd) {
  for (size_t size = 0; size < 100; ++size) {
    const std::string filler(size, 'x');
    for (const std::string& text :
         {"'" + filler, "'" + filler + "\n'", "'" + filler + "\\", "'''" + filler + "''",
          "f'{" + filler + "'", "f'{a:" + filler + "\n}'"}) {
      EXPECT_EQ(Lines(text).string_end(text.find('\''), 0), std::string_view::npos) << text;
    }
  }
}

class LineEnds : public Ends {};

TEST_P(LineEnds, BeforeWhatIsBehindIt) {
  everywhere([](const std::string& text, size_t begin, size_t end) {
    const Lines lines(text);
    // From the line's begin, and again from further in, as the block is known then.
    for (size_t at : {size_t{0}, begin}) {
      size_t code_end = 0;
      const size_t next = lines.logical_line(at, &code_end);
      EXPECT_EQ(code_end, end) << text;
      const size_t line_break = text.find('\n', end);
      EXPECT_EQ(next, line_break == std::string::npos ? text.size() : line_break + 1) << text;
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Codes, LineEnds,
                         testing::Values(Row{"name", "x~", "\ny"}, Row{"end_of_text", "x~", ""},
                                         Row{"call", "f(~,\n  [~],\n {~: ~})", "\ny = (\n"},
                                         Row{"comment", "f(~)~", "# ) ' ~\ny"},
                                         Row{"comment_inside", "f(~  # ] '\n)", "\n]"},
                                         Row{"string", "x = '#~('", "# y\n"},
                                         Row{"joined", "x = ~ + \\\n ~", "\ny"},
                                         Row{"three_quotes", "x = '''~\n~\n'''", "\n'''"}),
                         RowName{});

TEST(Lines, ALineWhoseBracketsDoNotMatchHasNoEnd) {
  size_t code_end = 0;
  for (size_t size = 0; size < 100; ++size) {
    const std::string filler(size, 'x');
    for (const std::string& text : {"(" + filler, "(" + filler + "\n", filler + ")\n",
                                    "[" + filler + "'\n]", "(" + filler + " # )"}) {
      EXPECT_EQ(Lines(text).logical_line(0, &code_end), std::string_view::npos) << text;
    }
  }
}

}  // namespace
}  // namespace refit::python
