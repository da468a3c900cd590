// Unified diffs through libgit2, which knows git's quoting of paths and its words for a missing
// final newline. Entry points: unified_diff, changed_lines.
#include "rewriter/text/diff.hpp"

#include <fmt/format.h>
#include <git2.h>

#include <memory>
#include <optional>

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

using Patch = std::unique_ptr<git_patch, decltype(&git_patch_free)>;

Expected<Patch> patch_of(const std::string& path, std::string_view before, std::string_view after,
                         std::optional<uint32_t> context) {
  start_libgit2();
  const auto failed = [&] {
    return failure(fmt::format("making a diff of {} failed: {}", path, last_git_error()));
  };
  git_diff_options options;
  if (git_diff_options_init(&options, GIT_DIFF_OPTIONS_VERSION) != 0) return failed();
  options.flags |= GIT_DIFF_FORCE_TEXT | GIT_DIFF_INDENT_HEURISTIC;
  if (context) options.context_lines = *context;
  git_patch* raw = nullptr;
  if (git_patch_from_buffers(&raw, before.data(), before.size(), path.c_str(), after.data(),
                             after.size(), path.c_str(), &options) != 0) {
    return failed();
  }
  return Patch(raw, &git_patch_free);
}

// Where lines begin, and behind them the end of the text.
std::vector<std::size_t> line_begins(std::string_view text) {
  std::vector<std::size_t> begins{0};
  for (std::size_t at = text.find('\n'); at != std::string_view::npos;
       at = text.find('\n', at + 1)) {
    begins.push_back(at + 1);
  }
  if (begins.back() != text.size()) begins.push_back(text.size());
  return begins;
}

// The first of the lines that a hunk counts from 1, counted from 0; of no lines git gives the one
// before them.
uint32_t first_line(int start, int count) {
  return static_cast<uint32_t>(count == 0 ? start : start - 1);
}

}  // namespace

Expected<std::string> unified_diff(const std::string& path, std::string_view before,
                                   std::string_view after, bool colour) {
  if (before == after) return std::string();
  const auto patch = patch_of(path, before, after, std::nullopt);
  if (!patch) return tl::unexpected(patch.error());
  Output out{{}, colour};
  if (git_patch_print(patch->get(), append, &out) != 0) {
    return failure(fmt::format("printing the diff of {} failed: {}", path, last_git_error()));
  }
  return std::move(out.text);
}

Expected<std::vector<LineChange>> changed_lines(std::string_view before, std::string_view after) {
  std::vector<LineChange> changes;
  if (before == after) return changes;
  const auto patch = patch_of("a text", before, after, 0);
  if (!patch) return tl::unexpected(patch.error());
  const std::vector<std::size_t> begins = line_begins(after);
  for (std::size_t h = 0; h < git_patch_num_hunks(patch->get()); ++h) {
    const git_diff_hunk* hunk = nullptr;
    if (git_patch_get_hunk(&hunk, nullptr, patch->get(), h) != 0) {
      return failure(fmt::format("reading a diff failed: {}", last_git_error()));
    }
    const uint32_t from = first_line(hunk->new_start, hunk->new_lines);
    const std::size_t begin = begins.at(from);
    const std::size_t end = begins.at(from + static_cast<uint32_t>(hunk->new_lines));
    changes.push_back({first_line(hunk->old_start, hunk->old_lines),
                       static_cast<uint32_t>(hunk->old_lines),
                       std::string(after.substr(begin, end - begin))});
  }
  return changes;
}

}  // namespace refit
