// See subclasses.hpp.
#include "rewriter/python/names/subclasses.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "rewriter/python/syntax/lines.hpp"

namespace refit::python {

namespace {

constexpr std::string_view kClass = "class ";

std::string_view word_at(std::string_view text, size_t at) {
  size_t end = at;
  while (end < text.size() && name_char(text[end])) ++end;
  return text.substr(at, end - at);
}

size_t line_start(std::string_view text, size_t at) {
  size_t newline = at == 0 ? std::string_view::npos : text.rfind('\n', at - 1);
  return newline == std::string_view::npos ? 0 : newline + 1;
}

size_t indentation(std::string_view text, size_t line) {
  size_t at = line;
  while (at < text.size() && (text[at] == ' ' || text[at] == '\t')) ++at;
  return at - line;
}

// The last component of a base as it is written: `nn.Module`, `Base[T]`.
std::string_view base_name(std::string_view written) {
  written = trimmed(written.substr(0, written.find('[')));
  written = trimmed(written.substr(0, written.find('(')));
  size_t dot = written.rfind('.');
  return dot == std::string_view::npos ? written : trimmed(written.substr(dot + 1));
}

// The entries between the parenthesis at `open` and its partner, comments left out.
std::vector<std::string> entries(std::string_view text, size_t open) {
  std::vector<std::string> out(1);
  int depth = 0;
  for (size_t at = open; at < text.size(); ++at) {
    char c = text[at];
    if (c == '#') {
      at = std::min(text.find('\n', at), text.size());
      continue;
    }
    if ((c == ')' || c == ']' || c == '}') && --depth == 0) break;
    if (c == ',' && depth == 1) {
      out.emplace_back();
    } else if (depth > 0) {
      out.back() += c;
    }
    if (c == '(' || c == '[' || c == '{') ++depth;
  }
  return out;
}

struct Header {
  std::string_view name;
  std::vector<std::string> bases;
  uint32_t begin;
};

// Where the next definition stands that is no part of a class whose header is indented so far.
size_t extent(std::string_view text, size_t begin, size_t depth) {
  for (size_t newline = text.find('\n', begin); newline != std::string_view::npos;
       newline = text.find('\n', newline + 1)) {
    size_t line = newline + 1, inner = indentation(text, line);
    if (inner > depth) continue;
    std::string_view rest = text.substr(line + inner);
    if (rest.starts_with("class ") || rest.starts_with("def ") || rest.starts_with("async def ") ||
        rest.starts_with("@")) {
      return line;
    }
  }
  return text.size();
}

std::vector<Header> headers(std::string_view text, const std::vector<size_t>& places) {
  std::vector<Header> out;
  for (size_t at : places) {  // of "class "
    size_t line = line_start(text, at), depth = indentation(text, line);
    if (line + depth != at) continue;
    size_t name_at = text.find_first_not_of(" \t", at + kClass.size());
    if (name_at == std::string_view::npos) break;
    std::string_view name = word_at(text, name_at);
    size_t after = text.find_first_not_of(" \t", name_at + name.size());
    if (name.empty() || after == std::string_view::npos) continue;
    Header header{name, {}, static_cast<uint32_t>(at)};
    if (text[after] == '[') after = text.find('(', after);
    if (after != std::string_view::npos && text[after] == '(') {
      for (const std::string& entry : entries(text, after)) {
        if (entry.find('=') != std::string::npos) continue;
        std::string_view base = base_name(entry);
        if (!base.empty()) header.bases.emplace_back(base);
      }
    }
    out.push_back(std::move(header));
  }
  return out;
}

// "package.module.Name" in quotes, or `Name:` where a dictionary begins an entry: a table of
// classes that something is done to.
void note_tables(std::string_view text, const NotedPlaces& places,
                 const std::set<std::string_view>& local, const Renamed& renamed,
                 std::vector<uint64_t>& compared) {
  for (const auto& [begin, at] : places.titles()) {
    std::string_view word = text.substr(begin, at - begin);
    if (local.contains(word)) continue;
    size_t chain = begin;  // where the dotted name begins
    while (chain > 0 && (name_char(text[chain - 1]) || text[chain - 1] == '.')) --chain;
    if (text[at] != ':') {
      bool quoted = chain < begin && chain > 0 && text[chain - 1] == text[at];
      if (quoted) compared.push_back(name_hash(word));
      continue;
    }
    size_t before = text.find_last_not_of(" \t\r\n", chain == 0 ? 0 : chain - 1);
    if (chain > 0 && before != std::string_view::npos &&
        (text[before] == '{' || text[before] == ',')) {
      compared.push_back(name_hash(renamed.of(word)));
    }
  }
}

uint64_t local_key(uint32_t file, uint64_t name) { return paired(file + uint64_t{1}, name); }

}  // namespace

void note_classes(std::string_view text, const NotedPlaces& places, const Renamed& renamed,
                  TextNotes& out) {
  const std::vector<Header> found = headers(text, places.of(NotedPlaces::kClass));
  std::set<std::string_view> local;
  for (const Header& h : found) local.insert(h.name);
  for (const Header& h : found) {
    for (const std::string& base : h.bases) {
      const bool own = local.contains(base);
      out.classes.push_back(
          {name_hash(own ? base : renamed.of(base)), name_hash(h.name), h.begin, own});
    }
  }
  for (auto question : {NotedPlaces::kIsinstance, NotedPlaces::kIssubclass}) {
    for (size_t at : places.of(question)) {
      auto arguments = entries(text, at + NotedPlaces::text_of(question).size() - 1);
      if (arguments.size() < 2) continue;
      const std::string& asked = arguments[1];
      for (size_t i = 0; i < asked.size();) {
        std::string_view word = word_at(asked, i);
        bool last = i + word.size() >= asked.size() || asked[i + word.size()] != '.';
        if (!word.empty() && last && !local.contains(word)) {
          out.compared.push_back(name_hash(renamed.of(word)));
        }
        i += std::max<size_t>(word.size(), 1);
      }
    }
  }
  note_tables(text, places, local, renamed, out.compared);
}

void Subclasses::add(uint32_t file, const TextNotes& notes) {
  for (const TextNotes::Inherits& c : notes.classes) {
    subclasses_[c.local ? local_key(file, c.base) : c.base].push_back({c.name, file, c.begin});
  }
  compared_.insert(notes.compared.begin(), notes.compared.end());
}

std::vector<Subclass> Subclasses::of(const std::string& name, uint32_t file) const {
  std::vector<Subclass> out;
  std::set<std::pair<uint64_t, uint32_t>> seen;
  std::vector<std::pair<uint64_t, uint32_t>> work{{name_hash(name), file}};
  while (!work.empty()) {
    auto [base, home] = work.back();
    work.pop_back();
    if (!seen.insert({base, home}).second) continue;
    for (uint64_t key : {base, local_key(home, base)}) {
      auto known = subclasses_.find(key);
      if (known == subclasses_.end()) continue;
      for (const Subclass& subclass : known->second) {
        out.push_back(subclass);
        work.emplace_back(subclass.name, subclass.file);
      }
    }
  }
  return out;
}

std::string_view class_name(std::string_view text, uint32_t begin) {
  size_t at = text.find_first_not_of(" \t", std::min(text.size(), begin + kClass.size()));
  return at == std::string_view::npos ? std::string_view{} : word_at(text, at);
}

std::string_view class_text(std::string_view text, uint32_t begin) {
  if (begin >= text.size()) return {};
  size_t end = extent(text, begin, begin - line_start(text, begin));
  return text.substr(begin, end - begin);
}

bool stores_attribute(std::string_view body, std::string_view attribute) {
  bool by_name = body.find("setattr(") != std::string_view::npos ||
                 body.find("add_module(") != std::string_view::npos ||
                 body.find("register_module(") != std::string_view::npos;
  for (size_t at = body.find(attribute); at != std::string_view::npos;
       at = body.find(attribute, at + 1)) {
    size_t end = at + attribute.size();
    if ((at > 0 && name_char(body[at - 1])) || (end < body.size() && name_char(body[end]))) {
      continue;
    }
    char before = at == 0 ? '\n' : body[at - 1];
    if (by_name && (before == '"' || before == '\'')) return true;
    size_t line = line_start(body, at);
    std::string_view head = trimmed(body.substr(line, at - line));
    size_t next = body.find_first_not_of(" \t", end);
    char follows = next == std::string_view::npos ? '\n' : body[next];
    bool assigned = follows == ':' || (follows == '=' && !body.substr(next).starts_with("=="));
    if (head.empty() || head == "def" || head == "async def") {
      if (assigned || !head.empty()) return true;
      continue;
    }
    if (before != '.') continue;
    if (head == "del self.") return true;
    if (assigned && head.ends_with("self.")) return true;
    // `self.q_norm, self.k_norm = …`
    std::string_view rest = body.substr(end, body.find('\n', end) - end);
    if (head.starts_with("self.") && head.find('(') == std::string_view::npos && follows == ',' &&
        rest.find('=') != std::string_view::npos) {
      return true;
    }
  }
  return false;
}

}  // namespace refit::python
