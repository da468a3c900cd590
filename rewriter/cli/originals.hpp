// The texts that files had before they were migrated. Entry point: originals.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "rewriter/project/input.hpp"
#include "rewriter/text/disk.hpp"
#include "rewriter/text/expected.hpp"

namespace refit {

struct Originals {
  std::map<std::string, std::string> texts;  // by file, those that differ from what lies there
  std::string from;                          // what they are, for a reader
};

// Of the files of the input that a git revision has otherwise, or, without one, that the last
// `migrate --write` replaced.
Expected<Originals> originals(const Input& input, const std::optional<std::string>& revision,
                              Disk& disk);

}  // namespace refit
