// Internal: which functions of a file may write to what they did not make themselves, told from
// their bodies by the last name of what a call names.
#pragma once

#include <map>
#include <string_view>
#include <unordered_map>

#include "rewriter/python/syntax/syntax.hpp"

namespace refit::python {

class BodyWrites {
 public:
  // The functions of a file, methods and inner ones too; the tree and its text outlive this.
  BodyWrites(TSNode root, std::string_view source);

  // Whether some function of that name stores into an attribute or an entry, writes a tensor in
  // place, or calls a function of the file that does. What it made itself does not count, nor what
  // code out of sight may do.
  bool may_write(std::string_view name);
  // Whether there is a function of that name.
  bool knows(std::string_view name) const { return functions_.contains(name); }
  // Whether one function does.
  bool body_writes(TSNode function);

 private:
  bool call_writes(TSNode call, TSNode function);
  bool made_here(TSNode object, TSNode function) const;

  std::string_view source_;
  std::multimap<std::string_view, TSNode> functions_;
  std::unordered_map<std::string_view, bool> known_;  // false also while it is being worked out
};

}  // namespace refit::python
