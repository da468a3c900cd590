// Internal to the reading of facts: what the names in one file mean by its imports, and the nodes
// of its tree that facts are read from.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "rewriter/python/syntax/syntax.hpp"

namespace refit::python {

struct FileFacts;

// The owner of `sys.modules[name].F = …` and `import_module(name).F = …`.
inline constexpr std::string_view kAnyModule = "*";

class FileNames {
 public:
  FileNames(std::string_view source, std::string_view module, bool package)
      : source_(source), module_(module), package_(package) {}

  void add_import(TSNode statement);
  bool imported(std::string_view name) const { return imports_.contains(std::string(name)); }
  std::string_view text(TSNode node) const { return text_of(source_, node); }
  std::string_view source() const { return source_; }
  std::string_view module() const { return module_; }

  // What a dotted name means by the file's imports, by the first that binds its first name; "" for
  // any other expression.
  std::string meaning(TSNode node) const;
  // The module that `sys.modules["m"]`, `import_module("m")` and `__import__("m")` find: kAnyModule
  // where they compute its name.
  std::optional<std::string_view> module_found(TSNode node) const;
  // A dotted name in quotes.
  std::optional<std::string_view> literal(TSNode node) const;

 private:
  std::string_view source_, module_;
  bool package_;
  std::unordered_map<std::string, std::string> imports_;
};

// The nodes of a file that say something, in textual order.
struct FileNodes {
  static constexpr uint32_t kNoClass = UINT32_MAX;
  struct Statement {
    TSNode node;
    uint32_t class_;  // that it stands in, by FileFacts::classes, or kNoClass
    bool method;      // it stands in a function, where `self` is an object of the class
  };
  std::vector<Statement> stores;  // assignments, `for`, `with … as`, `del`
  std::vector<Statement> calls;
  NodeList functions, decorated, chains;  // chains: `a.b.c`, names with dots between
};

// What the nodes store in objects, in modules and in their own classes.
void note_writes(const FileNodes& nodes, const FileNames& names, bool test, FileFacts& out);
// What they hand to TorchScript.
void note_scripted(const FileNodes& nodes, const FileNames& names, FileFacts& out);

// Whether an expression is names with dots between.
bool is_chain(TSNode node);
// The arguments of a call by position.
NodeList positional(TSNode call);

}  // namespace refit::python
