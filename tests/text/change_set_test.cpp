// Change sets on a disk in memory: every operation fails once, and the process dies at every
// operation once, also while it recovers; the power goes after it. Once the next command has run,
// every file is old or every file is new. Then a real folder. Entry point: GoogleTest's main.
#include "rewriter/text/change_set.hpp"

#include <gtest/gtest.h>

#include "tests/project/tree.hpp"
#include "tests/text/memory_disk.hpp"

namespace refit {
namespace {

const std::vector<std::string> kFiles{"/tree/a.py", "/tree/b.py", "/tree/c.py"};
const ChangeSets::Stop kNever = [] { return false; };

// Where the journal of a run that is over lies: beside that of one that is not, or apart.
std::string done_folder;

ChangeSets sets_of(MemoryDisk& disk) {
  return {disk, {"/tree", "/tree/.refit", done_folder}, [](std::string_view name) {
            return name.ends_with(".py");
          }};
}

std::vector<FileChange> changes() {
  return {{"a.py", "old", "new"}, {"b.py", "old", "new"}, {"c.py", "old", "new"}};
}

ChangeSets::Result<ReplacedFiles> write(MemoryDisk& disk, const ChangeSets::Stop& stop = kNever) {
  ChangeSets sets = sets_of(disk);
  if (!sets.prepare()) return tl::unexpected(FileError{"", "No space left on device"});
  return sets.write(changes(), stop);
}

// "old" or "new" where all files are, else what is there.
std::string all_of(const MemoryDisk& disk) {
  std::string texts;
  for (const std::string& file : kFiles) texts += disk.files.at(file).bytes;
  if (texts == "oldoldold") return "old";
  return texts == "newnewnew" ? "new" : texts;
}

std::string temporaries(const MemoryDisk& disk) {
  std::string names;
  for (const auto& [name, file] : disk.files) {
    if (name.ends_with(".tmp") || name.ends_with("staging") || name.ends_with("pending")) {
      names += name + " ";
    }
  }
  return names;
}

class ChangeSet : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    done_folder = GetParam();
    for (const std::string& file : kFiles) disk_.put(file, "old");
  }
  MemoryDisk disk_;
};

INSTANTIATE_TEST_SUITE_P(Kept, ChangeSet, testing::Values("/tree/.refit", "/state"),
                         [](const auto& place) {
                           return place.param[1] == 's' ? "apart" : "beside";
                         });

TEST_P(ChangeSet, EverythingIsSyncedBeforeTheFirstFileChanges) {
  ASSERT_TRUE(write(disk_));
  EXPECT_EQ(all_of(disk_), "new");
  EXPECT_EQ(temporaries(disk_), "");
  std::size_t synced = 0;
  bool recorded = false;
  for (const std::string& operation : disk_.log) {
    if (operation == "sync") ++synced;
    if (operation == "rename /tree/.refit/pending") recorded = true;
    if (operation.starts_with("rename /tree/a.py")) break;
  }
  EXPECT_TRUE(recorded);
  EXPECT_EQ(synced, 4u) << "the journal and three new texts";
}

TEST_P(ChangeSet, EveryFailureLeavesEveryFileOldOrNew) {
  MemoryDisk whole = disk_;
  ASSERT_TRUE(write(whole));
  for (std::size_t at = 0; at < whole.log.size(); ++at) {
    MemoryDisk disk = disk_;
    disk.fault = MemoryDisk::Fault::error;
    disk.fault_number = at;
    const auto result = write(disk);
    const std::string& operation = whole.log[at];
    if (result && result->left.size() == 1) {
      EXPECT_EQ(all_of(disk).size(), 9u) << operation << ": one file was not to be written";
    } else if (result) {
      EXPECT_EQ(all_of(disk), "new") << operation;
      // What undo needs may not have been kept.
      EXPECT_LE(result->notes.size(), 1u);
    } else {
      EXPECT_NE(result.error().message.find("No space left on device"), std::string::npos)
          << operation << ": " << result.error().message;
      const bool is_new = result.error().message.find("every file is new") != std::string::npos;
      EXPECT_EQ(all_of(disk), is_new ? "new" : "old") << operation;
    }
    disk.fault = MemoryDisk::Fault::none;
    ASSERT_TRUE(sets_of(disk).recover());
    EXPECT_EQ(temporaries(disk), "") << operation;
  }
}

TEST_P(ChangeSet, ADiskThatStaysFullLeavesEveryFileOld) {
  for (const char* operation : {"write", "sync", "set_attributes", "create /tree/.refit-"}) {
    MemoryDisk disk = disk_;
    disk.fault = MemoryDisk::Fault::error;
    disk.fault_operation = operation;
    const auto result = write(disk);
    ASSERT_FALSE(result);
    EXPECT_NE(result.error().message.find("every file is as it was"), std::string::npos);
    EXPECT_EQ(all_of(disk), "old");
    EXPECT_EQ(temporaries(disk), "");
    EXPECT_FALSE(disk.folders.contains("/tree/.refit")) << operation;
  }
}

TEST_P(ChangeSet, DeathOrPowerCutAtAnyPointIsMendedByTheNextCommand) {
  MemoryDisk whole = disk_;
  ASSERT_TRUE(write(whole));
  std::size_t old_trees = 0, new_trees = 0;
  for (std::size_t at = 0; at < whole.log.size(); ++at) {
    for (const bool power : {false, true}) {
      MemoryDisk died = disk_;
      died.fault = MemoryDisk::Fault::kill;
      died.fault_number = at;
      EXPECT_THROW((void)write(died), Killed);
      if (power) died.cut_power();
      // The next command dies too, at each of its operations, and the one after it does not.
      died.fault = MemoryDisk::Fault::none;
      MemoryDisk mended = died;
      mended.log.clear();
      ASSERT_TRUE(sets_of(mended).recover());
      for (std::size_t second = 0; second <= mended.log.size(); ++second) {
        MemoryDisk disk = died;
        disk.log.clear();
        disk.fault = MemoryDisk::Fault::kill;
        disk.fault_number = second;
        try {
          (void)sets_of(disk).recover();
        } catch (const Killed&) {
        }
        if (power) disk.cut_power();
        disk.fault = MemoryDisk::Fault::none;
        ASSERT_TRUE(sets_of(disk).recover());
        const std::string texts = all_of(disk);
        EXPECT_TRUE(texts == "old" || texts == "new")
            << texts << " after " << whole.log[at] << ", then operation " << second;
        EXPECT_EQ(temporaries(disk), "") << whole.log[at] << ", then operation " << second;
        (texts == "old" ? old_trees : new_trees) += 1;
      }
    }
  }
  EXPECT_GT(old_trees, 100u);
  EXPECT_GT(new_trees, 100u);
}

TEST_P(ChangeSet, RecoverySaysWhatItFound) {
  EXPECT_TRUE(sets_of(disk_).recover()->empty());
  disk_.fault = MemoryDisk::Fault::kill;
  disk_.fault_operation = "rename /tree/b.py";
  EXPECT_THROW((void)write(disk_), Killed);
  EXPECT_EQ(all_of(disk_), "newoldold");
  disk_.fault = MemoryDisk::Fault::none;
  disk_.files["/tree/c.py"].bytes = "edited";
  const auto said = sets_of(disk_).recover();
  ASSERT_TRUE(said);
  EXPECT_EQ(*said, std::vector<std::string>{
                       "An earlier run was killed while it replaced 3 files; 1 it had not come to "
                       "is replaced now. c.py changed since and is left as it is."});
  EXPECT_EQ(all_of(disk_), "newnewedited");
  EXPECT_TRUE(sets_of(disk_).recover()->empty());
}

TEST_P(ChangeSet, StoppingAtAnyPointTakesEverythingBack) {
  for (int after = 0; after < 7; ++after) {
    MemoryDisk disk = disk_;
    int asked = 0;
    const auto result = write(disk, [&] { return asked++ >= after; });
    ASSERT_TRUE(result);
    EXPECT_TRUE(result->interrupted) << after;
    EXPECT_TRUE(result->written.empty());
    EXPECT_EQ(all_of(disk), "old") << after;
    EXPECT_EQ(disk.files.size(), 3u) << after;
    EXPECT_FALSE(disk.folders.contains("/tree/.refit"));
  }
}

TEST_P(ChangeSet, UndoRestoresUntilAFileChanges) {
  EXPECT_TRUE(sets_of(disk_).undo(kNever)->written.empty());
  ASSERT_TRUE(write(disk_));
  disk_.files["/tree/b.py"].bytes = "edited";
  const auto refused = sets_of(disk_).undo(kNever);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().file, "b.py");
  EXPECT_EQ(all_of(disk_), "neweditednew");
  disk_.files["/tree/b.py"].bytes = "new";
  EXPECT_EQ(sets_of(disk_).undo(kNever)->written.size(), 3u);
  EXPECT_EQ(all_of(disk_), "old");
  EXPECT_EQ(disk_.files.size(), 3u) << "nothing of the journal is left";
  EXPECT_TRUE(sets_of(disk_).undo(kNever)->written.empty());
}

TEST_P(ChangeSet, DeathDuringUndoIsMendedToo) {
  ASSERT_TRUE(write(disk_));
  MemoryDisk whole = disk_;
  whole.log.clear();
  ASSERT_TRUE(sets_of(whole).undo(kNever));
  for (std::size_t at = 0; at < whole.log.size(); ++at) {
    MemoryDisk disk = disk_;
    disk.log.clear();
    disk.fault = MemoryDisk::Fault::kill;
    disk.fault_number = at;
    EXPECT_THROW((void)sets_of(disk).undo(kNever), Killed);
    disk.fault = MemoryDisk::Fault::none;
    ASSERT_TRUE(sets_of(disk).recover());
    const std::string texts = all_of(disk);
    EXPECT_TRUE(texts == "old" || texts == "new") << texts << " after " << whole.log[at];
    ASSERT_TRUE(sets_of(disk).undo(kNever));
    EXPECT_EQ(all_of(disk), "old");
    EXPECT_EQ(disk.files.size(), 3u);
  }
}

TEST_P(ChangeSet, WhatIsNotToBeWrittenStaysBesideTheOthers) {
  disk_.files["/tree/a.py"].writable = false;
  disk_.files["/tree/b.py"].mode = 0444;
  disk_.files["/tree/c.py"].names = 2;
  const auto result = write(disk_);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->written, std::vector<std::string>{"c.py"});
  ASSERT_EQ(result->left.size(), 2u);
  EXPECT_EQ(result->left[0].message,
            "the file may not be written: Permission denied; the file is as it was");
  EXPECT_EQ(result->left[1].message,
            "the file may not be written: Marked read-only; the file is as it was");
  EXPECT_EQ(result->notes, std::vector<std::string>{
                               "c.py: the file has 2 hard links; the other names keep the old "
                               "text"});
  EXPECT_EQ(all_of(disk_), "oldoldnew");
}

TEST_P(ChangeSet, SomeoneElsesChangeIsNotLost) {
  for (const char* moment : {"create /tree/.refit/staging", "rename /tree/a.py"}) {
    MemoryDisk disk = disk_;
    bool once = false;
    disk.before.push_back({moment, [&] {
                             if (!std::exchange(once, true))
                               disk.files["/tree/b.py"].bytes = "mine";
                           }});
    const auto result = write(disk);
    ASSERT_TRUE(result);
    EXPECT_EQ(result->left.size(), 1u);
    EXPECT_EQ(all_of(disk), "newminenew");
    EXPECT_EQ(temporaries(disk), "");
  }
}

TEST_P(ChangeSet, AJournalOfSomeoneElseIsNotFollowed) {
  // It names a file that refit never writes.
  const std::string hostile =
      journal_text({false, "00", {{"setup.cfg", "old", "new"}, {"a.py", "old", "new"}}});
  disk_.folders.insert("/tree/.refit");
  disk_.put("/tree/setup.cfg", "old");
  disk_.put("/tree/.refit/pending", hostile);
  const auto named = sets_of(disk_).recover();
  ASSERT_FALSE(named);
  EXPECT_NE(named.error().message.find("/tree/.refit/pending"), std::string::npos);
  EXPECT_EQ(all_of(disk_), "old");
  // It belongs to another user.
  disk_.put("/tree/.refit/pending", journal_text({false, "00", {{"a.py", "old", "new"}}}));
  disk_.files["/tree/.refit/pending"].user = 7;
  EXPECT_FALSE(sets_of(disk_).recover());
  // A file of it lies behind a symbolic link.
  disk_.files["/tree/.refit/pending"].user = 1000;
  disk_.links["/tree/a.py"] = "/tree/b.py";
  EXPECT_FALSE(sets_of(disk_).recover());
  EXPECT_EQ(all_of(disk_), "old");
}

TEST_P(ChangeSet, ARunThatUndoCannotTakeBackSaysSo) {
  if (done_folder != "/state") return;  // there is nothing apart
  disk_.fault = MemoryDisk::Fault::error;
  disk_.fault_operation = "make_folder /state";
  const auto result = write(disk_);
  ASSERT_TRUE(result);
  ASSERT_EQ(result->notes.size(), 1u);
  EXPECT_EQ(result->notes[0],
            "`refit undo` cannot take this run back: there is no folder of this user to keep its "
            "journal in");
  EXPECT_EQ(all_of(disk_), "new");
  EXPECT_EQ(disk_.files.size(), 3u);
}

TEST_P(ChangeSet, ModeOwnerAndAttributesStay) {
  disk_.files["/tree/a.py"].mode = 0751;
  disk_.files["/tree/a.py"].user = 7;
  disk_.files["/tree/a.py"].attributes = {{"system.posix_acl_access", "list"}};
  ASSERT_TRUE(write(disk_));
  EXPECT_EQ(disk_.files["/tree/a.py"].mode, 0751u);
  EXPECT_EQ(disk_.files["/tree/a.py"].user, 7u);
  EXPECT_EQ(disk_.files["/tree/a.py"].attributes.at("system.posix_acl_access"), "list");
}

TEST(ChangeSetOnDisk, ReplacesAndUndoes) {
  Tree tree;
  tree.put("a file.py", "old");
  ChangeSets sets(real_disk(), {tree.root().string(), tree / ".refit", tree / ".refit"},
                  [](std::string_view) { return true; });
  ASSERT_TRUE(sets.prepare());
  const auto result = sets.write({{"a file.py", "old", std::string("new\0x", 5)}}, kNever);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(real_disk().read(tree / "a file.py", 99).value(), std::string("new\0x", 5));
  EXPECT_TRUE(std::filesystem::exists(tree / ".refit/done"));
  EXPECT_EQ(sets.undo(kNever)->written.size(), 1u);
  EXPECT_EQ(real_disk().read(tree / "a file.py", 99).value(), "old");
  EXPECT_FALSE(std::filesystem::exists(tree / ".refit"));
}

}  // namespace
}  // namespace refit
