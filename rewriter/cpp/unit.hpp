// One C++ file as data: what lowering found of it besides the value graphs. Everything after
// lowering reads this and knows nothing of clang.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "rewriter/language/frontend.hpp"

namespace refit::cpp {

// A local variable or parameter, by its index in Graph::names.
struct Local {
  std::string identifier;
  ByteRange scope;        // where the name can be seen, shadowing aside
  bool changes = false;   // a reference, an address or a capture may change it unseen
  bool optional = false;  // a `std::optional` of what it is used as
};

// The text of a call of a known operation.
struct CallText {
  ByteRange callee;                   // `torch::transpose`; `.transpose` is what follows `receiver`
  std::optional<ByteRange> receiver;  // of a member call
  uint32_t open = 0, close = 0;       // offsets of the parentheses
  struct Argument {
    size_t parameter = SIZE_MAX;  // of the operation's signature
    ByteRange range;
  };
  std::vector<Argument> arguments;  // as written, in order
  bool options = false;             // some of them are set in an object of options
};

// `auto x = …;`, which declares one variable.
struct Declaration {
  std::string type;  // as written, with the blank behind it
  std::string name;
};

struct FunctionText {
  std::vector<Local> locals;
  std::map<StatementId, Declaration> declarations;
  std::map<ValueId, CallText> calls;
  std::map<ValueId, std::string> locked;  // sites that cannot be edited, and why
};

class CppUnit : public Unit {
 public:
  CppUnit(Source file, std::string name) : Unit(std::move(file)), relative(std::move(name)) {}
  std::string_view text() const { return source_.text(); }

  std::string relative;
  std::vector<FunctionText> texts;  // by function
  std::vector<ByteRange> comments;  // in order
  // Packages of which the global scope has something else by that name.
  std::set<std::string, std::less<>> taken;
  std::vector<ByteRange> inactive;  // what the preprocessor skipped, in order
  std::vector<ByteRange> branches;  // whatever a condition of the preprocessor decides about
  bool chooses_headers = false;     // such a condition decides which header is included
  // A header was not found, or clang found an error: more may be declared than is known.
  bool incomplete = false;
};

}  // namespace refit::cpp
