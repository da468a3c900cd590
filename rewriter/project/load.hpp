// Reading a file and asking the prefilter, the second step of every run. Entry point: load.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rewriter/project/prefilter.hpp"
#include "rewriter/text/disk.hpp"

namespace refit {

// The longest file that is parsed. A longer one in which no rule can match is passed over like any
// other; one in which a rule might is reported. The longest file of the libraries migrated so far
// has 0.3 MiB (diffusers 0.42, transformers 5.23); what is longer than 16 MiB is data.
constexpr uint64_t kMaxSourceBytes = uint64_t{16} << 20;
// The longest file that is read at all.
constexpr uint64_t kMaxScannedBytes = uint64_t{1} << 30;

struct LoadedFile {
  std::string bytes;        // empty where no rule can match
  std::vector<bool> rules;  // by the prefilter's numbers: the rules that may match
  bool relevant = false;    // whether any may
};

struct LoadFailure {
  bool too_large = false;  // else it could not be read
  std::string message;
};

tl::expected<LoadedFile, LoadFailure> load(Disk& disk, const std::string& path,
                                           const Prefilter& prefilter);

}  // namespace refit
