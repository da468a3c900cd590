// Which classes inherit from which, read from headers, and what their text gives their objects.
#include "rewriter/frontend/python/heirs.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace refit::python {
namespace {

std::set<std::string> names(const Heirs& heirs, const std::string& name, uint32_t file) {
  std::set<std::string> out;
  for (const Heir& heir : heirs.of(name, file)) out.insert(heir.name);
  return out;
}

TEST(Heirs, HeadersAreReadHoweverTheyAreWritten) {
  Heirs heirs;
  heirs.add(0, "class Block:\n    pass\n");
  heirs.add(
      1,
      "from a import Block as Base\n"
      "class One(Base): pass\n"
      "class Two(\n    nn.Module,  # (not this\n    Base,\n    metaclass=Meta,\n):\n    pass\n"
      "if True:\n    class Three(other.Block[int]):\n        pass\n"
      "class Four(One):\n    pass\n"
      "class Five[T](Block):\n    pass\n"
      "class Blocks(Blocked):\n    pass\n"
      "text = 'subclass Six(Block)'\n");
  EXPECT_EQ(names(heirs, "Block", 0),
            (std::set<std::string>{"One", "Two", "Three", "Four", "Five"}));
  EXPECT_EQ(names(heirs, "Blocked", 0), std::set<std::string>{"Blocks"});
  EXPECT_EQ(names(heirs, "Meta", 0), std::set<std::string>{});
}

TEST(Heirs, ABaseThatTheFileDefinesIsThatOne) {
  Heirs heirs;
  heirs.add(0, "class Norm:\n    pass\nclass Own(Norm):\n    pass\n");
  heirs.add(1, "class Norm:\n    pass\nclass Other(Norm):\n    pass\n");
  heirs.add(2, "class Far(Norm):\n    pass\n");
  EXPECT_EQ(names(heirs, "Norm", 0), (std::set<std::string>{"Own", "Far"}));
  EXPECT_EQ(names(heirs, "Norm", 1), (std::set<std::string>{"Other", "Far"}));
}

TEST(Heirs, TheTextOfAnHeirEndsWhereTheNextDefinitionBegins) {
  Heirs heirs;
  std::string text = "class A(Base):\n    x = 1\n\nrest = 2\n\n@final\nclass B(Base):\n    y = 1\n";
  heirs.add(0, text);
  for (const Heir& heir : heirs.of("Base", 9)) {
    std::string own = text.substr(heir.begin, heir.end - heir.begin);
    EXPECT_EQ(own.find("x = 1") != std::string::npos, heir.name == "A") << own;
    EXPECT_EQ(own.find("y = 1") != std::string::npos, heir.name == "B") << own;
  }
}

TEST(Heirs, ClassesThatAreAskedFor) {
  Heirs heirs;
  heirs.add(0,
            "from m import Norm as N\n"
            "class Own: pass\n"
            "a = isinstance(x, N), isinstance(x, (nn.Linear, Own))\n"
            "b = issubclass(\n    type(x),\n    Conv,\n)\n");
  for (const char* name : {"Norm", "Linear", "Conv"}) EXPECT_TRUE(heirs.compared(name)) << name;
  for (const char* name : {"Own", "nn", "x", "N"}) EXPECT_FALSE(heirs.compared(name)) << name;
}

TEST(StoresAttribute, EveryWayToGiveOne) {
  struct Row {
    const char* body;
    bool stores;
  };
  const Row rows[] = {
      {"self.norm = f()", true},
      {"self.norm: Module = f()", true},
      {"self.q, self.norm = f(), g()", true},
      {"self.norm, self.q = f(), g()", true},
      {"del self.norm", true},
      {"norm = f()", true},
      {"    norm: Module = f()", true},
      {"def norm(self):", true},
      {"setattr(self, \"norm\", f())", true},
      {"self.add_module('norm', f())", true},
      {"x = self.norm(x)", false},
      {"if self.norm == x:", false},
      {"self.norm1 = f()", false},
      {"self.pre_norm = f()", false},
      {"x = f(self.norm, y=1)", false},
      {"names = [\"norm\"]", false},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(stores_attribute(std::string("class A(B):\n    ") + row.body + "\n", "norm"),
              row.stores)
        << row.body;
  }
}

TEST(Heirs, TablesOfClassesAskAboutThem) {
  Heirs heirs;
  heirs.add(0,
            "from t import Keyed, Other as O\n"
            "class Own:\n  pass\n"
            "maps = {\"transformers.models.q.Dotted\": 1, Keyed: 2,\n  O: 3, Own: 4, t.Last : 5}\n"
            "def f(a, b: Annotated, c=\"Word\"):\n  return 'a.b.lower', x[1:Part]\n");
  for (const char* name : {"Dotted", "Keyed", "Other"}) EXPECT_TRUE(heirs.compared(name)) << name;
  for (const char* name : {"Own", "Annotated", "Word", "lower", "Part"}) {
    EXPECT_FALSE(heirs.compared(name)) << name;
  }
}

}  // namespace
}  // namespace refit::python
