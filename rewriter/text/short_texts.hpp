// Two texts with a short line in each line's place, for a diff that costs less. Entry point:
// ShortTexts.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace refit {

// A diff as git makes it, three lines of context around each change, is the same for `before` and
// `after` here as for the texts themselves, but for what stands in its lines: which lines are
// equal, which are blank, how far the others are indented and which name the hunks below them are
// as they were wherever that can matter.
class ShortTexts {
 public:
  // Both texts must outlive it.
  ShortTexts(std::string_view before, std::string_view after);

  std::string before, after;

  // Lines of the texts themselves, with their ends. The first has the number one.
  std::string_view old_line(std::size_t number) const { return line(old_, old_starts_, number); }
  std::string_view new_line(std::size_t number) const { return line(new_, new_starts_, number); }

 private:
  using Starts = std::vector<std::size_t>;  // of the lines; last, where the text ends

  static std::string_view line(std::string_view text, const Starts& starts, std::size_t number) {
    return text.substr(starts[number - 1], starts[number] - starts[number - 1]);
  }

  std::string_view old_, new_;
  Starts old_starts_, new_starts_;
};

}  // namespace refit
