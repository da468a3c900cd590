// Literals in a text: words and fragments, at its ends, short ones, many at once.
#include "rewriter/project/literals.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "rewriter/text/byte_scan.hpp"

namespace refit {
namespace {

bool stands(std::string_view literal, bool word, std::string_view text) {
  Literals literals;
  uint32_t id = literals.add(literal, word);
  literals.build();
  return literals.scan(text).test(id);
}

TEST(Literals, FragmentsStandAnywhere) {
  EXPECT_TRUE(stands("max", false, "softmax"));
  EXPECT_TRUE(stands("x", false, "x"));
  EXPECT_TRUE(stands("::2", false, "q[..., ::2]"));
  EXPECT_TRUE(stands("**", false, "2**"));
  EXPECT_FALSE(stands("max", false, "ma"));
  EXPECT_FALSE(stands("max", false, ""));
}

TEST(Literals, WordsStandAlone) {
  EXPECT_TRUE(stands("max", true, "x.max(-1)"));
  EXPECT_TRUE(stands("max", true, "max"));
  EXPECT_TRUE(stands("max", true, "softmax max"));
  EXPECT_FALSE(stands("max", true, "softmax"));
  EXPECT_FALSE(stands("max", true, "maximum"));
  EXPECT_FALSE(stands("max", true, "max_"));
  EXPECT_FALSE(stands("max", true, "max\xc3\xa9"));
}

TEST(Literals, WordsBetweenQuotesAreText) {
  EXPECT_FALSE(stands("sdpa", true, "hasattr(F, \"sdpa\")"));
  EXPECT_FALSE(stands("sdpa", true, "`sdpa`"));
  EXPECT_TRUE(stands("sdpa", true, "\"sdpa\" if sdpa(q) else 0"));
  EXPECT_TRUE(stands("sdpa", true, "f'{sdpa(q)}'"));
  EXPECT_TRUE(stands("sdpa", false, "\"sdpa\""));
}

// A sign of something other than a number; a difference is none, nor is an arrow.
TEST(Literals, NegationIsASignOfAnOperand) {
  for (const char* text : {"cat((-b, a))", "[ -b]", "x = -y", "return -y", "a * - b", "-x",
                           "f(-(a))", "f(-2 ** x)", "a if -b else c", "a\n  - b", "x = y or -z"}) {
    EXPECT_TRUE(stands(Literals::kNegation, false, text)) << text;
  }
  for (const char* text : {"a - b", "a-b", "f(x) - 1", "dim=-1", "x[..., -2:]",
                           "def f() -> int:", "x -= 1", "a[0] - b", "'a' - b", "-1.5e3", ""}) {
    EXPECT_FALSE(stands(Literals::kNegation, false, text)) << text;
  }
}

TEST(Literals, AgreeWithAPlainSearch) {
  std::mt19937 random(7);
  auto below = [&](unsigned n) { return static_cast<unsigned>(random() % n); };
  auto word = [&](unsigned longest) {
    std::string out;
    for (unsigned n = 1 + below(longest); n > 0; --n) out += static_cast<char>('a' + below(3));
    return out;
  };
  unsigned found = 0;
  for (int round = 0; round < 500; ++round) {
    Literals literals;
    std::vector<std::string> texts(1 + below(8));
    std::vector<uint32_t> ids;
    for (std::string& text : texts) {
      text = word(6);
      ids.push_back(literals.add(text, false));
    }
    literals.build();
    for (int i = 0; i < 10; ++i) {
      std::string text = word(30);
      LiteralBits seen = literals.scan(text);
      for (size_t t = 0; t < texts.size(); ++t) {
        ASSERT_EQ(seen.test(ids[t]), text.find(texts[t]) != std::string::npos)
            << texts[t] << " in " << text;
        found += seen.test(ids[t]);
      }
    }
  }
  EXPECT_GT(found, 1000u);
}

// Every kind against its meaning, in texts longer than what is passed over at a time.
TEST(Literals, KindsAgreeWithAPlainSearch) {
  using Stands = Literals::Stands;
  const std::vector<std::string> texts{
      "rope_apply", "abcd", "bcd",  "a",        "aa.bb",       ".abcd(", "abcd(", "(abcd", "** ",
      "a, bb",      "@",    ", a)", "abcdabcd", "b.abcdabcda", "bcda(",  "''",    "a*b"};
  const std::vector<std::string> parts{"abcd", "rope_apply", "a",        "bb",       ".",  "(",
                                       "_",    "'",          ")",        "** ",      ", ", "@",
                                       "bcd",  " ",          "abcdabcd", "\xc3\xa9", "*"};
  std::mt19937 random(11);
  auto one_of = [&](const auto& list) { return list[random() % list.size()]; };
  size_t found[4] = {};
  for (int round = 0; round < 400; ++round) {
    Literals literals;
    struct Wanted {
      uint32_t id, noted;
      std::string text;
      Stands stands;
    };
    std::vector<Wanted> wanted;
    for (int i = 0; i < 8; ++i) {
      std::string text = one_of(texts);
      auto stands = static_cast<Stands>(random() % 4);
      const uint32_t id = literals.add(text, stands);
      wanted.push_back({id, literals.add_noted(text, stands), text, stands});
    }
    const uint32_t later = literals.add_later("cda");
    literals.build();
    std::string text;
    for (size_t n = random() % 60; n > 0; --n) text += one_of(parts);
    Literals::Places places;
    const LiteralBits seen = literals.scan(text, nullptr, &places);
    EXPECT_EQ(literals.scan(text), seen) << text;
    const size_t first = text.find("cda"), last = text.rfind("cda");
    EXPECT_EQ(literals.contains(text, later, [](size_t) { return true; }),
              first != std::string::npos)
        << text;
    EXPECT_EQ(literals.contains(text, later, [first](size_t at) { return at != first; }),
              first != last)
        << text;
    for (const auto& [id, noted, literal, stands] : wanted) {
      std::vector<size_t> expected;
      for (size_t at = text.find(literal); at != std::string::npos;
           at = text.find(literal, at + 1)) {
        const size_t end = at + literal.size();
        const char before = at == 0 ? ' ' : text[at - 1],
                   after = end < text.size() ? text[end] : ' ';
        const bool free_before = !word_byte(before), free_after = !word_byte(after);
        const bool good = stands == Stands::anywhere || (stands == Stands::begins && free_before) ||
                          (stands == Stands::ends && free_after) ||
                          (stands == Stands::alone && free_before && free_after &&
                           !(before == '\'' && after == '\''));
        if (good) expected.push_back(at);
      }
      EXPECT_EQ(places.of[noted], expected) << literal << " in " << text;
      EXPECT_EQ(seen.test(id), !expected.empty()) << literal << " in " << text;
      found[static_cast<size_t>(stands)] += expected.size();
    }
  }
  for (size_t n : found) EXPECT_GT(n, 100u);
}

TEST(ByteScan, WordsAreThoseOfAByteAtATime) {
  std::mt19937 random(5);
  for (size_t size = 0; size < 300; ++size) {
    std::string text;
    for (size_t i = 0; i < size; ++i) text += std::string_view("aZ9_ .[`@{/:\xff")[random() % 13];
    if (size % 5 == 0) text.assign(size, 'w');
    std::vector<std::pair<size_t, size_t>> found, expected;
    each_word(text, [&](size_t begin, size_t end) { found.emplace_back(begin, end); });
    for (size_t at = 0; at < size; ++at) {
      if (!word_byte(text[at])) continue;
      const size_t begin = at;
      while (at < size && word_byte(text[at])) ++at;
      expected.emplace_back(begin, at);
    }
    EXPECT_EQ(found, expected) << text;
    std::vector<size_t> dots;
    each_of_bytes(text, ".:", [&](size_t at) {
      dots.push_back(at);
      return dots.size() < 5;
    });
    std::vector<size_t> plain;
    for (size_t at = text.find_first_of(".:"); at != std::string::npos && plain.size() < 5;
         at = text.find_first_of(".:", at + 1)) {
      plain.push_back(at);
    }
    EXPECT_EQ(dots, plain) << text;
    Literals none;
    none.build();
    Literals::Places places;
    none.scan(text, nullptr, &places);
    std::erase_if(expected, [&](const auto& word) {
      const auto& [begin, end] = word;
      return text[begin] != 'Z' || end == size || text[end] != ':';
    });
    EXPECT_EQ(places.titles, expected) << text;
    for (const char* wanted : {".", "9_", "a[Z"}) {
      for (size_t from : {size_t{0}, size / 2, size}) {
        EXPECT_EQ(find_text(text, wanted, from), text.find(wanted, from)) << text;
      }
    }
  }
}

TEST(Literals, OneLiteralHasOneNumber) {
  Literals literals;
  EXPECT_EQ(literals.add("a", true), literals.add("a", true));
  EXPECT_NE(literals.add("a", true), literals.add("a", false));
  literals.build();
  LiteralBits bits = literals.none();
  bits.set(1);
  EXPECT_FALSE(bits.intersects(literals.none()));
  EXPECT_TRUE(bits.intersects(bits));
}

TEST(FindText, SixteenAnd32BytesAtATimeFindWhatASearchFinds) {
  std::mt19937 random(3);
  auto made = [&](size_t size) {
    std::string out(size, ' ');
    for (char& c : out) c = "ab\n"[random() % 3];
    return out;
  };
  for (int round = 0; round < 20000; ++round) {
    const std::string text = made(random() % 400), wanted = made(1 + random() % 7);
    const size_t at = random() % (text.size() + 3), expected = text.find(wanted, at);
    EXPECT_EQ(find_text(text, wanted, at), expected);
    EXPECT_EQ(byte_scan::find_text_16(text, wanted, at), expected);
#ifdef REFIT_AVX2
    if (!byte_scan::avx2) continue;
    EXPECT_EQ(byte_scan::find_text_32(text, wanted, at), expected);
#endif
  }
}

TEST(Literals, PlacesAreThoseThatASearchFinds) {
  const std::vector<std::string> wanted{" as ", "aa", "as a", "(", "class "};
  Literals literals;
  for (const std::string& w : wanted) literals.add_noted(w, Literals::Stands::anywhere);
  literals.build();
  Literals::Places places;
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    std::string text;
    for (int i = 0; i < 60; ++i) text += std::string_view("a sacl(")[random() % 7];
    if (round % 3 == 0) text += "class ";
    EXPECT_EQ(literals.scan(text, nullptr, &places), literals.none());
    for (size_t w = 0; w < wanted.size(); ++w) {
      std::vector<size_t> expected;
      for (size_t at = text.find(wanted[w]); at != std::string::npos;
           at = text.find(wanted[w], at + 1)) {
        expected.push_back(at);
      }
      EXPECT_EQ(places.of[w], expected) << text << " / " << wanted[w];
    }
  }
}

}  // namespace
}  // namespace refit
