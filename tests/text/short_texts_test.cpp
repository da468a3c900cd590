// A diff over short lines is libgit2's over the texts themselves, byte for byte, whatever the
// texts. Entry point: GoogleTest's main.
#include "rewriter/text/short_texts.hpp"

#include <git2.h>
#include <gtest/gtest.h>

#include <random>

#include "rewriter/text/blob_id.hpp"
#include "rewriter/text/diff.hpp"
#include "rewriter/text/libgit2.hpp"

namespace refit {
namespace {

// libgit2's own, without the mode that it gives to a text without a file.
std::string whole_diff(std::string_view before, std::string_view after) {
  start_libgit2();
  git_diff_options options;
  git_diff_options_init(&options, GIT_DIFF_OPTIONS_VERSION);
  options.flags |= GIT_DIFF_FORCE_TEXT | GIT_DIFF_INDENT_HEURISTIC;
  git_patch* patch = nullptr;
  git_buf buffer = {};
  EXPECT_EQ(git_patch_from_buffers(&patch, before.data(), before.size(), "a.py", after.data(),
                                   after.size(), "a.py", &options),
            0);
  EXPECT_EQ(git_patch_to_buf(&buffer, patch), 0);
  std::string text(buffer.ptr, buffer.size);
  git_buf_dispose(&buffer);
  git_patch_free(patch);
  const std::size_t mode = text.find(" 100644\n");
  if (mode < text.find("\n---")) text.erase(mode, 7);
  return text;
}

void expect_same(const std::string& before, const std::string& after) {
  if (before == after) return;
  EXPECT_EQ(unified_diff("a.py", before, after, false).value(), whole_diff(before, after));
}

using Text = std::vector<std::string>;  // lines without their ends

std::string joined(const Text& lines, const std::string& end, bool final_end) {
  std::string text;
  for (const std::string& line : lines) text += line + end;
  if (!final_end && !text.empty()) text.resize(text.size() - end.size());
  return text;
}

class Random {
 public:
  explicit Random(uint32_t seed) : engine_(seed) {}

  std::size_t below(std::size_t end) { return end == 0 ? 0 : engine_() % end; }
  bool one_in(std::size_t n) { return below(n) == 0; }

  std::string line(std::size_t words) {
    static const char* const kWords[] = {
        "def f", "class C", "_x", "$y", "import a", "x = 1", "return x", ")", "\"\"\"", "#",
        "!",     "!!",      "\"", "~",  "\xc3\xa9", "\x85",  "else:",    "@", "if y"};
    static const char* const kIndents[] = {"",     "",   "    ",         "        ", "\t",
                                           "  \t", "\f", "            ", "   ",      "\v \t "};
    if (one_in(5)) return one_in(2) ? "" : "    ";
    std::string text = kIndents[below(std::size(kIndents))];
    text += kWords[below(std::size(kWords))];
    if (!one_in(3)) text += std::to_string(below(words));
    if (one_in(300)) text.insert(0, 210, ' ');
    return text;
  }

  Text text(std::size_t size, std::size_t words) {
    Text lines;
    while (lines.size() < size) {
      if (lines.size() > 3 && one_in(30)) {  // again what stands a little above
        const std::size_t count = 1 + below(std::min<std::size_t>(lines.size(), 12));
        const std::size_t begin = lines.size() - count;
        for (std::size_t times = 1 + below(4); times > 0; --times) {
          for (std::size_t i = 0; i < count; ++i) lines.push_back(std::string(lines[begin + i]));
        }
      }
      lines.push_back(line(words));
    }
    return lines;
  }

  Text edited(Text lines, std::size_t edits, std::size_t words) {
    for (; edits > 0; --edits) {
      const std::size_t at = below(lines.size() + 1);
      const std::size_t size = std::min<std::size_t>(lines.size() - at, below(8));
      const auto begin = lines.begin() + static_cast<std::ptrdiff_t>(at);
      const Text taken(begin, begin + static_cast<std::ptrdiff_t>(size));
      Text put;
      switch (below(5)) {
        case 0:  // away
          break;
        case 1:  // twice
          put = taken;
          put.insert(put.end(), taken.begin(), taken.end());
          break;
        case 2:  // other lines
          put = text(below(8), words);
          break;
        case 3:  // other lines between
          for (const std::string& line : taken) {
            put.push_back(line);
            if (one_in(3)) put.push_back(this->line(words));
          }
          break;
        default: {  // to another place
          lines.erase(begin, begin + static_cast<std::ptrdiff_t>(size));
          const auto to = lines.begin() + static_cast<std::ptrdiff_t>(below(lines.size() + 1));
          lines.insert(to, taken.begin(), taken.end());
          continue;
        }
      }
      lines.erase(begin, begin + static_cast<std::ptrdiff_t>(size));
      lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(at), put.begin(), put.end());
    }
    return lines;
  }

 private:
  std::mt19937 engine_;
};

TEST(ShortTexts, Ends) {
  const char* const texts[] = {"",           "a",      "a\n",    "a\nb", "a\nb\n",     "b\n",
                               "\n",         "\n\n",   "a\na\n", "a\na", "a\n\na",     "  a\n",
                               " \n",        " ",      "!\n",    "!!\n", "\xc3\xa9\n", "a\r\n",
                               "a\r\na\r\n", "b\na\n", "  a"};
  for (const std::string before : texts) {
    for (const std::string after : texts) {
      SCOPED_TRACE(testing::PrintToString(before) + " " + testing::PrintToString(after));
      expect_same(before, after);
    }
  }
}

TEST(ShortTexts, AnyTexts) {
  for (uint32_t round = 0; round < 1500 && !testing::Test::HasFailure(); ++round) {
    SCOPED_TRACE(round);
    Random random(round);
    const std::size_t words = 1 + random.below(round % 3 == 0 ? 4 : 400);
    const Text lines = random.text(random.below(round % 10 == 0 ? 3000 : 200), words);
    const Text others = random.edited(lines, 1 + random.below(round % 7 == 0 ? 60 : 4), words);
    const std::string end = random.one_in(6) ? "\r\n" : "\n";
    expect_same(joined(lines, end, !random.one_in(5)), joined(others, end, !random.one_in(5)));
  }
}

// Long stretches of the same few lines, in which a change can stand at many places.
TEST(ShortTexts, Periods) {
  for (uint32_t round = 0; round < 300 && !testing::Test::HasFailure(); ++round) {
    SCOPED_TRACE(round);
    Random random(round);
    const Text period = random.text(1 + random.below(6), 400);
    Text lines = random.text(random.below(20), 400);
    for (std::size_t times = random.below(80); times > 0; --times) {
      lines.insert(lines.end(), period.begin(), period.end());
      if (random.one_in(40)) lines.push_back(random.line(400));
    }
    const Text tail = random.text(random.below(20), 400);
    lines.insert(lines.end(), tail.begin(), tail.end());
    expect_same(joined(lines, "\n", true), joined(random.edited(lines, 2, 400), "\n", true));
  }
}

// Lines between others, some of them equal to their neighbours: they can stand further up or down,
// and what stands around them decides where.
TEST(ShortTexts, Neighbours) {
  static const char* const kIndents[] = {"", "  ", "    ", "\t", "      "};
  for (uint32_t round = 0; round < 30000 && !testing::Test::HasFailure(); ++round) {
    SCOPED_TRACE(round);
    Random random(round);
    const auto line = [&random](std::size_t kinds) {
      if (random.one_in(4)) return std::string(random.one_in(3) ? " " : "");
      return std::string(kIndents[random.below(5)]) + (random.one_in(5) ? "x" : "#") +
             std::to_string(random.below(kinds));
    };
    Text lines(4 + random.below(14));
    for (std::string& each : lines) each = line(random.one_in(4) ? 3 : 1000);
    const std::size_t at = 2 + random.below(lines.size() - 3);
    const std::string near[] = {lines[at - 2], lines[at - 1], lines[at], lines[at + 1]};
    Text others = lines;
    for (std::size_t more = 1 + random.below(4); more > 0; --more) {
      others.insert(others.begin() + static_cast<std::ptrdiff_t>(at),
                    random.one_in(3) ? line(1000) : near[random.below(4)]);
    }
    // Both ways: lines that come, lines that go.
    expect_same(joined(lines, "\n", true), joined(others, "\n", true));
    expect_same(joined(others, "\n", true), joined(lines, "\n", true));
  }
}

TEST(ShortTexts, LinesAreShort) {
  std::string before;
  for (int i = 0; i < 1000; ++i) {
    before += "        hidden_states = self.norm(hidden_states, temb)[" + std::to_string(i) + "]\n";
  }
  std::string after = before;
  after.replace(after.find("[10]"), 4, "[a]").replace(after.find("[900]"), 5, "[b]");
  const ShortTexts texts(before, after);
  EXPECT_LT(texts.before.size(), 5000U);
  EXPECT_LT(texts.after.size(), 5000U);
  EXPECT_EQ(texts.old_line(901), "        hidden_states = self.norm(hidden_states, temb)[900]\n");
  EXPECT_EQ(texts.new_line(901), "        hidden_states = self.norm(hidden_states, temb)[b]\n");
}

TEST(BlobId, IsGits) {
  EXPECT_EQ(blob_id(""), "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391");
  start_libgit2();
  for (const std::size_t size : {1U, 55U, 56U, 63U, 64U, 65U, 1000U, 100000U}) {
    const std::string bytes(size, 'x');
    git_oid id;
    ASSERT_EQ(git_odb_hash(&id, bytes.data(), bytes.size(), GIT_OBJECT_BLOB), 0);
    EXPECT_EQ(blob_id(bytes), std::string(git_oid_tostr_s(&id))) << size;
  }
}

}  // namespace
}  // namespace refit
