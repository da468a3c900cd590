// Trees of texts: an edited tree is the one that the new text alone has; walks and children leave
// out what they say they do.
#include "rewriter/python/syntax/syntax.hpp"

#include <gtest/gtest.h>

#include <random>
#include <sstream>
#include <string>

#include "tests/python/corpus_texts.hpp"

namespace refit::python {
namespace {

std::string dump(TSNode root) {
  std::ostringstream out;
  walk_tree(root, [&](TSNode node) {
    out << type_name(node) << ' ' << ts_node_start_byte(node) << '-' << ts_node_end_byte(node)
        << (ts_node_is_missing(node) ? " missing\n" : "\n");
    return true;
  });
  return out.str();
}

// Some edits of a text at the ends of its words, and the text that they make.
EditSet random_edits(std::string_view text, std::mt19937& random) {
  static constexpr std::string_view kTexts[] = {
      "x", "", " + y", "\n", "\n    z = f(a)\n", "(", "'", "\"\"\"", "# note", ":", "\\\n", "\t"};
  EditSet edits;
  const size_t count = 1 + random() % 4;
  for (size_t i = 0; i < count; ++i) {
    const auto begin = static_cast<uint32_t>(random() % (text.size() + 1));
    const auto size = static_cast<uint32_t>(random() % 12);
    const uint32_t end = std::min(begin + size, static_cast<uint32_t>(text.size()));
    (void)edits.add({{begin, end}, std::string(kTexts[random() % std::size(kTexts)])});
  }
  return edits;
}

TEST(Tree, AfterEditsIsTheTreeOfTheNewText) {
  std::mt19937 random(20261123);
  size_t compared = 0;
  for (const std::string& text : corpus_texts()) {
    if (text.size() > 20000) continue;
    const Tree before(text);
    for (int i = 0; i < 4; ++i) {
      const EditSet edits = random_edits(text, random);
      const std::string after = edits.apply(text);
      const Tree whole(after);
      // What tree-sitter makes of mistakes may depend on what it read before.
      if (ts_node_has_error(whole.root())) continue;
      EXPECT_EQ(dump(Tree(after, before, text, edits).root()), dump(whole.root())) << after;
      ++compared;
    }
  }
  EXPECT_GT(compared, 50U);
}

TEST(Tree, OfAPartHasThePlacesOfTheText) {
  const std::string_view text = "a = 1\ndef f(x):\n  return x\nb = 2\n";
  const Tree part(text, ByteRange{6, 26});
  const NodeList statements = children_of(part.root());
  ASSERT_EQ(statements.size(), 1U);
  EXPECT_EQ(text_of(text, field(statements[0], "name")), "f");
  EXPECT_EQ(range_of(statements[0]), (ByteRange{6, 26}));
}

TEST(Children, AreNamedAndNoComments) {
  const std::string_view text = "f(a,  # first\n  \\\n  b)\n";
  const Tree tree(text);
  const TSNode call = children_of(children_of(tree.root())[0])[0];
  const NodeList arguments = children_of(field(call, "arguments"));
  ASSERT_EQ(arguments.size(), 2U);
  EXPECT_EQ(text_of(text, arguments[1]), "b");
  EXPECT_GT(all_children_of(field(call, "arguments")).size(), 5U);
}

TEST(Walk, StaysOutOfWhatItIsToldTo) {
  const std::string_view text = "def f():\n  a\nb\n";
  const Tree tree(text);
  std::vector<std::string_view> names;
  walk_tree(tree.root(), [&](TSNode node) {
    if (is(node, "identifier")) names.push_back(text_of(text, node));
    return !is(node, "block");
  });
  EXPECT_EQ(names, (std::vector<std::string_view>{"f", "b"}));
  names.clear();
  walk_tree(children_of(tree.root())[1], [&](TSNode node) {
    if (is(node, "identifier")) names.push_back(text_of(text, node));
    return true;
  });
  EXPECT_EQ(names, std::vector<std::string_view>{"b"}) << "the walk ends with the node";
}

TEST(Nodes, OfOneTreeCompare) {
  const Tree tree("x = 1\n");
  EXPECT_EQ(tree.root(), tree.root());
  EXPECT_NE(tree.root(), children_of(tree.root())[0]);
  EXPECT_FALSE(present(field(tree.root(), "body")));
  EXPECT_FALSE(present(TSNode{}));
}

}  // namespace
}  // namespace refit::python
