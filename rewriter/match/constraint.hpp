// The clauses of `where`: does the code show that one holds for the arguments of a site.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "rewriter/graph/graph.hpp"
#include "rewriter/language/frontend.hpp"
#include "rewriter/rule/rule.hpp"

namespace refit {

// What a clause may ask about one argument or hole of a site.
struct Argument {
  bool known = false;                    // the site has an argument or hole of that name
  ValueId value = kNone;                 // kNone: not passed
  std::optional<Literal> default_value;  // what the callee takes when it is not passed
};

struct SiteView {
  const Graph* graph = nullptr;
  std::function<Argument(const std::string&)> argument;
  std::function<bool(ValueId)> simple;              // reading it twice costs and changes nothing
  std::string module;                               // of the file that the site stands in
  std::function<bool(const std::string&)> within;   // inside a `with` on a call of that name
  std::function<std::string(ValueId)> text;         // how the source writes a value
  std::function<bool(const std::string&)> in_tree;  // some file of the run contains that text
  // The file hands the class that the site constructs to the function of that name.
  std::function<bool(const std::string&)> passed_to;
  std::function<AttributeFacts(ValueId)> attribute;  // what its class says of an attribute
  std::function<bool(int)> unread;  // of several results only that one is read, or there is one
  // The result is taken apart into so many names, and none from that number on is read.
  std::function<bool(int, int)> unpacked;
};

// Whether the clause holds.
bool holds(const Where& clause, const SiteView& site);
// Whether the code shows the opposite of the clause, so that it cannot be assumed either.
bool contradicted(const Where& clause, const SiteView& site);

}  // namespace refit
