// Statements that keep the trees that they had before an edit: the whole tree is the one that the
// parser makes of the new text, over the corpus with edits at random places, and a mistake anywhere
// is found.
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <random>
#include <sstream>

#include "rewriter/frontend/python/outline.hpp"
#include "rewriter/frontend/python/reuse.hpp"
#include "tests/frontend/corpus_texts.hpp"

namespace refit::python {
namespace {

std::string dump(const Tree& tree) {
  std::ostringstream out;
  const NodeData* root = tree.root().get();
  for (const NodeData* n = root; n < root + root->extent; ++n) {
    out << type_name(TSNode(n)) << ' ' << n->begin << '-' << n->end << " above " << n->above
        << " extent " << n->extent << " field " << int{n->field} << (n->named ? " named" : "")
        << (n->missing ? " missing" : "") << (n->has_error ? " error" : "") << '\n';
  }
  return out.str();
}

std::vector<ByteRange> bodies(const std::vector<Unseen>& unseen) {
  std::vector<ByteRange> out;
  for (const Unseen& u : unseen) out.push_back(u.body);
  return out;
}

// Bodies that nobody looks into, each with a chance of one in `every`.
std::vector<Unseen> some_unseen(std::string_view text, std::mt19937& random, uint32_t every) {
  std::vector<Unseen> out;
  const auto outlined = outline(text, "m", false);
  if (!outlined) return out;
  for (const OutlinedDefinition& d : outlined->definitions) {
    const bool fits = d.body + Tree::kFoldable <= d.end;
    if (!fits || (!out.empty() && d.body < out.back().body.end) || random() % every != 0) continue;
    out.push_back({d.header, {d.body, d.end}});
  }
  return out;
}

std::unique_ptr<PythonUnit> unit_of(const std::string& text, std::vector<Unseen> unseen) {
  auto source = Source::decode("m.py", text);
  if (!source) return nullptr;
  Tree tree(source->text(), bodies(unseen));
  auto unit = std::make_unique<PythonUnit>(std::move(*source), "m.py", std::move(tree));
  unit->unseen = std::move(unseen);
  return unit;
}

// Compares the two trees of a new text; returns how many bytes of it were known.
size_t compare(const PythonUnit& before, const EditSet& edits, const std::string& text,
               const std::vector<Unseen>& unseen) {
  const Origins origins(edits);
  Focus focus;
  focus.before = &before;
  focus.origins = &origins;
  const auto known = unchanged_statements(text, focus, unseen);
  size_t bytes = 0;
  for (const Tree::Known& k : known) bytes += k.range.size();
  EXPECT_EQ(dump(Tree(text, bodies(unseen), known)), dump(Tree(text, bodies(unseen)))) << text;
  return bytes;
}

// What is put in before a line, behind it, or in place of one.
constexpr std::string_view kWritten[] = {
    "",        "x = 1\n", "# c\n",   "    # c\n", "  # c\n",          "        # c\n",
    "else:\n", "(\n",     ")\n",     "\"\"\"\n",  "if y: \\\n",       "if y:\n",
    "@d\n",    "    ",    "\\\n",    "x = \\\n",  "    return 1\n",   "class A:\n",
    "\t",      "x; ",     "\f\n",    "\n",        "match x:\n",       "    case 1:\n",
    "async ",  "def f(",  "x = [\n", "elif z:\n", "except E as e:\n", "try:\n"};
constexpr std::string_view kBehind[] = {"; y", " # c", " \\", " + 1",  ":",
                                        " (",  "  ",   "\r",  "\"\"\""};

EditSet random_edits(const std::string& text, std::mt19937& random) {
  EditSet edits;
  for (size_t count = 1 + random() % 3; count > 0; --count) {
    const size_t at = random() % text.size();
    const size_t before = text.rfind('\n', at);
    const auto line = static_cast<uint32_t>(before == std::string::npos ? 0 : before + 1);
    const auto end = static_cast<uint32_t>(std::min(text.find('\n', line), text.size()));
    const auto behind = static_cast<uint32_t>(std::min<size_t>(end + size_t{1}, text.size()));
    const auto spot = static_cast<uint32_t>(at);
    const std::string written(kWritten[random() % std::size(kWritten)]);
    Edit edit;
    switch (random() % 5) {
      case 0:
        edit = {{line, line}, written};
        break;
      case 1:
        edit = {{line, behind}, written};
        break;
      case 2:
        edit = {{end, end}, std::string(kBehind[random() % std::size(kBehind)])};
        break;
      case 3:
        edit = {{spot, spot + 1}, ""};
        break;
      default:
        edit = {{spot, spot}, "a"};
    }
    (void)edits.add(edit);
  }
  return edits;
}

TEST(Reuse, IsWhatTheParserMakes) {
  std::mt19937 random(20261122);
  size_t known = 0, all = 0;
  for (const std::string& text : corpus_texts()) {
    if (text.size() < 2) continue;
    for (int round = 0; round < 4; ++round) {
      const auto before = unit_of(text, some_unseen(text, random, 4));
      if (before == nullptr || before->text() != text) break;
      const EditSet edits = random_edits(text, random);
      const std::string after = edits.apply(text);
      if (after.find(kFold) != std::string::npos) continue;
      known += compare(*before, edits, after, some_unseen(after, random, 2));
      all += after.size();
    }
  }
  EXPECT_GT(known, all / 4);
}

constexpr std::string_view kText = R"(import a
from b import c  # d


@a.deco
class A(c):
    """Text."""

    x = 1; y = 2

    def f(self, u):
        # first
        if u:
            return [u,
                    1]
        elif self.x:
            u += 1
            # last of the branch
        else:
            u = (u
                 + 2)
        for i in u: print(i)
        while u:
            with a.b(u) as v:
                u = v
        else:
            u = None
        try:
            a(u)
        except (E, F) as e:
            raise e
        finally:
            del u
        # behind
        return 'text'

    async def g(self):
        def inner():
            yield 1
        match self.x:
            case 1:
                pass
        return inner

# about h
def h(): return 1


if a:
    z = {
        1: 2,
    }
z = 3
)";

// Where something wrong stands first in a line, at its end, or in place of it, it is found.
TEST(Reuse, HidesNoMistake) {
  const std::string text(kText);
  std::vector<Unseen> none;
  const auto before = unit_of(text, {});
  ASSERT_FALSE(ts_node_has_error(before->tree.root()));
  size_t broken = 0, known = 0;
  for (size_t line = 0; line < text.size(); line = text.find('\n', line) + 1) {
    const auto begin = static_cast<uint32_t>(line);
    const auto end = static_cast<uint32_t>(text.find('\n', line));
    for (const std::string_view wrong :
         {"$", ")", "x = = 1", "(", "\"\"\"", "def", "\\", "y: \\\n"}) {
      for (const ByteRange range : {ByteRange{begin, begin}, {end, end}, {begin, end}}) {
        EditSet edits;
        ASSERT_TRUE(edits.add({range, std::string(wrong)}));
        const std::string after = edits.apply(text);
        const Tree whole(after);
        broken += ts_node_has_error(whole.root());
        known += compare(*before, edits, after, none);
      }
    }
  }
  EXPECT_GT(broken, 500u);
  EXPECT_GT(known, size_t{500} * text.size() / 2);
}

// Every line can go, come twice, or be written anew, with the others' trees kept.
TEST(Reuse, KeepsWhatWasNotTouched) {
  const std::string text(kText);
  const auto before = unit_of(text, {});
  for (size_t line = 0; line < text.size(); line = text.find('\n', line) + 1) {
    const auto begin = static_cast<uint32_t>(line);
    const auto end = static_cast<uint32_t>(text.find('\n', line) + 1);
    const std::string same = text.substr(begin, end - begin);
    for (const std::string& written : {std::string(), same + same, "    " + same}) {
      EditSet edits;
      ASSERT_TRUE(edits.add({{begin, end}, written}));
      EXPECT_GT(compare(*before, edits, edits.apply(text), {}), text.size() / 3);
    }
  }
}

// A body that is now folded is, in a row that is known; one that was folded is parsed.
TEST(Reuse, FoldsBodies) {
  const std::string text(kText);
  std::mt19937 random(20261122);
  for (const uint32_t then : {1u, 2u, 9u}) {
    for (const uint32_t now : {1u, 2u, 9u}) {
      const auto before = unit_of(text, some_unseen(text, random, then));
      EditSet edits;
      ASSERT_TRUE(edits.add({{0, 8}, "import b as a"}));
      const std::string after = edits.apply(text);
      compare(*before, edits, after, some_unseen(after, random, now));
    }
  }
}

}  // namespace
}  // namespace refit::python
