// The door to clang for the rest of the front end: a text in, errors and value graphs out.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "rewriter/cpp/flags.hpp"
#include "rewriter/cpp/names.hpp"
#include "rewriter/cpp/tree_headers.hpp"
#include "rewriter/cpp/unit.hpp"
#include "rewriter/graph/isomorphisms.hpp"

namespace refit::cpp {

struct Failure {                   // one error of clang's
  std::optional<uint32_t> offset;  // in the file itself
  std::string message;
  bool syntax = false;  // of the grammar, not of what names mean
  bool braces = false;  // behind it a scope may end where it does not
};

struct Reading {
  bool ran = false;  // clang gave a tree, if a broken one
  std::vector<Failure> failures;
  std::set<std::string> missing;    // headers that were not found
  std::vector<ByteRange> inactive;  // what the preprocessor skipped of the file, in order
};

struct Place {
  std::string path;  // of the file, absolute: what its includes are relative to
  const CompileCommands& commands;
  std::string include;  // folder of our own declarations
  std::string root;     // of the repository, absolute
  const TreeHeaders& headers;
  const std::vector<std::string>& defines;
};

struct Knowledge {
  const Names& names;
  const Catalogue& catalogue;
  const Isomorphisms& isomorphisms;
};

// Parses a text as the file of that place. With `unit`, whose text it then is, also fills the
// unit's functions, texts, comments and calls.
Reading read(const std::string& text, const Place& place, const Knowledge& knowledge,
             CppUnit* unit);

}  // namespace refit::cpp
