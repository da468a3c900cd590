// A filter on the hash of three bytes passes over nearly every place of a text at about a
// nanosecond; where it does not, the literals of that hash are compared. See literals.hpp.
#include "rewriter/project/literals.hpp"

#include <algorithm>
#include <cstring>

namespace refit {

namespace {

constexpr uint32_t kBuckets = 1u << 15;

uint32_t hash3(uint32_t bytes) { return (bytes & 0xffffffu) * 2654435761u >> 17; }

uint32_t load3(std::string_view text, size_t at) {
  uint32_t out = 0;
  std::memcpy(&out, text.data() + at, 3);
  return out;
}

bool word_byte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}

}  // namespace

LiteralBits& LiteralBits::operator|=(const LiteralBits& other) {
  for (size_t i = 0; i < words_.size(); ++i) words_[i] |= other.words_[i];
  return *this;
}

bool LiteralBits::intersects(const LiteralBits& other) const {
  for (size_t i = 0; i < words_.size(); ++i) {
    if ((words_[i] & other.words_[i]) != 0) return true;
  }
  return false;
}

uint32_t Literals::add(std::string_view literal, bool word, std::string_view condition,
                       Check check) {
  auto [at, fresh] =
      numbers_.emplace(std::tuple(std::string(literal), std::string(condition), word),
                       static_cast<uint32_t>(literals_.size()));
  if (!fresh) return at->second;
  if (literal == kNegation) {
    literals_.push_back({"-", false, true, nullptr});
  } else {
    literals_.push_back({std::string(literal), word, false, std::move(check)});
  }
  return at->second;
}

uint32_t Literals::add_unscanned(std::string_view name) {
  auto [at, fresh] = numbers_.emplace(std::tuple(std::string(), std::string(name), false),
                                      static_cast<uint32_t>(literals_.size()));
  if (fresh) {
    literals_.emplace_back();
    ++unscanned_;
  }
  return at->second;
}

void Literals::build() {
  std::vector<std::pair<uint32_t, uint32_t>> entries;  // bucket, literal
  for (uint32_t id = 0; id < literals_.size(); ++id) {
    const std::string& text = literals_[id].text;
    if (text.empty()) continue;
    uint32_t known = 0;
    std::memcpy(&known, text.data(), std::min<size_t>(text.size(), 3));
    if (text.size() == 1) {
      single_.push_back(id);
    } else if (text.size() == 2) {
      for (uint32_t third = 0; third < 256; ++third) {
        entries.emplace_back(hash3(known | third << 16), id);
      }
    } else {
      entries.emplace_back(hash3(known), id);
    }
  }
  std::sort(entries.begin(), entries.end());
  entries.erase(std::unique(entries.begin(), entries.end()), entries.end());
  filter_.assign(kBuckets / 64, 0);
  bucket_begin_.assign(kBuckets + 1, 0);
  for (auto [bucket, id] : entries) {
    filter_[bucket / 64] |= uint64_t{1} << (bucket % 64);
    ++bucket_begin_[bucket + 1];
    bucket_.push_back(id);
  }
  for (uint32_t b = 0; b < kBuckets; ++b) bucket_begin_[b + 1] += bucket_begin_[b];
}

// A sign stands before its operand and not behind one; what cannot be told here may be a sign.
bool Literals::negates(std::string_view text, size_t at) {
  size_t next = at + 1;
  if (next >= text.size() || text[next] == '=' || text[next] == '>') return false;
  while (next < text.size() && (text[next] == ' ' || text[next] == '\t')) ++next;
  if (next < text.size() && text[next] >= '0' && text[next] <= '9') {
    // A number has its sign, but `-2 ** x` is the sign of a power.
    while (next < text.size() && (word_byte(text[next]) || text[next] == '.')) ++next;
    while (next < text.size() && (text[next] == ' ' || text[next] == '\t')) ++next;
    if (!text.substr(next).starts_with("**")) return false;
  }
  size_t before = at;
  while (before > 0 && (text[before - 1] == ' ' || text[before - 1] == '\t')) --before;
  if (before == 0) return true;
  char last = text[before - 1];
  if (last == ')' || last == ']' || last == '}' || last == '"' || last == '\'') return false;
  if (!word_byte(last)) return true;
  size_t word = before;
  while (word > 0 && word_byte(text[word - 1])) --word;
  static constexpr std::string_view kWords[] = {
      "return", "yield", "in",     "is",    "and",   "or",   "not",   "if",
      "else",   "await", "assert", "del",   "print", "case", "while", "elif",
      "lambda", "from",  "raise",  "match", "with",  "for"};
  std::string_view previous = text.substr(word, before - word);
  return std::find(std::begin(kWords), std::end(kWords), previous) != std::end(kWords);
}

bool Literals::stands_at(std::string_view text, size_t at, const Literal& literal) {
  if (literal.negation) return text[at] == '-' && negates(text, at);
  return stands_bare(text, at, literal) && (literal.check == nullptr || literal.check(text, at));
}

bool Literals::stands_bare(std::string_view text, size_t at, const Literal& literal) {
  return text.compare(at, literal.text.size(), literal.text) == 0 &&
         (!literal.word || stands_alone(text, at, literal.text.size()));
}

bool Literals::stands_alone(std::string_view text, size_t at, size_t size) {
  size_t end = at + size;
  char before = at == 0 ? ' ' : text[at - 1], after = end >= text.size() ? ' ' : text[end];
  bool quoted = before == after && (before == '"' || before == '\'' || before == '`');
  return !word_byte(before) && !word_byte(after) && !quoted;
}

void Literals::check(std::string_view text, size_t at, uint32_t bucket, LiteralBits& seen,
                     size_t& missing) const {
  for (uint32_t i = bucket_begin_[bucket]; i < bucket_begin_[bucket + 1]; ++i) {
    uint32_t id = bucket_[i];
    if (seen.test(id) || !stands_at(text, at, literals_[id])) continue;
    seen.set(id);
    --missing;
  }
}

template <typename Visit>
void Literals::each_bucket(std::string_view text, Visit visit) const {
  const uint64_t* filter = filter_.data();
  size_t at = 0;
  for (; at + 4 <= text.size(); ++at) {
    uint32_t bytes;
    std::memcpy(&bytes, text.data() + at, 4);
    uint32_t bucket = hash3(bytes);
    if ((filter[bucket / 64] >> (bucket % 64) & 1) == 0) continue;
    if (!visit(at, bucket)) return;
  }
  // The last bytes, with zeroes behind them.
  for (; at < text.size(); ++at) {
    std::string tail(text.substr(at));
    tail.resize(3, '\0');
    uint32_t bucket = hash3(load3(tail, 0));
    if ((filter[bucket / 64] >> (bucket % 64) & 1) != 0 && !visit(at, bucket)) return;
  }
}

void Literals::scan_single(std::string_view text, LiteralBits& seen, size_t& missing) const {
  for (uint32_t id : single_) {
    if (seen.test(id)) continue;
    const Literal& literal = literals_[id];
    for (size_t at = text.find(literal.text); at != std::string_view::npos;
         at = text.find(literal.text, at + 1)) {
      if (!stands_at(text, at, literal)) continue;
      seen.set(id);
      --missing;
      break;
    }
  }
}

LiteralBits Literals::scan(std::string_view text) const {
  LiteralBits seen = none();
  size_t missing = literals_.size() - unscanned_;
  if (missing == 0) return seen;
  scan_single(text, seen, missing);
  if (missing == 0) return seen;
  each_bucket(text, [&](size_t at, uint32_t bucket) {
    check(text, at, bucket, seen, missing);
    return missing != 0;
  });
  return seen;
}

std::vector<std::vector<size_t>> Literals::places(std::string_view text) const {
  std::vector<std::vector<size_t>> out(literals_.size());
  each_bucket(text, [&](size_t at, uint32_t bucket) {
    for (uint32_t i = bucket_begin_[bucket]; i < bucket_begin_[bucket + 1]; ++i) {
      if (stands_at(text, at, literals_[bucket_[i]])) out[bucket_[i]].push_back(at);
    }
    return true;
  });
  return out;
}

std::vector<Literals::Place> Literals::bare_places(std::string_view text, uint32_t begin,
                                                   uint32_t end) const {
  std::vector<Place> out;
  const std::string_view part = text.substr(begin, end - begin);
  each_bucket(part, [&](size_t at, uint32_t bucket) {
    for (uint32_t i = bucket_begin_[bucket]; i < bucket_begin_[bucket + 1]; ++i) {
      if (stands_bare(part, at, literals_[bucket_[i]])) {
        out.push_back({begin + static_cast<uint32_t>(at), bucket_[i]});
      }
    }
    return true;
  });
  return out;
}

LiteralBits Literals::untold() const {
  LiteralBits out = none();
  for (uint32_t id : single_) out.set(id);
  return out;
}

void Literals::add_seen(std::string_view text, uint32_t begin, uint32_t end,
                        const std::vector<Place>& places, LiteralBits& seen) const {
  const std::string_view part = text.substr(begin, end - begin);
  size_t missing = literals_.size();
  scan_single(part, seen, missing);
  auto place = std::lower_bound(places.begin(), places.end(), begin,
                                [](Place p, uint32_t at) { return p.at < at; });
  for (; place != places.end() && place->at < end; ++place) {
    const Literal& literal = literals_[place->id];
    if (seen.test(place->id) || place->at + literal.text.size() > end) continue;
    if (literal.check == nullptr || literal.check(part, place->at - begin)) seen.set(place->id);
  }
}

}  // namespace refit
