// A search that ends at its bound is said, with its name, how often and where first; the same with
// any number of threads.
#include <gtest/gtest.h>

#include "rewriter/cli/languages.hpp"
#include "tests/rule/scratch_folder.hpp"

namespace refit {
namespace {

// `calls` values that one list may share storage with.
std::string list_of(size_t calls) {
  std::string text =
      "import torch\nimport torch.nn.functional as F\nfrom a import made\n\n\n"
      "def f(q, k, v):\n    kept = [";
  for (size_t i = 0; i < calls; ++i) text += "made(" + std::to_string(i) + "), ";
  return text + "]\n    kept[0].add_(1)\n    return F.scaled_dot_product_attention(q, k, v)\n";
}

std::vector<std::string> bounds_in(const std::vector<std::string>& texts, unsigned jobs) {
  static const RuleSet rules =
      *RuleSet::load({REFIT_RULES_DIR}, std::string(REFIT_RULES_DIR) + "/catalogue");
  const ScratchFolder folder;
  Input input{folder.path(), {}, {""}};
  for (size_t i = 0; i < texts.size(); ++i) {
    const std::string name = "m" + std::to_string(i) + ".py";
    folder.put(name, texts[i]);
    input.files.push_back({folder.path(name), name});
  }
  EngineOptions options;
  options.jobs = jobs;
  options.rules_folder = REFIT_RULES_DIR;
  auto result = run(rules, input, options, nullptr);
  std::vector<std::string> out;
  if (!result) return {result.error().message};
  EXPECT_EQ(result->changed.size(), texts.size());
  for (const std::string& note : result->notes) {
    if (note.starts_with("bound: ")) out.push_back(note);
  }
  return out;
}

TEST(BoundsNote, NamesTheBoundTheCountAndTheFirstPlace) {
  const auto notes = bounds_in({list_of(10), list_of(3000)}, 1);
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_TRUE(notes[0].starts_with("bound: storage_roots was reached ")) << notes[0];
  EXPECT_TRUE(notes[0].ends_with(" times, first in m1.py:7")) << notes[0];
}

TEST(BoundsNote, IsTheSameWithManyThreads) {
  std::vector<std::string> texts;
  for (size_t i = 0; i < 12; ++i) texts.push_back(list_of(i % 3 == 1 ? 3000 : 20));
  const auto one = bounds_in(texts, 1);
  ASSERT_EQ(one.size(), 1U);
  EXPECT_EQ(bounds_in(texts, 4), one);
}

TEST(BoundsNote, IsNotThereWhereNoneWasReached) {
  EXPECT_EQ(bounds_in({list_of(100)}, 1).size(), 0U);
}

}  // namespace
}  // namespace refit
