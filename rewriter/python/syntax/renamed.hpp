// What `import NAME as ALIAS` calls by another name, for every alias of a text.
#pragma once

#include <string_view>
#include <unordered_map>
#include <vector>

#include "rewriter/python/syntax/lines.hpp"

namespace refit::python {

class Renamed {
 public:
  static constexpr std::string_view kAs = " as ";
  Renamed(std::string_view text, const std::vector<size_t>& places) {
    for (size_t at : places) {  // of kAs
      size_t begin = at;
      while (begin > 0 && name_char(text[begin - 1])) --begin;
      std::string_view alias = first_word(text.substr(at + kAs.size()));
      const size_t end = at + kAs.size() + alias.size();
      if (end < text.size() && text[end] == '.') continue;  // `with x as attn.norm:`
      if (begin < at && !alias.empty()) names_.emplace(alias, text.substr(begin, at - begin));
    }
  }
  std::string_view of(std::string_view name) const {
    auto known = names_.find(name);
    return known == names_.end() ? name : known->second;
  }

 private:
  std::unordered_map<std::string_view, std::string_view> names_;
};

}  // namespace refit::python
