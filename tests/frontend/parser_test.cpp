// The tool's own parser against tree-sitter's: the same nodes for every text that parses, none for
// one that does not, over constructs that the grammar reads in several ways, over the corpus, and
// over the corpus with a line or a character missing.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <sstream>

#include <tree_sitter/api.h>

#include "rewriter/frontend/python/syntax.hpp"
#include "tests/frontend/corpus_texts.hpp"
#include "tests/frontend/row_name.hpp"

extern "C" const TSLanguage* tree_sitter_python(void);

namespace refit::python {
namespace {

std::string dump(const std::vector<NodeData>& nodes) {
  std::ostringstream out;
  for (const NodeData& n : nodes) {
    out << type_name(TSNode(&n)) << ' ' << n.begin << '-' << n.end << " above " << n.above
        << " extent " << n.extent << " field " << int{n.field} << (n.named ? " named" : "")
        << (n.missing ? " missing" : "") << (n.has_error ? " error" : "") << '\n';
  }
  return out.str();
}

// Whether the parser took the text; what it made of it is compared.
bool agree(std::string_view text, Folded folded = Folded::no) {
  const auto nodes = parse_clean(text, folded);
  const auto expected = parse_any(text, folded);
  if (nodes) {
    EXPECT_EQ(dump(*nodes), dump(expected)) << text;
  }
  return nodes.has_value();
}

struct Row {
  const char* name;
  std::string text;
};
void PrintTo(const Row& row, std::ostream* out) { *out << row.name; }

class Parsed : public testing::TestWithParam<Row> {};

TEST_P(Parsed, AsTreeSitterDoes) { EXPECT_TRUE(agree(GetParam().text)); }

const Row kRows[] = {
    {"nothing", ""},
    {"blank", " \n\n"},
    {"comments_only", "# a\n  # b\n"},
    {"no_line_end", "x = 1"},
    {"line_ends_of_two_bytes", "if a:\r\n    b\r\nc\r\n"},
    {"print_last", "def f():\n    print(a)  # b\n"},
    {"print_of_python_2", "print >>a, b\nprint a, b\nprint (a), b\n"},
    {"splats", "f(*a, **b)\nprint(*a, **b)\nx = [*a, *b[0]]\nslice(*g[0].c[2].d(e[2])[:2])\n"},
    {"targets", "a, b = c, d\n(a, b), c = d\n[a, *b] = c\na.b, c[0] = d[1], e[2]\nx: int = 3\n"},
    {"chained", "a = b = c, d = e\na.x = b[0], c[1]\n"},
    {"with_items", "with (a as b, c as d): pass\nwith (a, b): pass\nwith (a): pass\n"},
    {"soft_keywords",
     "match = type = case = _ = 1\nmatch(x)\nmatch[0:1]\ntype(x)\ntype X = int\n"
     "match x:\n  case [a, *_] if b: pass\n  case {'k': v, **r}: pass\n"},
    {"lambdas", "f = lambda x, *y, z=1, **w: (x, y)\nsorted(a, key=lambda t: t[0])\n"},
    {"walrus", "if (n := f(x)) > 1: print(n)\n[y := 1, y**2]\n"},
    {"strings", "a = 'b' \"c\" f'{d!r:>{e}} {{}} {f\"{g}\"}' rb'\\x00' '''h\ni'''\n"},
    {"continued", "a = 1 + \\\n    2\nif a and \\\n   b:\n    pass\n"},
    {"exceptions", "try:\n  a\nexcept* (B, C) as d:\n  e\nelse:\n  f\nfinally:\n  g\n"},
    {"decorated",
     "@a.b(c)\nclass D[T](E, metaclass=F):\n  x: int\n  async def g(self, /, a, *, b): "
     "return await h\n"},
    {"deep_indentation", "if a:\n" + std::string(40, ' ') + "if b:\n" + std::string(300, ' ') +
                             "c\n" + std::string(40, ' ') + "d\ne\n"},
    {"comments_between",
     "def f(\n    a,  # b\n    # c\n):\n    # d\n    e  # f\n\n# g\n    h\n# i\n"},
    {"lines_and_blanks",
     "if a:\n\tb\n\f\n\tc\n  \n\nd = (\n1,\n 2\n)\nif e:\n    f\n\n    'g'\n    rb\n  \\\n\nh\n"},
    {"ends_of_several_blocks",
     "def f():\n  if a:\n    for b in c:\n      d\n    e\n\n\nclass G:\n  h = 1\n\n  i\nj\n"},
    {"numbers",
     "a = [0, 12, 08, 0x1F, 1_000, 1.5, 7j, 3L, 1., .5, 1e9]\nb[1:2, 3:] = 4;5\nc = 6\n7\n8#9\n"},
    {"words_of_other_scripts", "переменная = 'é' + '漢字'  # 🙂\n"},
    {"the_byte_of_a_fold", "a = '\x01\x02\x03\x04\x05'\nb = 2\n"},
};
INSTANTIATE_TEST_SUITE_P(Rows, Parsed, testing::ValuesIn(kRows), RowName());

// Kinds and fields are compared by numbers of their names, which would hide two that are equal.
TEST(Parser, TellsEveryNameApart) {
  for (uint16_t a = 0; a <= kNoKind; ++a) {
    for (uint16_t b = 0; b < a; ++b) {
      EXPECT_EQ(kKindNames.names[a] == kKindNames.names[b],
                kKindNames.numbers[a] == kKindNames.numbers[b])
          << kKindNames.names[a] << ' ' << kKindNames.names[b];
    }
  }
  const TSLanguage* language = tree_sitter_python();
  for (uint32_t id = 1; id <= ts_language_field_count(language); ++id) {
    const char* name = ts_language_field_name_for_id(language, static_cast<TSFieldId>(id));
    EXPECT_EQ(FieldName(std::string_view(name)).id(), id) << name;
  }
  EXPECT_EQ(FieldName("no_field_has_this_name").id(), 0);
}

TEST(Parser, LeavesMistakesToTreeSitter) {
  for (const char* text :
       {"def f(:\n  pass\n", "a = = b\n", "'", "if a\n  b\n", ")", "\xef\xbb\xbfx"}) {
    EXPECT_FALSE(agree(text)) << text;
  }
}

// What nodes there are, wherever they stand.
std::string kinds(std::string_view text) {
  std::ostringstream out;
  const auto nodes = parse_clean(text, Folded::no);
  if (!nodes) return "none";
  for (const NodeData& n : *nodes) out << type_name(TSNode(&n)) << " above " << n.above << '\n';
  return out.str();
}

// tree-sitter takes a line further left for the end of a block there.
TEST(Parser, GoesOnInBracketsFurtherLeft) {
  struct {
    const char *left, *right;
  } pairs[] = {
      {"def f():\n    x = (a +\n  b)\n    return x\n",
       "def f():\n    x = (a +\n      b)\n    return x\n"},
      {"class A:\n    def f():\n        if a and (\n  not b):\n            c\n        d\n",
       "class A:\n    def f():\n        if a and (\n          not b):\n            c\n        d\n"},
      {"def f():\n    '(' # (\n    x = g(a, [b *\n# c\nd], e=\n1)\n    return x\n",
       "def f():\n    '(' # (\n    x = g(a, [b *\n      # c\n      d], e=\n      1)\n    return "
       "x\n"},
  };
  for (const auto& [left, right] : pairs) {
    EXPECT_NE(kinds(left), "none") << left;
    EXPECT_EQ(kinds(left), kinds(right)) << left;
  }
  for (const char* text :
       {"def f():\n    x = a +\nb\n", "def f():\n    g(a)\n    x = [b] or\nc\n"}) {
    EXPECT_EQ(kinds(text), "none") << text;
  }
}

TEST(Parser, ReadsFoldsAsANumber) {
  std::string text = "def f():\n    return whatever(it, takes)\nx = 1\n";
  const uint32_t begin = 13, size = 26;
  text[begin] = kFold;
  std::memcpy(text.data() + begin + 1, &size, sizeof size);
  EXPECT_TRUE(agree(text, Folded::yes));
}

TEST(Parser, FollowsDeepNesting) {
  constexpr size_t kDepth = 3000;
  EXPECT_TRUE(agree("x = " + std::string(kDepth, '(') + "1" + std::string(kDepth, ')') + "\n"));
  EXPECT_TRUE(agree("x = " + std::string(kDepth, '[') + std::string(kDepth, ']') + "\n"));
}

TEST(Parser, AgreesOverTheCorpus) {
  const auto texts = corpus_texts();
  ASSERT_GT(texts.size(), 100u);
  size_t taken = 0;
  for (const std::string& text : texts) taken += agree(text);
  EXPECT_GE(taken, texts.size() * 95 / 100);
}

TEST(Parser, AgreesWhereSomethingIsMissing) {
  std::mt19937 random(20261122);
  for (const std::string& text : corpus_texts()) {
    if (text.size() < 2) continue;
    std::string changed = text;
    const size_t at = random() % text.size();
    if (random() % 2 == 0) {
      changed.erase(at, 1);
    } else {
      const size_t end = changed.find('\n', at);
      changed.erase(at, end == std::string::npos ? end : end - at + 1);
    }
    agree(changed);
  }
}

}  // namespace
}  // namespace refit::python
