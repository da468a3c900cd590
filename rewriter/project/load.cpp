// Reading and prefiltering one file. Entry point: load.
#include "rewriter/project/load.hpp"

#include <fmt/format.h>

#include <utility>

namespace refit {

tl::expected<LoadedFile, LoadFailure> load(Disk& disk, const std::string& path,
                                           const Prefilter& prefilter) {
  const auto fail = [](bool too_large, std::string message) {
    return tl::unexpected<LoadFailure>(LoadFailure{too_large, std::move(message)});
  };
  auto bytes = disk.read(path, kMaxScannedBytes);
  if (!bytes) {
    switch (bytes.error().kind) {
      case DiskError::Kind::missing:
        return fail(false, "the file vanished after it was found; run the command again");
      case DiskError::Kind::too_large:
        return fail(true, fmt::format("the file is longer than {} MiB and was not read; exclude it "
                                      "if it is data",
                                      kMaxScannedBytes >> 20));
      default:
        return fail(false, fmt::format("cannot be read: {}", bytes.error().message));
    }
  }
  LoadedFile file;
  file.rules = prefilter.scan(*bytes);
  file.relevant = Prefilter::any(file.rules);
  if (!file.relevant) return file;
  if (bytes->size() > kMaxSourceBytes) {
    return fail(true, fmt::format("the file has {} MiB, and files of more than {} MiB are not "
                                  "parsed; split it, or exclude it if it is data",
                                  bytes->size() >> 20, kMaxSourceBytes >> 20));
  }
  file.bytes = std::move(*bytes);
  return file;
}

}  // namespace refit
