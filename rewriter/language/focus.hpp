// Which functions of a file are worth lowering: one that sees none of what a rule's prefilter asks
// for is left out. The engine knows what is asked, a front end knows what a function can see. See
// Frontend::load_for.
#pragma once

#include <functional>
#include <vector>

#include "rewriter/project/vocabulary.hpp"
#include "rewriter/text/source.hpp"

namespace refit {

class EditSet;
class Unit;

// The range by which the statements of a file that stand in no function are meant, as one function.
inline constexpr ByteRange kOwnStatements{};

struct Focus {
  const Vocabulary* vocabulary = nullptr;
  // Whether to lower a function that stands at `where` and can see those entries: in its own text,
  // in the short functions of the file that it names, in what the file gives the names that it
  // reads. It is asked of the file's own statements, too.
  std::function<bool(ByteRange where, const EntrySet&)> wanted;
  // Whether functions whose results what is wanted may use are wanted, too.
  bool helpers = false;
  // The unit whose text became this one by edits, and those.
  const Unit* before = nullptr;
  const EditSet* edits = nullptr;
  // With `before`: what the edits wrote. A function that sees nothing of it is what it was.
  std::vector<ByteRange> changed;
};

}  // namespace refit
