// Unified diffs through libgit2, which knows git's quoting of paths and its words for a missing
// final newline. Entry point: unified_diff.
#include "rewriter/text/diff.hpp"

#include <fmt/format.h>
#include <git2.h>

#include <memory>

#include "rewriter/text/libgit2.hpp"

namespace refit {
namespace {

constexpr std::string_view kReset = "\x1b[m";

struct Output {
  std::string text;
  bool colour = false;
};

std::string_view colour_of(char origin) {
  switch (origin) {
    case GIT_DIFF_LINE_FILE_HDR:
      return "\x1b[1m";
    case GIT_DIFF_LINE_HUNK_HDR:
      return "\x1b[36m";
    case GIT_DIFF_LINE_ADDITION:
      return "\x1b[32m";
    case GIT_DIFF_LINE_DELETION:
      return "\x1b[31m";
    default:
      return {};
  }
}

// libgit2 gives a text without a file the mode 100644; a patch that names a mode which the file
// does not have makes `git apply` warn, and one that names none does not.
std::string without_mode(std::string_view header) {
  constexpr std::string_view kMode = " 100644\n";
  std::string text(header);
  const std::size_t index = text.find("\nindex ");
  const std::size_t mode = index == std::string::npos ? index : text.find(kMode, index + 1);
  if (mode != std::string::npos) text.erase(mode, kMode.size() - 1);
  return text;
}

int append(const git_diff_delta*, const git_diff_hunk*, const git_diff_line* line, void* payload) {
  Output& out = *static_cast<Output*>(payload);
  std::string piece(line->content, line->content_len);
  if (line->origin == GIT_DIFF_LINE_FILE_HDR) piece = without_mode(piece);
  if (line->origin == GIT_DIFF_LINE_ADDITION || line->origin == GIT_DIFF_LINE_DELETION ||
      line->origin == GIT_DIFF_LINE_CONTEXT) {
    piece.insert(piece.begin(), line->origin);
  }
  const std::string_view colour = out.colour ? colour_of(line->origin) : std::string_view();
  if (colour.empty()) {
    out.text += piece;
    return 0;
  }
  // Every line is coloured by itself, with the reset before its end, as pagers expect.
  std::size_t begin = 0;
  while (begin < piece.size()) {
    const std::size_t newline = piece.find('\n', begin);
    const std::size_t end = newline == std::string::npos ? piece.size() : newline;
    out.text += colour;
    out.text.append(piece, begin, end - begin);
    out.text += kReset;
    if (newline != std::string::npos) out.text += '\n';
    begin = end + 1;
  }
  return 0;
}

}  // namespace

Expected<std::string> unified_diff(const std::string& path, std::string_view before,
                                   std::string_view after, bool colour) {
  if (before == after) return std::string();
  start_libgit2();
  git_diff_options options;
  if (git_diff_options_init(&options, GIT_DIFF_OPTIONS_VERSION) != 0) {
    return failure(fmt::format("making a diff of {} failed: {}", path, last_git_error()));
  }
  options.flags |= GIT_DIFF_FORCE_TEXT | GIT_DIFF_INDENT_HEURISTIC;

  git_patch* raw = nullptr;
  if (git_patch_from_buffers(&raw, before.data(), before.size(), path.c_str(), after.data(),
                             after.size(), path.c_str(), &options) != 0) {
    return failure(fmt::format("making a diff of {} failed: {}", path, last_git_error()));
  }
  const std::unique_ptr<git_patch, decltype(&git_patch_free)> patch(raw, &git_patch_free);
  Output out{{}, colour};
  if (git_patch_print(patch.get(), append, &out) != 0) {
    return failure(fmt::format("printing the diff of {} failed: {}", path, last_git_error()));
  }
  return std::move(out.text);
}

}  // namespace refit
