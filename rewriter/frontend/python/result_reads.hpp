// What reads the result of a function, by the text of its file alone: a call of it may be seen
// through, or be a method's, and then no value of a graph tells. Entry point: ResultReads::viewed.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "rewriter/frontend/python/lines.hpp"

namespace refit::python {

// Of one text, which outlives it; one thread's.
class ResultReads {
 public:
  explicit ResultReads(std::string_view text);

  // Whether `.view` or `.view_as` reads what a function of that name gives: behind a call, or
  // through the name that a statement gives it, until that means something else. A function that
  // gives the result on is asked about in its place. True where that is too far away to tell.
  bool viewed(std::string_view function);

 private:
  using Asked = std::unordered_set<std::string_view>;
  bool viewed(std::string_view function, Asked& asked);
  bool kept_and_viewed(std::string_view before, size_t end, Asked& asked);
  bool given_on(size_t at, Asked& asked);
  size_t next(std::string_view word, size_t from, size_t until) const;
  size_t skip(size_t at) const;
  size_t call_end(size_t at) const;
  bool read_by_view(size_t end) const;
  size_t indentation(size_t at) const;
  bool begins_definition(size_t def) const;

  std::string_view text_;
  Lines lines_;
  std::unordered_map<std::string_view, std::vector<uint32_t>> called_;  // words before a bracket
  std::unordered_map<std::string_view, bool> known_;                    // what was said
};

}  // namespace refit::python
