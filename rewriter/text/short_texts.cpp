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
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

namespace refit {
namespace {

constexpr std::size_t kStep = 32;      // bytes compared at once
constexpr std::size_t kContext = 3;    // lines around a change
constexpr std::size_t kDeepest = 200;  // columns; git counts no further
constexpr char kFiller = '!';          // alone in a line: equal to no line that is compared
constexpr uint32_t kDigits = '~' - '!' + 1;

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

std::size_t end_of_space(std::string_view line) {
  std::size_t at = 0;
  while (at < line.size() && is_space(line[at])) ++at;
  return at;
}

bool is_blank(std::string_view line) { return end_of_space(line) == line.size(); }

bool may_name_hunks(std::string_view line) {
  const char c = line.front();
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$';
}

// Blank lines and those that may name a hunk as they are, others as their indentation and `number`.
void write(std::string_view line, uint32_t number, std::string& out) {
  const std::size_t begin = end_of_space(line);
  if (begin == line.size() || may_name_hunks(line)) {
    out += line;
    return;
  }
  std::size_t columns = 0;
  for (const char c : line.substr(0, begin)) {
    if (c == ' ') ++columns;
    if (c == '\t') columns += 8 - columns % 8;
  }
  columns = std::min(columns, kDeepest);
  std::array<char, kDeepest / 8 + 16> text;
  std::memset(text.data(), '\t', kDeepest / 8);
  char* end = text.data() + columns / 8;
  std::memset(end, ' ', 8);
  end += columns % 8;
  if (columns == 0) *end++ = kFiller;  // not a letter
  do {
    *end++ = static_cast<char>('!' + number % kDigits);
    number /= kDigits;
  } while (number > 0);
  if (line.back() == '\n') *end++ = '\n';
  out.append(text.data(), end);
}

void write_filler(std::string_view line, std::string& out) {
  out += kFiller;
  if (line.back() == '\n') out += '\n';
}

// The lines that are compared: equal ones have one number and are written alike.
class Compared {
 public:
  static constexpr uint32_t kNone = 0;

  explicit Compared(std::size_t likely) : slots_(std::bit_ceil(2 * likely + 64)), lines_(1) {
    lines_.reserve(likely + 32);
  }

  // The line's number; kNone where no line is equal.
  uint32_t find(std::string_view line) const { return slots_[slot(line, hash(line))]; }

  // Writes a line behind those before it. `place` is kept of the first that is equal.
  void add(std::string_view line, std::size_t place) {
    const std::size_t hashed = hash(line);
    uint32_t& number = slots_[slot(line, hashed)];
    if (number != kNone) {
      lines_[number].once = false;
      write_known(number, text);
      return;
    }
    number = static_cast<uint32_t>(lines_.size());
    const std::size_t begin = text.size();
    write(line, number, text);
    lines_.push_back({line, hashed, begin, text.size() - begin, place, true});
    if (2 * lines_.size() > slots_.size()) grow();
  }

  void write_known(uint32_t number, std::string& out) const {
    out.append(text, lines_[number].begin, lines_[number].size);
  }

  // Whether a line was added once, and its place.
  bool once(uint32_t number) const { return lines_[number].once; }
  std::size_t place(uint32_t number) const { return lines_[number].place; }

  std::string text;  // what was written

 private:
  struct Line {
    std::string_view line;
    std::size_t hash = 0;
    std::size_t begin = 0, size = 0;  // in `text`
    std::size_t place = 0;
    bool once = true;
  };

  // Eight bytes at a time, the last ones perhaps twice.
  static std::size_t hash(std::string_view line) {
    constexpr uint64_t kFactor = 0x9E3779B97F4A7C15;
    uint64_t all = line.size() * kFactor;
    const auto add = [&](const char* from, std::size_t size) {
      uint64_t part = 0;
      std::memcpy(&part, from, size);
      all = (std::rotl(all, 23) ^ part) * kFactor;
    };
    if (line.size() < 8) {
      add(line.data(), line.size());
    } else {
      for (std::size_t at = 0; at + 8 < line.size(); at += 8) add(&line[at], 8);
      add(line.data() + line.size() - 8, 8);
    }
    return all ^ (all >> 32);
  }

  std::size_t slot(std::string_view line, std::size_t hashed) const {
    std::size_t at = hashed & (slots_.size() - 1);
    while (slots_[at] != kNone &&
           (lines_[slots_[at]].hash != hashed || lines_[slots_[at]].line != line)) {
      at = (at + 1) & (slots_.size() - 1);
    }
    return at;
  }

  void grow() {
    slots_.assign(2 * slots_.size(), kNone);
    for (uint32_t number = 1; number < lines_.size(); ++number) {
      std::size_t at = lines_[number].hash & (slots_.size() - 1);
      while (slots_[at] != kNone) at = (at + 1) & (slots_.size() - 1);
      slots_[at] = number;
    }
  }

  std::vector<uint32_t> slots_;
  std::vector<Line> lines_;
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
  const std::string_view old_middle = old_.substr(0, old_.size() - end);
  const std::string_view new_middle = new_.substr(0, new_.size() - end);
  add_starts(old_middle, start, old_middle.size(), old_starts_);
  const std::size_t old_last = old_starts_.size();
  add_starts(old_, old_middle.size(), old_.size(), old_starts_);
  const std::size_t all = old_starts_.size();
  old_starts_.push_back(old_.size());

  // Each middle's lines; `at[i]` is where the old ones are written.
  Compared compared(old_last - first);
  std::vector<std::size_t> at;
  at.reserve(old_last - first + 1);
  for (std::size_t i = first; i < old_last; ++i) {
    at.push_back(compared.text.size());
    compared.add(old_line(i + 1), i);
  }
  at.push_back(compared.text.size());
  std::size_t next = first;  // the old line that is likely to be the next new one
  for (std::size_t from = start; from < new_middle.size();) {
    const std::size_t same =
        equal_start(old_middle.substr(old_starts_[next]), new_middle.substr(from));
    const std::size_t begin = next;
    for (; next < old_last && old_starts_[next] - old_starts_[begin] < same; ++next) {
      new_starts_.push_back(from + old_starts_[next] - old_starts_[begin]);
    }
    compared.text.append(compared.text, at[begin - first], at[next - first] - at[begin - first]);
    from += same;
    if (from == new_middle.size()) break;
    const std::size_t newline = new_middle.find('\n', from);
    const std::size_t behind = newline == std::string_view::npos ? new_middle.size() : newline + 1;
    const std::string_view text = new_middle.substr(from, behind - from);
    const uint32_t known = compared.find(text);
    if (known == Compared::kNone) {
      compared.add(text, old_last);
    } else {
      compared.write_known(known, compared.text);
      const std::size_t place = compared.place(known);
      if (place < old_last && compared.once(known)) next = place + 1;
    }
    new_starts_.push_back(from);
    from = behind;
  }
  for (std::size_t i = old_last; i <= all; ++i) {
    new_starts_.push_back(old_starts_[i] - old_.size() + new_.size());
  }

  // A change can move over lines that are equal to one of its own. Above those git looks at one
  // that is not blank, and from the hunk's start upwards for its name; below them at two.
  std::vector<uint32_t> numbers;
  numbers.reserve(first);
  for (std::size_t i = 0; i < first; ++i) numbers.push_back(compared.find(old_line(i + 1)));
  std::size_t seen = first;  // behind the last line at the start that is no such line
  while (seen > 0 && (numbers[seen - 1] != Compared::kNone || is_blank(old_line(seen)))) --seen;
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
  before.append(compared.text, 0, at.back());
  after.append(compared.text, at.back());
  const std::size_t middle = before.size();
  int looked_at = 0;
  for (std::size_t i = old_last; i < all; ++i) {
    const uint32_t number = compared.find(old_line(i + 1));
    write_line(i, number, looked_at < 2);
    if (looked_at < 2 && number == Compared::kNone && !is_blank(old_line(i + 1))) ++looked_at;
  }
  after.append(before, middle);
}

}  // namespace refit
