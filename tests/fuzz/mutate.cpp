// See mutate.hpp.
#include "tests/fuzz/mutate.hpp"

#include <algorithm>
#include <cstring>
#include <random>
#include <string_view>
#include <vector>

namespace refit::fuzz {
namespace {

using Random = std::mt19937;

constexpr std::string_view kPieces[] = {".transpose(1, 2)",
                                        ".transpose(-1, -2)",
                                        ".contiguous()",
                                        ".float()",
                                        ".to(q.dtype)",
                                        "None",
                                        "True",
                                        "*",
                                        "**",
                                        "@",
                                        "(",
                                        ")",
                                        "[",
                                        "]",
                                        ",",
                                        ":=",
                                        "0",
                                        "1",
                                        "-1",
                                        "2",
                                        "0.5",
                                        "[..., 0]",
                                        "self.",
                                        "q",
                                        "k",
                                        "v",
                                        "x",
                                        "scale=",
                                        "dim=",
                                        "if ",
                                        " else ",
                                        " for x in ",
                                        "lambda: ",
                                        "yield ",
                                        "await ",
                                        "return ",
                                        "del q",
                                        "\"",
                                        "'''",
                                        "#",
                                        "\\\n",
                                        ";",
                                        "    ",
                                        "\t",
                                        "\f"};

struct Memory {
  std::vector<std::string> lines, words;
};
Memory& memory() {
  static Memory one;
  return one;
}

bool word_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

std::vector<std::string_view> pieces(std::string_view text, bool lines) {
  std::vector<std::string_view> found;
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t end = begin;
    if (lines) {
      end = std::min(text.find('\n', begin), text.size() - 1) + 1;
      found.push_back(text.substr(begin, end - begin));
    } else if (word_char(text[begin])) {
      while (end < text.size() && word_char(text[end])) ++end;
      found.push_back(text.substr(begin, end - begin));
    } else {
      ++end;
    }
    begin = end;
  }
  return found;
}

class Mutation {
 public:
  Mutation(std::string text, unsigned seed) : text_(std::move(text)), random_(seed) {}

  std::string run() {
    for (std::size_t times = below(4) + 1; times > 0; --times) once();
    return std::move(text_);
  }

 private:
  std::size_t below(std::size_t end) { return end == 0 ? 0 : random_() % end; }
  template <typename List>
  std::string any(const List& list) {
    return std::string(list[below(std::size(list))]);
  }

  void once() {
    const auto lines = pieces(text_, true), words = pieces(text_, false);
    if (lines.empty() || words.empty()) {
      text_ += any(kPieces);
      return;
    }
    const std::string_view line = lines[below(lines.size())], word = words[below(words.size())];
    const std::size_t at = offset(line), word_at = offset(word);
    const std::string copy(lines[below(lines.size())]), other(words[below(words.size())]);
    switch (below(12)) {
      case 0:
        text_.erase(at, line.size());
        break;
      case 1:
        text_.insert(at, copy);
        break;
      case 2:
        text_.replace(at, line.size(), copy);
        break;
      case 3:
      case 4:
        text_.replace(word_at, word.size(), other);
        break;
      case 5:
        text_.replace(word_at, word.size(),
                      memory().words.empty() ? any(kPieces) : any(memory().words));
        break;
      case 6:
        rename(std::string(word), other + "_");
        break;
      case 7:
        text_.insert(word_at + word.size(), any(kPieces));
        break;
      case 8:
        text_.insert(word_at, any(kPieces));
        break;
      case 9:
        insert_remembered(at, std::string(line));
        break;
      case 10:
        text_.erase(below(text_.size()), 1);
        break;
      default:
        text_.replace(word_at, word.size(), any(kPieces));
    }
  }

  std::size_t offset(std::string_view piece) const {
    return static_cast<std::size_t>(piece.data() - text_.data());
  }

  void rename(const std::string& from, const std::string& to) {
    std::string renamed;
    std::size_t last = 0;
    for (const std::string_view word : pieces(text_, false)) {
      if (word != from) continue;
      renamed.append(text_, last, offset(word) - last);
      renamed += to;
      last = offset(word) + word.size();
    }
    text_ = renamed + text_.substr(last);
  }

  // A line of another text, as far in as the one that it is put before.
  void insert_remembered(std::size_t at, const std::string& line) {
    if (memory().lines.empty()) return;
    const std::string other = any(memory().lines);
    const std::size_t inner = other.find_first_not_of(" \t"),
                      indent = line.find_first_not_of(" \t");
    if (inner == std::string::npos || indent == std::string::npos) return;
    text_.insert(at, line.substr(0, indent) + other.substr(inner));
  }

  std::string text_;
  Random random_;
};

}  // namespace

void remember(const std::string& text) {
  for (const std::string_view line : pieces(text, true)) memory().lines.emplace_back(line);
  for (const std::string_view word : pieces(text, false)) memory().words.emplace_back(word);
}

std::size_t mutate_lines(uint8_t* data, std::size_t size, std::size_t most, unsigned seed) {
  const std::string made =
      Mutation(std::string(reinterpret_cast<const char*>(data), size), seed).run();
  const std::size_t length = std::min(made.size(), most);
  std::memcpy(data, made.data(), length);
  return length;
}

}  // namespace refit::fuzz
