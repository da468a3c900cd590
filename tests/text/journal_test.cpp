// Journals as bytes, also bytes that refit did not write. Entry point: GoogleTest's main.
#include "rewriter/text/journal.hpp"

#include <gtest/gtest.h>

#include <utility>

namespace refit {
namespace {

Journal journal_of(std::vector<FileChange> files) {
  return {false, "0123456789abcdef", std::move(files)};
}

TEST(Journal, IsReadAsItWasWritten) {
  const std::string binary("new\0\n\xff", 6);
  Journal written = journal_of({{"a.py", "old\r\n", binary}, {"b/c d.py", "", "x"}});
  written.undo = true;
  const auto read = read_journal(journal_text(written));
  ASSERT_TRUE(read);
  EXPECT_TRUE(read->undo);
  EXPECT_EQ(read->id, written.id);
  ASSERT_EQ(read->files.size(), 2u);
  EXPECT_EQ(read->files[0].after, binary);
  EXPECT_EQ(read->files[1].file, "b/c d.py");
  EXPECT_EQ(read->files[1].before, "");
}

TEST(Journal, APartOrAnotherByteIsNoJournal) {
  const std::string text = journal_text(journal_of({{"a.py", "old", "new"}}));
  for (std::size_t size = 0; size < text.size(); ++size) {
    EXPECT_FALSE(read_journal(text.substr(0, size))) << size;
    std::string other = text;
    other[size] ^= 1;
    EXPECT_FALSE(read_journal(other)) << size;
  }
  EXPECT_FALSE(read_journal(text + "x"));
}

TEST(Journal, NamesStayInTheTreeAndOutOfGit) {
  for (const char* name : {"/etc/x.py", "../x.py", "a/../x.py", "a//x.py", "./x.py", "", "a/",
                           ".git/hooks/x.py", "a/.git/x.py"}) {
    EXPECT_FALSE(read_journal(journal_text(journal_of({{name, "old", "new"}})))) << name;
  }
  Journal foreign = journal_of({{"a.py", "old", "new"}});
  foreign.id = "../x";
  EXPECT_FALSE(read_journal(journal_text(foreign)));
}

}  // namespace
}  // namespace refit
