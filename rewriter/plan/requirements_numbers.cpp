// Lists of texts, literals and alternatives by their numbers: see requirements.hpp.
#include <algorithm>

#include "rewriter/plan/requirements.hpp"
#include "rewriter/project/common_sign.hpp"

namespace refit {
namespace {

bool is_word(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

}  // namespace

uint32_t Requirements::numbered(std::vector<std::string> any_of) {
  auto [at, fresh] =
      numbers_.try_emplace(std::move(any_of), static_cast<uint32_t>(by_number_.size()));
  if (fresh) by_number_.push_back(&at->first);
  return at->second;
}

// An alternative that asks for all that another asks for, and more, adds nothing.
void Requirements::tidy(std::vector<Numbered>& drafts) {
  for (Numbered& draft : drafts) {
    std::sort(draft.begin(), draft.end());
    draft.erase(std::unique(draft.begin(), draft.end()), draft.end());
  }
  std::sort(drafts.begin(), drafts.end(),
            [](const Numbered& a, const Numbered& b) { return a.size() < b.size(); });
  std::vector<Numbered> kept;
  for (Numbered& draft : drafts) {
    bool covered = std::any_of(kept.begin(), kept.end(), [&](const Numbered& other) {
      return std::includes(draft.begin(), draft.end(), other.begin(), other.end());
    });
    if (!covered) kept.push_back(std::move(draft));
  }
  drafts = std::move(kept);
}

uint32_t Requirements::literal(const std::string& text, Sought sought) {
  using Stands = Literals::Stands;
  if (text.front() == kShown) return literals_.add_unscanned(text);
  size_t end = text.find(kCondition);
  if (end != std::string::npos) {
    const Checked& checked = checks_.at(text);
    std::string bare = text.substr(0, end);
    const bool word = is_word(bare);
    const uint32_t id = literals_.add(bare, word ? checked.stands : Stands::anywhere,
                                      text.substr(end + 1), checked.check);
    if (common_sign(bare)) common_ids_.insert(id);
    return id;
  }
  const bool word = is_word(text);
  if (sought == Sought::words && word) return literals_.add(text, Stands::alone);
  if (sought == Sought::ends) return literals_.add(text, Stands::ends);
  // A part of a word, which the pass over the words of a file does not see.
  if (sought == Sought::later || (sought == Sought::plain && word)) {
    later_ids_.insert(literals_.add_later(text));
    return literals_.add_later(text);
  }
  return literals_.add(text, Stands::anywhere);
}

std::optional<Requirements::Clause> Requirements::clause(const std::vector<std::string>& any_of,
                                                         Sought sought) {
  if (std::find(any_of.begin(), any_of.end(), std::string()) != any_of.end()) return std::nullopt;
  LiteralBits out = literals_.none();
  for (const std::string& text : any_of) out.set(literal(text, sought));
  return out;
}

Requirements::Clauses Requirements::clauses(const Draft& draft, Sought sought) {
  Clauses out;
  for (const auto& any_of : draft) {
    if (auto one = clause(any_of, sought)) out.push_back(std::move(*one));
  }
  return out;
}

void Requirements::number_alternatives() {
  const LiteralBits untold = literals_.untold();
  std::map<std::vector<AnyLiteral>, size_t> numbers;
  for (Rule& rule : rules_) {
    for (const Clauses& clauses : rule.alternatives) {
      std::vector<std::pair<size_t, AnyLiteral>> ordered;  // those that any text meets last
      for (const Clause& clause : clauses) {
        size_t literals = 0;
        clause.each([&](uint32_t) { ++literals; });
        const bool any = clause.intersects(untold) || clause.intersects(asked_later_);
        ordered.emplace_back(any ? literals_.size() + literals : literals, clause);
      }
      std::sort(ordered.begin(), ordered.end());
      std::vector<AnyLiteral> alternative;
      for (auto& [literals, clause] : ordered) alternative.push_back(std::move(clause));
      auto [at, fresh] = numbers.try_emplace(std::move(alternative), asked_.size());
      if (fresh) asked_.push_back(at->first);
      rule.asked.push_back(at->second);
    }
  }
}

}  // namespace refit
