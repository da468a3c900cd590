// Edits: conflicts case by case and against a plain definition over random edits. Entry point:
// GoogleTest's main.
#include "rewriter/text/edit.hpp"

#include <gtest/gtest.h>

#include <random>

namespace refit {
namespace {

TEST(EditSet, AppliesInOrderOfPlace) {
  EditSet edits;
  ASSERT_TRUE(edits.add({{8, 9}, "Z"}));
  ASSERT_TRUE(edits.add({{0, 0}, ">"}));
  ASSERT_TRUE(edits.add({{2, 5}, ""}));
  ASSERT_TRUE(edits.add({{10, 10}, "<"}));
  EXPECT_EQ(edits.apply("0123456789"), ">01567Z9<");
  EXPECT_EQ(EditSet().apply("text"), "text");
}

TEST(EditSet, Conflicts) {
  const struct {
    Edit first, second;
    bool accepted;
  } cases[] = {
      {{{2, 5}, "a"}, {{5, 7}, "b"}, true},   // they touch
      {{{2, 5}, "a"}, {{4, 7}, "b"}, false},  // they overlap
      {{{2, 9}, "a"}, {{4, 7}, "b"}, false},  // one inside the other
      {{{2, 5}, "a"}, {{2, 5}, "a"}, true},   // the same twice
      {{{2, 5}, "a"}, {{2, 5}, "b"}, false},  // the same place, two meanings
      {{{2, 5}, "a"}, {{2, 2}, "b"}, true},   // an insertion before the range
      {{{2, 5}, "a"}, {{5, 5}, "b"}, true},   // an insertion after the range
      {{{2, 5}, "a"}, {{3, 3}, "b"}, false},  // an insertion inside the range
      {{{2, 2}, "a"}, {{2, 2}, "b"}, false},  // two insertions at one place
      {{{2, 2}, "a"}, {{2, 2}, "a"}, true},  {{{2, 2}, "a"}, {{3, 3}, "b"}, true},
      {{{2, 5}, "a"}, {{5, 2}, "b"}, false},  // no range at all
  };
  for (const auto& c : cases) {
    EditSet edits;
    ASSERT_TRUE(edits.add(c.first));
    EXPECT_EQ(edits.add(c.second).has_value(), c.accepted) << c.second.range.begin;
    if (!c.accepted) {
      EXPECT_EQ(edits.edits(), EditSet::Edits{c.first}) << "a refusal leaves the set as it was";
    }
  }
}

TEST(EditSet, TouchingEditsApplyInOneOrderHoweverAdded) {
  const Edit edits[] = {{{2, 5}, "A"}, {{2, 2}, "("}, {{5, 5}, ")"}, {{5, 6}, "B"}};
  const int orders[][4] = {{0, 1, 2, 3}, {3, 2, 1, 0}, {2, 0, 3, 1}};
  for (const auto& order : orders) {
    EditSet set;
    for (const int i : order) ASSERT_TRUE(set.add(edits[i]));
    EXPECT_EQ(set.apply("0123456"), "01(A)B6");
  }
}

TEST(EditSet, AddAllIsAllOrNothing) {
  EditSet a, b;
  ASSERT_TRUE(a.add({{0, 2}, "x"}));
  ASSERT_TRUE(b.add({{4, 5}, "y"}));
  ASSERT_TRUE(b.add({{1, 3}, "z"}));
  EXPECT_TRUE(a.conflicts(b));
  EXPECT_TRUE(b.conflicts(a));
  const auto result = a.add_all(b);
  ASSERT_FALSE(result);
  EXPECT_EQ(a.edits().size(), 1u);
  EditSet c;
  ASSERT_TRUE(c.add({{4, 5}, "y"}));
  ASSERT_TRUE(c.add({{0, 2}, "x"}));  // shared with a
  ASSERT_TRUE(a.add_all(c));
  EXPECT_EQ(a.apply("012345"), "x23y5");
}

TEST(EditSet, AgreesWithThePlainDefinition) {
  std::mt19937 random(7);
  const auto below = [&](unsigned n) { return static_cast<uint32_t>(random() % n); };
  unsigned accepted = 0, refused = 0;
  for (int round = 0; round < 3000; ++round) {
    EditSet set;
    std::vector<Edit> kept;
    for (int i = 0; i < 8; ++i) {
      const uint32_t begin = below(12);
      const Edit edit{{begin, begin + below(4)}, std::string(1, static_cast<char>('a' + below(2)))};
      bool clash = false;
      for (const Edit& other : kept) {
        const bool same = other == edit;
        const bool both_insert = other.range.size() == 0 && edit.range.size() == 0;
        clash |=
            !same && (both_insert ? other.range == edit.range : other.range.overlaps(edit.range));
      }
      ASSERT_EQ(set.add(edit).has_value(), !clash);
      if (!clash && std::find(kept.begin(), kept.end(), edit) == kept.end()) kept.push_back(edit);
      ++(clash ? refused : accepted);
    }
    ASSERT_EQ(set.edits().size(), kept.size());
  }
  EXPECT_GT(accepted, 3000u);
  EXPECT_GT(refused, 3000u);
}

TEST(EditSet, EditsInsideARange) {
  EditSet set;
  ASSERT_TRUE(set.add({{2, 4}, "XY"}));
  ASSERT_TRUE(set.add({{4, 4}, "+"}));
  ASSERT_TRUE(set.add({{6, 6}, "-"}));
  ASSERT_TRUE(set.add({{7, 9}, ""}));
  EXPECT_EQ(set.inside({2, 6}).size(), 2u) << "an insertion at the end is outside";
  EXPECT_EQ(set.apply_inside("0123456789", {2, 6}), "XY+45");
  EXPECT_EQ(set.apply_inside("0123456789", {3, 8}), "3+45-67") << "what reaches out is left";
  set.erase_inside({2, 6});
  EXPECT_EQ(set.apply("0123456789"), "012345-69");
}

TEST(EditSet, OffsetsBeforeTheEdits) {
  EditSet set;
  ASSERT_TRUE(set.add({{2, 4}, "WXYZ"}));
  ASSERT_TRUE(set.add({{6, 6}, "++"}));
  ASSERT_TRUE(set.add({{7, 9}, ""}));
  ASSERT_EQ(set.apply("0123456789"), "01WXYZ45++69");
  const uint32_t before[] = {0, 1, 2, 2, 2, 2, 4, 5, 6, 6, 6, 9, 10};
  const Origins origins(set);
  for (uint32_t after = 0; after < 13; ++after)
    EXPECT_EQ(origins.before(after), before[after]) << after;
}

TEST(EditSet, RangesThatAnEditReplaces) {
  EditSet set;
  ASSERT_TRUE(set.add({{2, 6}, ""}));
  ASSERT_TRUE(set.add({{6, 6}, "+"}));
  EXPECT_TRUE(set.replaces({2, 6}));
  EXPECT_TRUE(set.replaces({3, 5}));
  EXPECT_FALSE(set.replaces({1, 4}));
  EXPECT_FALSE(set.replaces({5, 7}));
  EXPECT_FALSE(set.replaces({6, 8}));
}

}  // namespace
}  // namespace refit
