// Reading entries, and the conditions under which one stands at a place. See vocabulary.hpp.
#include "rewriter/project/vocabulary.hpp"

#include <fmt/format.h>
#include <llvm/Support/GlobPattern.h>

#include <algorithm>

namespace refit {

namespace {

constexpr size_t kNowhere = std::string_view::npos;
constexpr std::string_view kGiven = "given ", kRead = "read ", kCode = "code ";
constexpr std::string_view kSigns[] = {"**", "//", "::", "@", "+", "-", "*", "/"};
constexpr size_t kCommentColumn = 2000;           // further behind nothing is taken for a comment's
constexpr std::string_view kNothing = "nothing";  // of brackets that hold nothing
constexpr size_t kBrackets = 20000;               // bytes that are looked through for their end

bool blank(char c) {
  return c == ' ' || c == '\t' || c == '\f' || c == '\r' || c == '\n' || c == '\\';
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

// The place of the last byte before `at` that is no blank; kNowhere where there is none.
size_t last_before(std::string_view text, size_t at) {
  while (at > 0 && blank(text[at - 1])) --at;
  return at == 0 ? kNowhere : at - 1;
}

size_t next_from(std::string_view text, size_t at) {
  while (at < text.size() && blank(text[at])) ++at;
  return at;
}

// The word or number that ends before a place, blanks between; "" where none does.
std::string_view token_before(std::string_view text, size_t at) {
  const size_t last = last_before(text, at);
  if (last == kNowhere) return {};
  size_t begin = last + 1;
  while (begin > 0 && (in_word(text[begin - 1]) || text[begin - 1] == '.')) --begin;
  return text.substr(begin, last + 1 - begin);
}

std::string_view token_from(std::string_view text, size_t at) {
  const size_t begin = next_from(text, at);
  size_t end = begin;
  while (end < text.size() && (in_word(text[end]) || text[end] == '.')) ++end;
  return text.substr(begin, end - begin);
}

// The end of the brackets that open at a place, or of what is looked through.
size_t brackets_end(std::string_view text, size_t at) {
  size_t depth = 0;
  const size_t last = std::min(text.size(), at + kBrackets);
  for (; at < last; ++at) {
    const char c = text[at];
    if (c == '(' || c == '[' || c == '{') ++depth;
    if ((c == ')' || c == ']' || c == '}') && --depth == 0) return at;
  }
  return last;
}

// Whether a text has a word or a number, `-1` too.
bool has_token(std::string_view text, std::string_view token) {
  for (size_t at = text.find(token); at != kNowhere; at = text.find(token, at + 1)) {
    const size_t end = at + token.size();
    const bool begins = token.front() == '-' || at == 0 ||
                        (!in_word(text[at - 1]) && text[at - 1] != '.' && text[at - 1] != '-');
    if (begins && (end == text.size() || !in_word(text[end]))) return true;
  }
  return false;
}

bool is_glob(std::string_view text) { return text.find_first_of("*?[") != kNowhere; }

bool all_words(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, in_word);
}

std::vector<std::string> split(std::string_view text, char at) {
  std::vector<std::string> out;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(at, begin), text.size());
    if (end > begin) out.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

}  // namespace

bool in_comment(std::string_view text, size_t at) {
  const auto ends_line = [](char c) { return c == '\n' || c == '\r'; };
  const size_t floor = at > kCommentColumn ? at - kCommentColumn : 0;
  size_t begin = at;
  while (begin > floor && !ends_line(text[begin - 1])) --begin;
  if (begin == floor && begin != 0 && !ends_line(text[begin - 1])) return false;
  const std::string_view before = text.substr(begin, at - begin);
  const size_t mark = before.find_first_of("#\"'");
  return mark != kNowhere && before[mark] == '#';
}

Expected<Vocabulary::Entry> Vocabulary::read(std::string_view text) {
  Entry out;
  const auto unknown = [&] {
    return failure(fmt::format(
        "expected a word (`softmax`, `.backward`, `onnx.export`), a call (`mean()`, `cat(-1)`), a "
        "glob (`*_emb`), a sign (`@`, `**`, `//`, `::`, `1 +`), `given WORD`, `read WORD` or `code "
        "WORD`, found `{}`",
        text));
  };
  std::string_view rest = trimmed(text);
  if (rest.starts_with(kGiven)) {
    out.given = true;
    rest = trimmed(rest.substr(kGiven.size()));
  } else if (rest.starts_with(kRead) || rest.starts_with(kCode)) {
    out.uncalled = rest.starts_with(kRead);
    out.unquoted = rest.starts_with(kCode);
    rest = trimmed(rest.substr(kRead.size()));
  }
  const bool plain = !out.given && !out.uncalled && !out.unquoted;
  for (std::string_view sign : kSigns) {
    const size_t at = plain ? rest.find(sign) : kNowhere;
    if (at == kNowhere) continue;
    const std::string_view left = trimmed(rest.substr(0, at)),
                           right = trimmed(rest.substr(at + sign.size()));
    const auto token = [](std::string_view part) {
      return std::ranges::all_of(part, [](char c) { return in_word(c) || c == '.'; });
    };
    if (!token(left) || !token(right)) continue;
    if (sign.size() == 1 && sign != "@" && left.empty() && right.empty()) continue;
    // A star beside a word and no blank is a glob's.
    if (sign.front() == '*' && rest.find(' ') == kNowhere && !(left.empty() && right.empty()))
      continue;
    out.sign = true;
    out.word = sign;
    out.left = left;
    out.right = right;
    return out;
  }
  if (const size_t open = rest.find('('); open != kNowhere) {
    if (!rest.ends_with(")")) return unknown();
    out.called = true;
    out.inside = split(rest.substr(open + 1, rest.size() - open - 2), ' ');
    rest = rest.substr(0, open);
    out.empty = out.inside.size() == 1 && out.inside.front() == kNothing;
    if (out.empty) out.inside.clear();
    if (out.uncalled) return unknown();
  }
  if (rest.starts_with(".")) {
    out.dotted = true;
    rest.remove_prefix(1);
  }
  std::vector<std::string> parts = split(rest, '.');
  if (parts.empty()) return unknown();
  out.word = parts.back();
  parts.pop_back();
  out.dotted = out.dotted || !parts.empty();
  out.before.assign(parts.rbegin(), parts.rend());
  if (!is_glob(out.word)) {
    if (!all_words(out.word)) return unknown();
    return out;
  }
  auto glob = llvm::GlobPattern::create(out.word);
  if (!glob) {
    llvm::consumeError(glob.takeError());
    return unknown();
  }
  out.prefix = out.word.substr(0, out.word.find_first_of("*?["));
  out.suffix = out.word.substr(out.word.find_last_of("*?]") + 1);
  const size_t from = std::min(out.word.find_first_not_of("*?"), out.word.size());
  out.infix = out.word.substr(from, out.word.find_first_of("*?[", from) - from);
  if (!all_words(out.infix)) return unknown();
  return out;
}

std::string Vocabulary::wrong(std::string_view entry) {
  auto read_entry = read(entry);
  return read_entry ? std::string() : read_entry.error().message;
}

Expected<uint32_t> Vocabulary::add(std::string_view entry) {
  if (auto known = numbers_.find(entry); known != numbers_.end()) return known->second;
  auto made = read(entry);
  if (!made) return tl::unexpected(made.error());
  if (made->given) {
    auto of = add(trimmed(trimmed(entry).substr(kGiven.size())));
    if (!of) return of;
    made->of = *of;
  }
  const auto id = static_cast<uint32_t>(entries_.size());
  entries_.push_back(std::move(*made));
  numbers_.emplace(entry, id);
  place(id);
  return id;
}

uint32_t Vocabulary::add_word(std::string_view word) {
  if (auto known = numbers_.find(word); known != numbers_.end()) return known->second;
  const auto id = static_cast<uint32_t>(entries_.size());
  entries_.emplace_back().word = word;
  numbers_.emplace(word, id);
  place(id);
  return id;
}

void Vocabulary::place(uint32_t id) {
  Entry& entry = entries_[id];
  if (!entry.infix.empty()) {
    entry.glob = std::make_shared<const llvm::GlobPattern>(
        llvm::cantFail(llvm::GlobPattern::create(entry.word)));
  }
  const auto byte = [](char c) { return static_cast<unsigned char>(c); };
  if (entry.given) {
    given_.push_back(id);
  } else if (entry.sign) {
    by_sign_[byte(entry.word.front())].push_back(id);
  } else if (entry.glob && in_word(entry.word.front())) {
    by_first_[byte(entry.word.front())].push_back(id);
  } else if (entry.glob && in_word(entry.word.back())) {
    by_last_[byte(entry.word.back())].push_back(id);
  } else if (entry.glob) {
    // A word that it fits holds the first two bytes of its infix; a single byte may be anywhere.
    const size_t group = infixes_++ % kGroups;
    infix_[group].push_back(id);
    if (entry.infix.size() == 1) {
      for (uint32_t& groups : infix_pairs_) groups |= uint32_t{1} << group;
    } else {
      infix_pairs_[pair_of(byte(entry.infix[0]), byte(entry.infix[1]))] |= uint32_t{1} << group;
    }
  } else {
    if (2 * (words_ + 1) > slots_.size()) grow();
    const uint64_t hash = hash_of(entry.word);
    size_t at = hash & (slots_.size() - 1);
    while (slots_[at].first != kNone && slots_[at].hash != hash)
      at = (at + 1) & (slots_.size() - 1);
    words_ += slots_[at].first == kNone ? 1 : 0;
    entry.next = slots_[at].first;
    slots_[at] = {hash, id};
  }
}

void Vocabulary::grow() {
  std::vector<Slot> old(std::max<size_t>(64, 4 * slots_.size()));
  old.swap(slots_);
  for (const Slot& slot : old) {
    if (slot.first == kNone) continue;
    size_t at = slot.hash & (slots_.size() - 1);
    while (slots_[at].first != kNone) at = (at + 1) & (slots_.size() - 1);
    slots_[at] = slot;
  }
}

EntrySet Vocabulary::given(const EntrySet& words) const {
  EntrySet out = none();
  for (uint32_t id : given_) {
    if (words.test(entries_[id].of)) out.set(id);
  }
  return out;
}

bool Vocabulary::stands_sign(const Entry& entry, std::string_view text, size_t at) {
  const std::string_view sign = entry.word;
  if (text.substr(at, sign.size()) != sign) return false;
  const size_t last = last_before(text, at);
  const char before = last == kNowhere ? '\n' : text[last];
  if (sign == "@") {
    // A decorator, not a product.
    const bool begins_line =
        last == kNowhere || text.substr(last, at - last).find('\n') != kNowhere;
    if (begins_line && at + 1 < text.size() && in_word(text[at + 1])) return false;
  }
  if (sign == "**" && (before == '(' || before == ',')) return false;  // keyword arguments
  if (!entry.left.empty() && token_before(text, at) != entry.left) return false;
  return entry.right.empty() || token_from(text, at + sign.size()) == entry.right;
}

bool Vocabulary::stands(uint32_t id, std::string_view text, size_t begin, size_t end) const {
  const Entry& entry = entries_[id];
  if (entry.sign) return stands_sign(entry, text, begin);
  const std::string_view word = text.substr(begin, end - begin);
  // Most words that a glob is asked about fail at its ends, which are cheaper to compare.
  const bool named = !entry.glob
                         ? word == entry.word
                         : word.starts_with(entry.prefix) && word.ends_with(entry.suffix) &&
                               word.find(entry.infix) != kNowhere && entry.glob->match(word);
  if (!named) return false;
  if (entry.dotted) {
    size_t at = begin;
    for (size_t i = 0; i <= entry.before.size(); ++i) {
      const size_t dot = last_before(text, at);
      if (dot == kNowhere || text[dot] != '.') return false;
      if (i == entry.before.size()) break;
      const std::string& name = entry.before[i];
      const size_t stop = last_before(text, dot);
      if (stop == kNowhere || stop + 1 < name.size()) return false;
      at = stop + 1 - name.size();
      if (text.substr(at, name.size()) != name || (at > 0 && in_word(text[at - 1]))) return false;
      if (i + 1 == entry.before.size()) break;
    }
  }
  if (entry.unquoted && begin > 0 && end < text.size() && text[begin - 1] == text[end] &&
      (text[end] == '"' || text[end] == '\'')) {
    return false;
  }
  if (!entry.called && !entry.uncalled) return true;
  const size_t open = next_from(text, end);
  const bool called = open < text.size() && text[open] == '(';
  if (called != entry.called) return false;
  if (entry.empty) {
    const size_t close = next_from(text, open + 1);
    return close < text.size() && text[close] == ')';
  }
  if (entry.inside.empty()) return true;
  const std::string_view arguments = text.substr(open + 1, brackets_end(text, open) - open - 1);
  return std::ranges::all_of(entry.inside,
                             [&](const std::string& token) { return has_token(arguments, token); });
}

}  // namespace refit
