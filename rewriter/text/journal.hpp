// The record of one run's change set: which files it replaces, with their old and their new texts.
// Entry points: journal_text, read_journal.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rewriter/text/expected.hpp"

namespace refit {

struct FileChange {
  std::string file;  // relative to the folder that the change set is about, with '/'
  std::string before, after;
};

struct Journal {
  bool undo = false;  // it takes an earlier one back
  std::string id;     // hexadecimal digits, part of the names of temporary files
  std::vector<FileChange> files;
};

// The journal as bytes, with a checksum at its end.
std::string journal_text(const Journal& journal);

// The journal that these bytes are. They may come from anyone: every name is shown to stay below
// the folder and out of `.git`.
Expected<Journal> read_journal(std::string_view text);

}  // namespace refit
