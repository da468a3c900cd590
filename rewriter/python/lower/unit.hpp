// One Python file: its tree, its module's names and its lowered functions.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "rewriter/language/frontend.hpp"
#include "rewriter/python/lower/classes/class_facts.hpp"
#include "rewriter/python/names/project.hpp"
#include "rewriter/python/syntax/syntax.hpp"

namespace refit::python {

class PythonUnit : public Unit {
 public:
  PythonUnit(Source file, std::string name)
      : Unit(std::move(file)), relative(std::move(name)), tree(source_.text()) {}
  // With a tree of the same text, or of one that stands for it.
  PythonUnit(Source file, std::string name, Tree parsed)
      : Unit(std::move(file)), relative(std::move(name)), tree(std::move(parsed)) {}
  std::string_view text() const { return source_.text(); }
  // Whether the focus did not want the function that stands there.
  bool is_left_out(ByteRange range) const {
    const auto begin = [](const LeftOut& one) { return std::pair(one.range.begin, one.range.end); };
    return std::ranges::binary_search(left_out, std::pair(range.begin, range.end), {}, begin);
  }
  void release() override {
    Unit::release();
    classes.reset();
    tree.release();
    names = {};
    nodes = {};
    arguments.clear();
    annotated.clear();
    methods.clear();
    spellings.reset();
  }

  std::string relative;
  Tree tree;
  bool stands_in = false;  // the tree is that of a text that stands for the file's (ReadPast)
  Module names;            // of the module's top level
  mutable std::map<std::string, bool> taken;  // spell_symbol's answers, by package
  // What spell_symbol asks of the imports, and how long a line may be: read off once.
  struct Spellings {
    std::map<std::string, std::vector<std::string>, std::less<>> locals;  // by qualified name
    std::set<std::string, std::less<>> modules;  // of top-level `import a.b`
  };
  mutable std::optional<Spellings> spellings;
  mutable size_t line_limit = 0;
  std::vector<TSNode> nodes;  // Value::syntax indexes this
  // The arguments of a known call, by (function, value): parameter index and the argument's node
  // (a keyword_argument, or an expression). The receiver of a method is not among them.
  struct ArgumentNode {
    size_t parameter;
    TSNode node;
  };
  std::map<std::pair<uint32_t, ValueId>, std::vector<ArgumentNode>> arguments;
  std::unique_ptr<ClassFacts> classes;
  // Parameters with an annotation (function, value): the class that it would name in this module.
  std::map<std::pair<uint32_t, ValueId>, std::string> annotated;
  using Methods = std::map<uint32_t, std::string>;  // functions that are methods -> their class
  Methods methods;
  // The method around a function, where `self` means the method's own wherever it is read in it;
  // else the end.
  Methods::const_iterator method_around(uint32_t function) const;
};

}  // namespace refit::python
