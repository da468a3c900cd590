// What the tree of a module says of its names.
#include "rewriter/python/names/module.hpp"

#include <gtest/gtest.h>

namespace refit::python {
namespace {

Module module_of(std::string_view text) {
  const Tree tree(text);
  return index_module(tree.root(), text, "pkg.m", false);
}

TEST(Module, FindsWhatFunctionsImport) {
  const Module found = module_of(
      "from __future__ import annotations\n"
      "class C:\n    def f(self):\n        if x:\n            from .a import (b, c as d)\n"
      "        try: from a import e\n        except ImportError: pass\n");
  EXPECT_TRUE(found.inner_imports.contains("pkg.a.b"));
  EXPECT_TRUE(found.inner_imports.contains("pkg.a.c"));
  EXPECT_TRUE(found.inner_imports.contains("a.e"));
  EXPECT_FALSE(found.names.bindings.contains("b"));
}

TEST(Module, BindsWhatFunctionsDeclareGlobal) {
  const Module found = module_of("def f():\n    global a, b\n    a = 1\n");
  EXPECT_TRUE(found.names.bindings.contains("a"));
  EXPECT_TRUE(found.names.bindings.contains("b"));
}

TEST(Module, BindsByLiteralNamesAndNotByComputedOnes) {
  const Module found = module_of(
      "def f():\n    globals()['a'] = 1\n    globals()[name] = 1\n    exec('b = 1')\n"
      "vars()['c'] = 1\ndel globals()['d']\n");
  EXPECT_TRUE(found.names.bindings.contains("a"));
  EXPECT_TRUE(found.names.bindings.contains("c"));
  EXPECT_TRUE(found.names.bindings.contains("d"));
  EXPECT_EQ(found.names.bindings.size(), 4u);  // and f
}

TEST(Module, SaysWhereDefinitionsStand) {
  const std::string_view text =
      "@deco\ndef f(x): return x\nif c:\n    def f(y): return y\nclass C:\n    def f(self): pass\n";
  const Tree tree(text);
  const auto found = definitions_of(tree.root(), text, "f");
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(text_of(text, found[0].whole), "@deco\ndef f(x): return x");
  EXPECT_EQ(text_of(text, found[0].node), "def f(x): return x");
  EXPECT_EQ(text_of(text, found[1].node), "def f(y): return y");
}

}  // namespace
}  // namespace refit::python
