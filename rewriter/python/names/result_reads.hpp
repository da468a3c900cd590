// What reads the result of a function, by the text of its file alone: a call of it may be seen
// through, or be a method's, and then no value of a graph tells. Entry point: ResultReads::viewed.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "rewriter/python/syntax/lines.hpp"

namespace refit::python {

// Of one text, which outlives it; one thread's.
class ResultReads {
 public:
  explicit ResultReads(std::string_view text);

  // Whether `.view` or `.view_as` reads what a function of that name gives: behind a call, or
  // through a name that an assignment gives it, until that means something else. A function that
  // gives the result on is asked about in its place. True where that is too far away to tell.
  // What is not followed: a result inside a larger expression, a second name, and the call of a
  // module, whose `forward` is named nowhere.
  bool viewed(std::string_view function);

 private:
  using Asked = std::unordered_set<std::string_view>;
  bool viewed(std::string_view function, Asked& asked);
  bool kept_and_viewed(std::string_view targets, size_t end, Asked& asked);
  bool name_viewed(std::string_view name, size_t end, Asked& asked);
  bool given_on(size_t at, Asked& asked);
  size_t next(std::string_view word, size_t from, size_t until) const;
  size_t skip(size_t at) const;
  size_t call_end(size_t at) const;
  struct Tail {
    size_t end;
    bool viewed;
  };
  Tail tail(size_t end) const;
  bool assigned(size_t at, size_t end) const;
  size_t indentation(size_t at) const;
  bool begins_definition(size_t def) const;

  std::string_view text_;
  Lines lines_;
  std::unordered_map<std::string_view, std::vector<uint32_t>> called_;  // words before a bracket
  std::unordered_map<std::string_view, bool> known_;                    // what was said
};

}  // namespace refit::python
