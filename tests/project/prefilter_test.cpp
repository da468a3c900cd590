// The prefilter against a search that is too plain to be wrong, over random texts and literals, and
// the cases that an automaton gets wrong first: literals inside literals, shared suffixes, bytes
// beyond ASCII. Entry point: GoogleTest's main.
#include "rewriter/project/prefilter.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <random>

namespace refit {
namespace {

std::vector<bool> naive(const std::vector<Triggers>& rules, std::string_view text) {
  std::vector<bool> answer;
  for (const Triggers& rule : rules) {
    bool all = true;
    for (const auto& any_of : rule) {
      bool any = false;
      for (const std::string& literal : any_of) any |= text.find(literal) != std::string_view::npos;
      all &= any;
    }
    answer.push_back(all);
  }
  return answer;
}

TEST(Prefilter, Cases) {
  const std::vector<Triggers> rules = {
      {{"softmax"}, {"clamp", "amax"}},  // two clauses
      {{"max"}},                         // inside other literals
      {},                                // asks for nothing
      {{}},                              // can never be met
      {{""}},                            // the empty string stands everywhere
      {{"he", "she"}, {"hers"}},         // the paper's own words
      {{"\xc3\xa9"}},                    // UTF-8
      {{std::string("\0x", 2)}},         // a NUL is a byte like any other
      {{"ab"}, {"abab"}, {"babab"}},     // overlaps with itself
  };
  const Prefilter prefilter(rules);
  for (const std::string& text :
       {std::string(), std::string("softmax(x.clamp())"), std::string("soft max"),
        std::string("amax softmax"), std::string("ushers"), std::string("caf\xc3\xa9"),
        std::string("a\0x", 3), std::string("ababab"), std::string("abab"), std::string("ba")}) {
    EXPECT_EQ(prefilter.scan(text), naive(rules, text)) << text;
  }
}

TEST(Prefilter, NoRules) {
  EXPECT_TRUE(Prefilter({}).scan("text").empty());
  EXPECT_FALSE(Prefilter::any({}));
  EXPECT_FALSE(Prefilter::any({false, false}));
  EXPECT_TRUE(Prefilter::any({false, true}));
}

TEST(Prefilter, AgreesWithNaiveSearch) {
  std::mt19937 random(20240607);
  const auto below = [&](unsigned n) { return static_cast<unsigned>(random() % n); };
  const auto word = [&](unsigned alphabet, unsigned longest) {
    std::string text;
    for (unsigned n = 1 + below(longest); n > 0; --n) {
      text.push_back(static_cast<char>('a' + below(alphabet)));
    }
    return text;
  };
  unsigned met = 0, unmet = 0;
  for (int round = 0; round < 2000; ++round) {
    const unsigned alphabet = 2 + below(4);  // small, so that literals overlap a great deal
    std::vector<Triggers> rules(below(6));
    for (Triggers& rule : rules) {
      rule.resize(below(4));
      for (auto& any_of : rule) {
        any_of.resize(1 + below(3));
        for (std::string& literal : any_of) literal = word(alphabet, 6);
      }
    }
    const Prefilter prefilter(rules);
    for (int i = 0; i < 5; ++i) {
      const std::string text = word(alphabet, 40);
      const std::vector<bool> expected = naive(rules, text);
      ASSERT_EQ(prefilter.scan(text), expected) << text;
      for (const bool bit : expected) ++(bit ? met : unmet);
    }
  }
  EXPECT_GT(met, 5000u);
  EXPECT_GT(unmet, 5000u);
}

TEST(Prefilter, FiftyMegabytes) {
  std::string text;
  text.reserve(50u << 20);
  while (text.size() < (50u << 20)) text += "    x = self.scaled(dot, product) + attn(q, k)\n";
  text += "flash_attn_func";
  const Prefilter prefilter({{{"scaled_dot_product_attention"}}, {{"flash_attn_func"}}});
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(prefilter.scan(text), (std::vector<bool>{false, true}));
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  RecordProperty("milliseconds", static_cast<int>(took.count() * 1000));
  // Generous enough for a sanitizer on a busy machine; a quadratic scan takes minutes.
  EXPECT_LT(took.count(), 10.0);
}

}  // namespace
}  // namespace refit
