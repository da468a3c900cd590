// Nearly all literals are words or hold one: they are looked up for each word of the text, by its
// first eight bytes or, where only its end is known, by its last four. Those without a word are
// looked for as a text. What may stand in the middle of a word is left to a
// filter on the hash of three bytes at every place. See literals.hpp.
#include "rewriter/project/literals.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <type_traits>
#include <utility>

#include "rewriter/project/common_sign.hpp"
#include "rewriter/text/byte_scan.hpp"

namespace refit {

namespace {

uint64_t last_bytes(std::string_view text, size_t end) {
  uint32_t out;
  std::memcpy(&out, text.data() + end - 4, 4);
  return out;
}

// Numbers by a key that nearly all lookups do not find.
class KeyTable {
 public:
  struct Entry {
    uint64_t key;
    uint32_t id;
    uint32_t offset;  // of the word in the literal
    uint32_t size;    // of the word, where the literal holds all of it; else 0
  };
  void add(Entry entry) { entries_.push_back(entry); }
  void build() {
    std::sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
      return std::pair(slot(a.key), a.id) < std::pair(slot(b.key), b.id);
    });
    for (const Entry& e : entries_) {
      filter_[slot(e.key) / 64] |= uint64_t{1} << (slot(e.key) % 64);
      ++begin_[slot(e.key) / kTogether + 1];
    }
    for (size_t i = 1; i < begin_.size(); ++i) begin_[i] += begin_[i - 1];
  }
  bool empty() const { return entries_.empty(); }
  template <typename Visit>
  void find(uint64_t key, uint64_t hash, Visit visit) const {
    const auto at = static_cast<uint32_t>(hash >> (64 - kSlotBits));
    if ((filter_[at / 64] >> (at % 64) & 1) == 0) return;
    for (uint32_t i = begin_[at / kTogether]; i < begin_[at / kTogether + 1]; ++i) {
      if (entries_[i].key == key) visit(entries_[i]);
    }
  }

 private:
  static constexpr uint32_t kSlotBits = 13, kTogether = 16;
  static uint32_t slot(uint64_t key) {
    return static_cast<uint32_t>(word_hash(key) >> (64 - kSlotBits));
  }
  std::vector<Entry> entries_;
  std::array<uint64_t, (1u << kSlotBits) / 64> filter_{};
  std::array<uint32_t, (1u << kSlotBits) / kTogether + 1> begin_{};
};

constexpr uint32_t kBuckets = 1u << 15;

uint32_t hash3(uint32_t bytes) { return (bytes & 0xffffffu) * 2654435761u >> 17; }

}  // namespace

struct Literals::Tables {
  KeyTable by_first, by_last;
  bool words = false;  // any of them is asked
  // Literals without a word: all that a whole file is asked for, those of one byte, the others.
  std::vector<Sign> all, signs, longer;
  // Those that may stand in the middle of a word: of one byte, and by a hash of their first three
  // bytes; one of two stands under every third.
  std::vector<uint32_t> single;
  std::vector<uint64_t> filter;
  std::vector<uint32_t> bucket_begin, bucket;

  void place(const Literal& literal, uint32_t id);
  void place_anywhere(const std::vector<std::pair<uint32_t, uint32_t>>& entries);
  void build(const std::vector<Literal>& literals);
};

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

AnyLiteral::AnyLiteral(const LiteralBits& of) {
  for (size_t w = 0; w < of.words_.size(); ++w) {
    if (of.words_[w] != 0) parts_.push_back({w, of.words_[w]});
  }
}

uint32_t Literals::number(std::string_view literal, std::string_view condition, Stands stands,
                          Literal made) {
  auto [at, fresh] =
      numbers_.emplace(std::tuple(std::string(literal), std::string(condition), stands),
                       static_cast<uint32_t>(literals_.size()));
  if (fresh) literals_.push_back(std::move(made));
  return at->second;
}

uint32_t Literals::add(std::string_view literal, Stands stands, std::string_view condition,
                       Check check) {
  if (literal == kNegation) {
    return number(literal, condition, stands, {"-", {}, true, true, {}, kNotNoted});
  }
  return number(literal, condition, stands,
                {std::string(literal), stands, true, false, std::move(check), kNotNoted});
}

uint32_t Literals::add_noted(std::string_view literal, Stands stands) {
  Literal made{std::string(literal), stands, true, false, {}, noted_};
  const uint32_t id = number(literal, "noted", stands, std::move(made));
  if (literals_[id].noted == noted_) ++noted_;
  return literals_[id].noted;
}

uint32_t Literals::add_unscanned(std::string_view name) {
  return number({}, name, Stands::anywhere, {{}, {}, false, false, {}, kNotNoted});
}

uint32_t Literals::add_later(std::string_view literal) {
  return number(literal, "later", Stands::anywhere,
                {std::string(literal), {}, false, false, {}, kNotNoted});
}

// Under the word by which most texts are told from others: whole ones before ends and beginnings.
void Literals::Tables::place(const Literal& literal, uint32_t id) {
  struct Run {
    size_t begin, end;
    bool starts, stops;
  };
  const std::string& text = literal.text;
  const bool starts = literal.stands == Stands::alone || literal.stands == Stands::begins;
  const bool stops = literal.stands == Stands::alone || literal.stands == Stands::ends;
  const Run* best = nullptr;
  std::vector<Run> runs;
  each_word(text, [&](size_t begin, size_t end) {
    runs.push_back({begin, end, begin > 0 || starts, end < text.size() || stops});
  });
  auto worth = [](const Run& run) {
    const size_t size = run.end - run.begin;
    if (run.starts && run.stops) return size + 1000;
    if (run.stops && size >= 4) return size + 100;
    return run.starts && size >= 8 ? size : 0;
  };
  for (const Run& run : runs) {
    if (worth(run) > 0 && (best == nullptr || worth(run) > worth(*best))) best = &run;
  }
  if (best != nullptr) {
    words = true;
    auto offset = static_cast<uint32_t>(best->begin);
    auto size = static_cast<uint32_t>(best->end - best->begin);
    if (best->starts) {
      by_first.add({first_bytes(text, best->begin, best->end), id, offset, best->stops ? size : 0});
    } else {
      by_last.add({last_bytes(text, best->end), id, static_cast<uint32_t>(best->end), 0});
    }
  } else if (runs.empty()) {
    const bool common = literal.check != nullptr && common_sign(text);
    for (std::vector<Sign>* of : {&all, text.size() == 1 ? &signs : &longer}) {
      if (of == &all && common) continue;
      auto known =
          std::find_if(of->begin(), of->end(), [&](const Sign& s) { return s.text == text; });
      if (known == of->end()) known = of->insert(of->end(), {text, {}});
      known->ids.push_back(id);
    }
  } else if (text.size() == 1) {
    single.push_back(id);
  } else {
    bucket.push_back(id);
  }
}

void Literals::Tables::place_anywhere(const std::vector<std::pair<uint32_t, uint32_t>>& entries) {
  filter.assign(kBuckets / 64, 0);
  bucket_begin.assign(kBuckets + 1, 0);
  bucket.clear();
  for (auto [at, id] : entries) {
    filter[at / 64] |= uint64_t{1} << (at % 64);
    ++bucket_begin[at + 1];
    bucket.push_back(id);
  }
  for (uint32_t b = 0; b < kBuckets; ++b) bucket_begin[b + 1] += bucket_begin[b];
}

void Literals::Tables::build(const std::vector<Literal>& literals) {
  by_first.build();
  by_last.build();
  std::vector<std::pair<uint32_t, uint32_t>> entries;  // bucket, literal
  for (uint32_t id : bucket) {
    const std::string& text = literals[id].text;
    uint32_t known = 0;
    std::memcpy(&known, text.data(), std::min<size_t>(text.size(), 3));
    if (text.size() > 2) {
      entries.emplace_back(hash3(known), id);
      continue;
    }
    for (uint32_t third = 0; third < 256; ++third) {
      entries.emplace_back(hash3(known | third << 16), id);
    }
  }
  std::sort(entries.begin(), entries.end());
  entries.erase(std::unique(entries.begin(), entries.end()), entries.end());
  if (!entries.empty()) place_anywhere(entries);
}

void Literals::build() {
  auto all = std::make_shared<Tables>(), parts = std::make_shared<Tables>();
  for (uint32_t id = 0; id < literals_.size(); ++id) {
    const Literal& literal = literals_[id];
    if (!literal.scanned) continue;
    all->place(literal, id);
    const bool bare = !literal.negation && literal.noted == kNotNoted;
    if (literal.of_parts && (bare || literal.text.size() == 1)) parts->place(literal, id);
  }
  all->build(literals_);
  parts->build(literals_);
  tables_ = std::move(all);
  parts_ = std::move(parts);
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

bool Literals::stands_at(const ScannedText& scanned, size_t at, const Literal& literal) {
  const std::string_view text = scanned;
  if (literal.negation) return text[at] == '-' && negates(text, at);
  return stands_bare(text, at, literal) && (literal.check == nullptr || literal.check(scanned, at));
}

bool Literals::stands_bare(std::string_view text, size_t at, const Literal& literal) {
  const std::string_view wanted = literal.text;
  const size_t end = at + wanted.size();
  if (end > text.size() || text[at] != wanted.front()) return false;
  if (wanted.size() > 1 && std::memcmp(text.data() + at, wanted.data(), wanted.size()) != 0) {
    return false;
  }
  if (literal.stands == Stands::anywhere) return true;
  const char before = at == 0 ? ' ' : text[at - 1], after = end >= text.size() ? ' ' : text[end];
  if (literal.stands != Stands::ends && word_byte(before)) return false;
  if (literal.stands != Stands::begins && word_byte(after)) return false;
  const bool quoted = before == after && (before == '"' || before == '\'' || before == '`');
  return literal.stands != Stands::alone || !quoted;
}

template <typename Look>
void Literals::each_sign(const std::vector<Sign>& signs, std::string_view text, Look look) {
  for (const Sign& sign : signs) {
    auto next = [&](size_t at) {
      return sign.text.size() == 1 ? text.find(sign.text.front(), at)
                                   : find_text(text, sign.text, at);
    };
    for (size_t at = next(0); at != std::string_view::npos; at = next(at + 1)) {
      bool done = true;
      for (uint32_t id : sign.ids) done = look(id, at) && done;
      if (done) break;
    }
  }
}

template <typename Words, typename Look>
void Literals::each(const Tables& tables, std::string_view text, const std::vector<Sign>& signs,
                    Words words, Look look) const {
  constexpr bool nobody = std::is_same_v<Words, std::nullptr_t>;
  if (tables.words || !nobody) {
    const bool ends = !tables.by_last.empty();
    // Asked for every word, and short: a call would be half of it.
    each_word(text, [&](size_t begin, size_t end) __attribute__((always_inline)) {
      const uint64_t first = first_bytes(text, begin, end);
      const uint64_t hash = word_hash(first);
      if constexpr (!nobody) words(begin, end, hash);
      tables.by_first.find(first, hash, [&](const KeyTable::Entry& e) {
        const bool whole = e.size == 0 || e.size == end - begin;
        if (whole && begin >= e.offset) look(e.id, begin - e.offset);
      });
      if (!ends || end - begin < 4) return;
      const uint64_t last = last_bytes(text, end);
      tables.by_last.find(last, word_hash(last), [&](const KeyTable::Entry& e) {
        if (end >= e.offset) look(e.id, end - e.offset);
      });
    });
  }
  each_sign(signs, text, look);
  for (uint32_t id : tables.single) {
    for (size_t at = text.find(literals_[id].text); at != std::string_view::npos;
         at = text.find(literals_[id].text, at + 1)) {
      look(id, at);
    }
  }
  if (tables.bucket.empty()) return;
  auto look_under = [&](uint32_t b, size_t at) {
    if ((tables.filter[b / 64] >> (b % 64) & 1) == 0) return;
    for (uint32_t i = tables.bucket_begin[b]; i < tables.bucket_begin[b + 1]; ++i) {
      look(tables.bucket[i], at);
    }
  };
  size_t at = 0;
  for (; at + 4 <= text.size(); ++at) {
    uint32_t four;
    std::memcpy(&four, text.data() + at, 4);
    look_under(hash3(four), at);
  }
  for (; at < text.size(); ++at) {  // with zeroes behind the end
    uint32_t rest = 0;
    std::memcpy(&rest, text.data() + at, text.size() - at);
    look_under(hash3(rest), at);
  }
}

LiteralBits Literals::scan(std::string_view text, WordSet* words, Places* noted) const {
  LiteralBits seen = none();
  const ScannedText scanned(text);
  if (words != nullptr) *words = WordSet(text.size());
  if (noted != nullptr) {
    noted->of.resize(noted_);
    for (auto& places : noted->of) places.clear();
    noted->titles.clear();
  }
  auto look = [&](uint32_t id, size_t at) {
    if (seen.test(id)) return true;
    const Literal& literal = literals_[id];
    if (literal.noted != kNotNoted) {
      if (noted != nullptr && stands_bare(text, at, literal))
        noted->of[literal.noted].push_back(at);
      return false;
    }
    if (literal.check != nullptr && common_sign(literal.text)) return true;
    if (!stands_at(scanned, at, literal)) return false;
    seen.set(id);
    return true;
  };
  if (words == nullptr && noted == nullptr) {
    each(*tables_, text, tables_->all, nullptr, look);
    return seen;
  }
  // In names of its own, which need not be read anew for each word.
  const auto note = [words, noted, text](size_t begin, size_t end,
                                         uint64_t hash) __attribute__((always_inline)) {
    if (words != nullptr) words->add(hash, end - begin);
    const bool capital = static_cast<unsigned char>(text[begin] - 'A') <= 'Z' - 'A';
    if (capital && noted != nullptr && end < text.size() &&
        (text[end] == '"' || text[end] == '\'' || text[end] == ':')) {
      noted->titles.emplace_back(begin, end);
    }
  };
  each(*tables_, text, tables_->all, note, look);
  return seen;
}

void Literals::add_bare_places(std::string_view text, uint32_t begin, uint32_t end,
                               std::vector<Place>& places, const WordSet& words,
                               const VisitWord& visit) const {
  const size_t before = places.size();
  const std::string_view part = text.substr(begin, end - begin);
  auto look = [&](uint32_t id, size_t at) {
    const Literal& literal = literals_[id];
    if (!literal.negation && literal.noted == kNotNoted && stands_bare(part, at, literal)) {
      places.push_back({begin + static_cast<uint32_t>(at), id});
    }
    return false;
  };
  auto pass_on = [&](size_t from, size_t to, uint64_t hash) __attribute__((always_inline)) {
    if (words.may_hold(hash, to - from)) visit(from, to);
  };
  each(*parts_, part, parts_->longer, pass_on, look);
  std::sort(places.begin() + static_cast<ptrdiff_t>(before), places.end(),
            [](Place a, Place b) { return std::pair(a.at, a.id) < std::pair(b.at, b.id); });
}

LiteralBits Literals::untold() const {
  LiteralBits out = none();
  for (const Sign& sign : parts_->signs) {
    for (uint32_t id : sign.ids) out.set(id);
  }
  return out;
}

void Literals::add_seen(std::string_view text, uint32_t begin, uint32_t end,
                        std::span<const Place> places, LiteralBits& seen) const {
  const std::string_view part = text.substr(begin, end - begin);
  const ScannedText scanned(part);
  auto look = [&](uint32_t id, size_t at) {
    if (!seen.test(id) && stands_at(scanned, at, literals_[id])) seen.set(id);
    return seen.test(id);
  };
  each_sign(parts_->signs, part, look);
  auto place = std::lower_bound(places.begin(), places.end(), begin,
                                [](Place p, uint32_t at) { return p.at < at; });
  for (; place != places.end() && place->at < end; ++place) {
    const Literal& literal = literals_[place->id];
    if (seen.test(place->id) || place->at + literal.text.size() > end) continue;
    if (literal.check == nullptr || literal.check(scanned, place->at - begin)) seen.set(place->id);
  }
}

}  // namespace refit
