// Entries of the prefilter's vocabulary, and the places where each stands.
#include "rewriter/project/vocabulary.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "rewriter/project/word_set.hpp"

namespace refit {
namespace {

std::vector<size_t> places(const std::string& entry, std::string_view text) {
  Vocabulary vocabulary;
  auto id = vocabulary.add(entry);
  EXPECT_TRUE(id.has_value()) << entry;
  std::vector<size_t> out;
  vocabulary.scan(
      text, true, [](uint32_t) { return false; }, [&](uint32_t, size_t at) { out.push_back(at); },
      [](uint64_t, size_t, size_t) {});
  return out;
}

struct Row {
  std::string name, entry, text;
  size_t count;
};
void PrintTo(const Row& row, std::ostream* out) { *out << row.name; }

class Stands : public testing::TestWithParam<Row> {};
TEST_P(Stands, AsOftenAsItIsWritten) {
  const Row& row = GetParam();
  EXPECT_EQ(places(row.entry, row.text).size(), row.count) << row.entry << " in " << row.text;
}

INSTANTIATE_TEST_SUITE_P(
    Vocabulary, Stands,
    testing::Values(
        Row{"word", "softmax", "F.softmax(x) + log_softmax(x) + softmax", 2},
        Row{"word_in_a_string", "softmax", "x = 'softmax'", 1},
        Row{"word_in_a_comment", "softmax", "x = 1  # softmax\n'#'; softmax", 1},
        Row{"behind_a_dot", ".backward", "loss.backward(); loss\\\n  . backward; backward()", 2},
        Row{"dotted", "onnx.export", "torch.onnx.export(m); onnx . export; export", 2},
        Row{"number", "1.702", "x * 1.702 + 1702 + 11.702", 1},
        Row{"call", "mean()", "x.mean(-1) + mean (x) + mean", 2},
        Row{"call_over_lines", "mean()", "x.mean \\\n (x)", 1},
        Row{"call_with", "cat(-1)", "torch.cat([a, f(b)],\n  dim=-1) + cat(a, 1) + cat(a, x - 10)",
            1},
        Row{"call_with_all", "view(-1 1 2)", "x.view(-1, 1, 2) + x.view(-1, 2)", 1},
        Row{"call_with_a_word", "mean(True)", "mean(-1, keepdim=True) + mean(x).f(True)", 1},
        Row{"call_with_nothing", "cos(nothing)", "x.cos() + torch.cos(x) + y.cos( ) + cos", 2},
        Row{"not_called", "read *cos*", "cos * x + torch.cos(x) + cos_half[0] + f.cos ()", 2},
        Row{"no_string", "code softmax", "F.softmax(x); hasattr(F, 'softmax'); '''softmax x'''", 2},
        Row{"dotted_call", "torch.max()", "torch.max(x) + x.max()", 1},
        Row{"prefix", "apply_rotary*", "apply_rotary_emb(x); my_apply_rotary", 1},
        Row{"suffix", "*_emb", "rotary_emb, emb, _emb_x", 1},
        Row{"both_ends", "apply_*_emb", "apply_rotary_emb(x); apply_emb, my_apply_x_emb, apply_x",
            1},
        Row{"infix", "*Norm*", "LayerNorm NormNorm norm", 2},
        Row{"bracket", "*a[0-9]", "xa1 a2 aa ab1", 2},
        Row{"infix_call", "*norm*()", "self.norm1(x) + norm + self.norm_2 (y)", 2},
        Row{"product", "@", "q@k + q @ k\n@decorator\ndef f(): pass", 2},
        Row{"product_over_lines", "@", "(q\n @ k)", 1},
        Row{"power", "**", "x ** 2 + f(a, **kwargs) + x**2", 2},
        Row{"halves", "// 2", "d//2 + d // 2 + d // 20", 2},
        Row{"step", "::2", "x[..., ::2] + x[1:: 2] + x[::3]", 2},
        Row{"one_and", "1 +", "(1 + s) + (1+s) + (11 + s) + (s + 1)", 2},
        Row{"one_point_and", "1.0 +", "(1.0 + s) + (1 + s)", 1},
        Row{"and_one", "+ 1", "(s + 1) + (s +1) + (s + 1.0)", 2}),
    [](const auto& row) { return row.param.name; });

TEST(Vocabulary, NumbersEqualEntriesAlike) {
  Vocabulary vocabulary;
  const uint32_t a = *vocabulary.add("softmax"), b = *vocabulary.add("softmax()");
  EXPECT_NE(a, b);
  EXPECT_EQ(a, *vocabulary.add("softmax"));
  EXPECT_EQ(a, vocabulary.add_word("softmax"));
  EXPECT_EQ(vocabulary.size(), 2U);
}

TEST(Vocabulary, TellsWhatIsGivenByItsWords) {
  Vocabulary vocabulary;
  const uint32_t given = *vocabulary.add("given *Norm*"), word = *vocabulary.add("*Norm*");
  EntrySet words = vocabulary.none();
  EXPECT_FALSE(vocabulary.given(words).test(given));
  words.set(word);
  EXPECT_TRUE(vocabulary.given(words).test(given));
}

TEST(Vocabulary, SaysWhatIsNoEntry) {
  EXPECT_EQ(Vocabulary::wrong("softmax"), "");
  for (const char* entry : {"", "a b", "f(", "*", "a.(b", "$x", "+", "[ab]*", "a[b"}) {
    EXPECT_NE(Vocabulary::wrong(entry).find("expected a word"), std::string::npos) << entry;
  }
}

// Many words of one table: each is found where it stands, and nowhere else.
TEST(Vocabulary, FindsEachOfManyWords) {
  std::mt19937 random(7);
  Vocabulary vocabulary;
  std::vector<std::string> words;
  for (int i = 0; i < 500; ++i) {
    std::string word = "w";
    for (size_t n = random() % 9; n > 0; --n) word += static_cast<char>('a' + random() % 4);
    vocabulary.add_word(word);
    words.push_back(word);
  }
  for (int round = 0; round < 200; ++round) {
    std::string text, wanted = words[random() % words.size()];
    for (size_t n = random() % 20; n > 0; --n) text += "x" + words[random() % words.size()] + " ";
    const size_t at = text.size();
    text += wanted;
    size_t found = 0;
    vocabulary.scan(
        text, true, [](uint32_t) { return false; },
        [&](uint32_t id, size_t place) {
          EXPECT_EQ(place, at);
          found += id == vocabulary.add_word(wanted) ? 1 : 0;
        },
        [](uint64_t, size_t, size_t) {});
    EXPECT_EQ(found, 1U) << text;
  }
}

TEST(WordSet, NeverMissesAWord) {
  std::string text;
  for (int i = 0; i < 4000; ++i)
    text += "name" + std::to_string(i * 37) + "(é_" + std::to_string(i) + ") ";
  WordSet set(text.size());
  size_t others = 0;
  visit_words(text, [&](uint64_t hash, size_t, size_t) { set.add(hash); });
  visit_words(text, [&](uint64_t, size_t begin, size_t end) {
    EXPECT_TRUE(set.may_hold(text.substr(begin, end - begin)));
  });
  for (int i = 0; i < 1000; ++i) others += set.may_hold("other" + std::to_string(i)) ? 1 : 0;
  EXPECT_LT(others, 900U);
  EXPECT_FALSE(WordSet().may_hold("name"));
}

}  // namespace
}  // namespace refit
