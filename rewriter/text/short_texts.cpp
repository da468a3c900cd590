// Short lines in the place of long ones. Entry point: ShortTexts.
//
// What git's diff asks of a line: whether it is equal to another and how many are; of lines around
// a change that could stand further up or down, their indentation (a tab reaches to the next
// multiple of eight) and whether they are blank; above a hunk, whether the line begins with a
// letter, `_` or
// `$`, and then its text. Where the texts begin and end with the same lines git does not compare
// those: of them it asks only which are equal to a line that it compares.
#include "rewriter/text/short_texts.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <functional>

namespace refit {
namespace {

constexpr std::size_t kStep = 256;     // bytes compared at once
constexpr std::size_t kContext = 3;    // lines around a change
constexpr std::size_t kDeepest = 200;  // columns; git counts no further
constexpr char kFiller = '!';          // alone in a line: equal to no line that is compared
constexpr std::size_t kDigits = '~' - '!' + 1;

// How many bytes the texts begin with alike, in whole lines.
std::size_t equal_start(std::string_view a, std::string_view b) {
  const std::size_t most = std::min(a.size(), b.size());
  std::size_t size = 0;
  while (size + kStep <= most && std::memcmp(&a[size], &b[size], kStep) == 0) size += kStep;
  while (size < most && a[size] == b[size]) ++size;
  while (size > 0 && a[size - 1] != '\n') --size;
  return size;
}

// How many bytes they end with alike, in whole lines, behind the first `start`.
std::size_t equal_end(std::string_view a, std::string_view b, std::size_t start) {
  const std::size_t most = std::min(a.size(), b.size()) - start;
  std::size_t size = 0;
  while (size + kStep <= most && std::memcmp(a.data() + a.size() - size - kStep,
                                             b.data() + b.size() - size - kStep, kStep) == 0) {
    size += kStep;
  }
  while (size < most && a[a.size() - size - 1] == b[b.size() - size - 1]) ++size;
  const auto begins_line = [start](std::string_view text, std::size_t at) {
    return at == start || text[at - 1] == '\n';
  };
  while (size > 0 && !(begins_line(a, a.size() - size) && begins_line(b, b.size() - size))) --size;
  return size;
}

void add_starts(std::string_view text, std::size_t begin, std::size_t end,
                std::vector<std::size_t>& starts) {
  while (begin < end) {
    starts.push_back(begin);
    const void* newline = std::memchr(&text[begin], '\n', end - begin);
    begin = newline == nullptr
                ? end
                : static_cast<std::size_t>(static_cast<const char*>(newline) - text.data()) + 1;
  }
}

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

bool is_blank(std::string_view line) { return std::all_of(line.begin(), line.end(), is_space); }

bool may_name_hunks(std::string_view line) {
  const char c = line.front();
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$';
}

// Blank lines and those that may name a hunk as they are, others as their indentation and `number`.
void write(std::string_view line, uint32_t number, std::string& out) {
  std::size_t columns = 0;
  std::size_t at = 0;
  for (; at < line.size() && is_space(line[at]); ++at) {
    if (line[at] == ' ') ++columns;
    if (line[at] == '\t') columns += 8 - columns % 8;
  }
  if (at == line.size() || may_name_hunks(line)) {
    out += line;
    return;
  }
  columns = std::min(columns, kDeepest);
  out.append(columns / 8, '\t').append(columns % 8, ' ');
  if (columns == 0) out += kFiller;  // not a letter
  do {
    out += static_cast<char>('!' + number % kDigits);
    number /= kDigits;
  } while (number > 0);
  if (line.back() == '\n') out += '\n';
}

void write_filler(std::string_view line, std::string& out) {
  out += kFiller;
  if (line.back() == '\n') out += '\n';
}

// The lines that are compared: equal ones have one number and are written alike.
class Compared {
 public:
  static constexpr uint32_t kNone = 0;

  explicit Compared(std::size_t most) : slots_(std::bit_ceil(2 * most + 2)), lines_(1) {
    lines_.reserve(most + 1);
  }

  uint32_t find(std::string_view line) const { return slots_[slot(line, hash(line))]; }

  // Its number; `place` is kept of the first that is equal.
  uint32_t add(std::string_view line, std::size_t place) {
    const std::size_t hashed = hash(line);
    uint32_t& number = slots_[slot(line, hashed)];
    if (number != kNone) {
      lines_[number].once = false;
      return number;
    }
    number = static_cast<uint32_t>(lines_.size());
    const std::size_t begin = written_.size();
    write(line, number, written_);
    lines_.push_back({line, hashed, begin, written_.size() - begin, place, true});
    return number;
  }

  void write_known(uint32_t number, std::string& out) const {
    out.append(written_, lines_[number].begin, lines_[number].size);
  }

  bool once(uint32_t number) const { return lines_[number].once; }
  std::size_t place(uint32_t number) const { return lines_[number].place; }

 private:
  struct Line {
    std::string_view text;
    std::size_t hash = 0;
    std::size_t begin = 0, size = 0;  // in `written_`
    std::size_t place = 0;
    bool once = true;
  };

  static std::size_t hash(std::string_view line) { return std::hash<std::string_view>()(line); }

  std::size_t slot(std::string_view line, std::size_t hashed) const {
    std::size_t at = hashed & (slots_.size() - 1);
    while (slots_[at] != kNone &&
           (lines_[slots_[at]].hash != hashed || lines_[slots_[at]].text != line)) {
      at = (at + 1) & (slots_.size() - 1);
    }
    return at;
  }

  std::vector<uint32_t> slots_;
  std::vector<Line> lines_;
  std::string written_;
};

}  // namespace

ShortTexts::ShortTexts(std::string_view before_text, std::string_view after_text)
    : old_(before_text), new_(after_text) {
  const std::size_t start = equal_start(old_, new_);
  const std::size_t end = equal_end(old_, new_, start);

  // Lines [0, first) are alike, as are the last ones from old_last and new_last on.
  old_starts_.reserve(old_.size() / 32 + 2);
  add_starts(old_, 0, start, old_starts_);
  new_starts_ = old_starts_;
  new_starts_.reserve(new_.size() / 32 + 2);
  const std::size_t first = old_starts_.size();
  add_starts(old_, start, old_.size() - end, old_starts_);
  add_starts(new_, start, new_.size() - end, new_starts_);
  const std::size_t old_last = old_starts_.size();
  const std::size_t new_last = new_starts_.size();
  add_starts(old_, old_.size() - end, old_.size(), old_starts_);
  for (std::size_t i = old_last; i < old_starts_.size(); ++i) {
    new_starts_.push_back(old_starts_[i] - old_.size() + new_.size());
  }
  const std::size_t all = old_starts_.size();
  old_starts_.push_back(old_.size());
  new_starts_.push_back(new_.size());

  Compared compared(old_last - first + new_last - first);
  std::vector<uint32_t> numbers;
  numbers.reserve(old_last - first);
  std::string old_middle, new_middle;
  for (std::size_t i = first; i < old_last; ++i) {
    numbers.push_back(compared.add(old_line(i + 1), i));
    compared.write_known(numbers.back(), old_middle);
  }
  std::size_t next = first;  // the old line that is likely to be the next new one
  for (std::size_t i = first; i < new_last; ++i) {
    const std::string_view text = new_line(i + 1);
    if (next < old_last && text == old_line(next + 1)) {
      compared.write_known(numbers[next++ - first], new_middle);
      continue;
    }
    const uint32_t known = compared.find(text);
    if (known == Compared::kNone) {
      compared.write_known(compared.add(text, old_last), new_middle);
      continue;
    }
    compared.write_known(known, new_middle);
    if (compared.once(known)) next = compared.place(known) + 1;
  }

  // A change can move over lines that are equal to one of its own. Above those git looks at one
  // that is not blank, and from the hunk's start upwards for its name; below them at two.
  numbers.assign(first, Compared::kNone);
  std::size_t seen = 0;  // one past the last line at the start that is no such line
  for (std::size_t i = 0; i < first; ++i) {
    numbers[i] = compared.find(old_line(i + 1));
    if (numbers[i] == Compared::kNone && !is_blank(old_line(i + 1))) seen = i + 1;
  }
  seen -= std::min(seen, kContext);
  std::size_t name = seen;  // one past the line that names what is seen
  while (name > 0 && !may_name_hunks(old_line(name))) --name;
  const auto write_line = [&](std::size_t i, uint32_t number, bool whole) {
    if (number != Compared::kNone) {
      compared.write_known(number, before);
    } else if (whole) {
      write(old_line(i + 1), number, before);
    } else {
      write_filler(old_line(i + 1), before);
    }
  };
  for (std::size_t i = 0; i < first; ++i) write_line(i, numbers[i], i >= seen || i + 1 == name);
  after = before;
  before += old_middle;
  after += new_middle;
  const std::size_t middle = before.size();
  int looked_at = 0;
  for (std::size_t i = old_last; i < all; ++i) {
    const uint32_t number = compared.find(old_line(i + 1));
    write_line(i, number, looked_at < 2);
    if (number == Compared::kNone && !is_blank(old_line(i + 1))) ++looked_at;
  }
  after.append(before, middle);
}

}  // namespace refit
