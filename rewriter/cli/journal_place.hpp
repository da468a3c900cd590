// Where the journal of a run lies, and where those of earlier runs may. Entry points:
// places_for, places_of.
//
// In a git work tree it is `refit` in git's own folder, which nobody packs, copies or commits by
// mistake. Elsewhere, and where that folder cannot be written, it is `.refit` in the tree's root;
// where that cannot be written either, `.refit` in the innermost folder that holds all files that
// change. `.refit` is gone once the run is over: what undo needs is then kept where the user's
// programs keep their state.
#pragma once

#include <string>
#include <vector>

#include "rewriter/plan/finding.hpp"
#include "rewriter/project/input.hpp"
#include "rewriter/text/change_set.hpp"

namespace refit {

// The places for a run that changes these files, the best first.
std::vector<JournalPlace> places_for(const Input& input, const std::vector<FileResult>& changed);

// Makes the folder that keeps what undo needs of trees without git, and removes what it keeps of
// all but the last 64 of them.
void make_state_folder(Disk& disk);

// Every place where a run over files of this tree, from whichever PATH, may have left a journal.
// `above`: also runs over a folder that holds the tree.
std::vector<JournalPlace> places_of(const Input& input, bool above);

}  // namespace refit
