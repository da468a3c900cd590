// New #include lines where a person would put them: among the system headers that hold libtorch's,
// in their order. Entry point: add_includes.
#include <algorithm>

#include "rewriter/cpp/frontend.hpp"

namespace refit::cpp {

namespace {

struct Directive {
  uint32_t begin, end;  // of its line, the line's ending included
  std::string name;     // of the header
  bool angled;
  uint32_t line;
};

std::string_view word(std::string_view line) {
  size_t begin = line.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return "";
  size_t end = begin;
  while (end < line.size() && isalpha(static_cast<unsigned char>(line[end])) != 0) ++end;
  return line.substr(begin, end - begin);
}

// The include lines that every compilation of the file reads, and where its own text begins.
std::vector<Directive> includes_of(const CppUnit& unit, uint32_t* body) {
  std::vector<Directive> out;
  std::string_view text = unit.text();
  int depth = 0;
  bool guard = false, anything = false;
  uint32_t number = 0;
  for (uint32_t at = 0; at < text.size(); ++number) {
    size_t stop = text.find('\n', at);
    auto end = static_cast<uint32_t>(stop == std::string_view::npos ? text.size() : stop + 1);
    std::string_view line = text.substr(at, end - at);
    size_t first = line.find_first_not_of(" \t\r\n");
    bool directive = first != std::string_view::npos && line[first] == '#' &&
                     !in_comment(unit, at + static_cast<uint32_t>(first));
    if (directive) {
      std::string_view rest = line.substr(first + 1);
      std::string_view what = word(rest);
      if (what == "if" || what == "ifdef" || what == "ifndef") {
        // The guard around a whole header is no condition.
        if (what == "ifndef" && depth == 0 && !anything) {
          guard = true;
        } else {
          ++depth;
        }
      } else if (what == "endif") {
        if (depth > 0) --depth;
      } else if (what == "include" && depth == 0) {
        size_t open = rest.find_first_of("<\"");
        size_t close = open == std::string_view::npos ? open : rest.find_first_of(">\"", open + 1);
        if (close != std::string_view::npos) {
          out.push_back({at, end, std::string(rest.substr(open + 1, close - open - 1)),
                         rest[open] == '<', number});
        }
      } else if ((what == "pragma" || (what == "define" && guard && !anything)) && out.empty()) {
        *body = end;
      }
      anything = anything || (what != "ifndef" && what != "pragma");
    }
    at = end;
  }
  return out;
}

}  // namespace

void add_includes(const CppUnit& unit, const std::set<std::string>& headers, EditSet& edits) {
  uint32_t body = 0;
  std::vector<Directive> lines = includes_of(unit, &body);
  std::string nl(unit.source().newline());
  for (const std::string& header : headers) {
    bool there = std::ranges::any_of(lines, [&](const Directive& d) { return d.name == header; });
    if (there) continue;
    std::string text = "#include <" + header + ">" + nl;
    auto libtorch = [](const Directive& d) {
      return d.angled && (d.name.starts_with("torch/") || d.name.starts_with("ATen/") ||
                          d.name.starts_with("c10/"));
    };
    auto torch = std::ranges::find_if(lines, libtorch);
    if (torch != lines.end()) {
      // The run of lines around it that are all of system headers.
      auto first = torch, last = torch;
      while (first != lines.begin() && std::prev(first)->angled &&
             std::prev(first)->line + 1 == first->line) {
        --first;
      }
      while (std::next(last) != lines.end() && std::next(last)->angled &&
             last->line + 1 == std::next(last)->line) {
        ++last;
      }
      bool sorted = std::is_sorted(first, std::next(last),
                                   [](const auto& a, const auto& b) { return a.name < b.name; });
      uint32_t at = last->end;
      if (sorted) {
        for (auto d = std::next(last); d != first;) {
          --d;
          if (d->name > header) at = d->begin;
        }
      }
      (void)edits.add({{at, at}, text});
    } else if (!lines.empty()) {
      uint32_t at = lines.back().end;
      (void)edits.add({{at, at}, nl + text});
    } else if (body != 0) {
      (void)edits.add({{body, body}, nl + text});
    } else {
      // Below the comment that opens the file.
      uint32_t at = 0;
      std::string_view all = unit.text();
      if (!unit.comments.empty() && unit.comments.front().begin == 0) {
        for (const ByteRange& c : unit.comments) {
          std::string_view between = all.substr(at, c.begin - at);
          if (c.begin != 0 && between.find_first_not_of(" \t") != std::string_view::npos) break;
          at = c.end;
          if (at < all.size() && all[at] == '\n') ++at;
        }
      }
      (void)edits.add({{at, at}, (at == 0 ? "" : nl) + text + nl});
    }
  }
}

}  // namespace refit::cpp
