// Patterns and equations of axes: when two spellings say the same, and when they do not.
#include "rewriter/graph/axis_pattern.hpp"

#include <gtest/gtest.h>

namespace refit {
namespace {

TEST(AxisPattern, PairsAndHalvesOfTheLastAxisHaveOneSpelling) {
  const AxisLengths pairs{{"r", 2}}, halves{{"j", 2}}, heads{{"h", 8}};
  EXPECT_EQ(last_axis_pattern("... (d r) -> ... d r", pairs), "... (a 2) -> ... a 2");
  EXPECT_EQ(last_axis_pattern("b n (d r)->b n d r", pairs), "... (a 2) -> ... a 2");
  EXPECT_EQ(last_axis_pattern("... (j d) -> ... j d", halves), "... (2 b) -> ... 2 b");
  EXPECT_EQ(last_axis_pattern("... d r -> ... (d r)", {}), "... a b -> ... (a b)");
  // Another length, an order that changes, an axis in between, a length that is not known.
  EXPECT_EQ(last_axis_pattern("b n (h d) -> b n h d", heads), "");
  EXPECT_EQ(last_axis_pattern("... (d r) -> ... r d", pairs), "");
  EXPECT_EQ(last_axis_pattern("... (j d) -> j ... d", halves), "");
  EXPECT_EQ(last_axis_pattern("... (d r) -> ... d r", {}), "");
  EXPECT_EQ(last_axis_pattern("b (n r) d -> b n r d", pairs), "");
  // The number of axes that are named shows a rank, which is worth more.
  EXPECT_EQ(last_axis_pattern("b n h d -> b n (h d)", {}), "");
  EXPECT_EQ(last_axis_pattern("no pattern", {}), "");
}

TEST(AxisPattern, EquationsAreComparedUpToTheirLetters) {
  const char* scores = "abcd,abed->abce";
  EXPECT_TRUE(same_equation(scores, "bhid,bhjd->bhij"));
  EXPECT_TRUE(same_equation(scores, "b h i d, b h j d -> b h i j"));
  EXPECT_FALSE(same_equation(scores, "bqhd,bkhd->bhqk"));
  EXPECT_FALSE(same_equation(scores, "bhid,bhjd->bhji"));
  EXPECT_FALSE(same_equation(scores, "bhid,bhid->bhii"));
  EXPECT_FALSE(same_equation(scores, "bhid,bhjd"));
  EXPECT_FALSE(same_equation("abc,abd->acd", "aac,aad->acd"));
}

TEST(AxisPattern, PatternsOfOneTensorAreComparedUpToTheirWords) {
  EXPECT_TRUE(same_equation("a b c -> a c b", "batch chan len -> batch len chan"));
  EXPECT_TRUE(same_equation("a (b c) -> a c b", "n (h d) -> n d h"));
  EXPECT_FALSE(same_equation("a b c -> a c b", "n c l -> n c l"));
  EXPECT_FALSE(same_equation("a b c -> a c b", "n 1 l -> n l 1"));
  // Equations of one operand: the letters are axes, and one that stands twice is a diagonal.
  EXPECT_TRUE(same_equation("ab->a", "ij->i"));
  EXPECT_FALSE(same_equation("ab->a", "ii->i"));
  EXPECT_FALSE(same_equation("ab->c", "ii->i"));
}

}  // namespace
}  // namespace refit
