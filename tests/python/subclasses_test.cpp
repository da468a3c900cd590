// Which classes inherit from which, read from headers, and what their text gives their objects.
#include "rewriter/python/names/subclasses.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace refit::python {
namespace {

// The classes of some files, with their texts.
struct Files {
  Subclasses subclasses;
  std::vector<std::string> texts;

  explicit Files(std::vector<std::string> given) : texts(std::move(given)) {
    for (uint32_t i = 0; i < texts.size(); ++i) subclasses.add(i, text_notes(texts[i], false));
  }
  std::set<std::string> names(const std::string& name, uint32_t file) const {
    std::set<std::string> out;
    for (const Subclass& subclass : subclasses.of(name, file)) {
      const std::string_view found = class_name(texts[subclass.file], subclass.begin);
      EXPECT_EQ(name_hash(found), subclass.name);
      out.emplace(found);
    }
    return out;
  }
};

TEST(Subclasses, HeadersAreReadHoweverTheyAreWritten) {
  const Files files(
      {"class Block:\n    pass\n",
       "from a import Block as Base\n"
       "class One(Base): pass\n"
       "class Two(\n    nn.Module,  # (not this\n    Base,\n    metaclass=Meta,\n):\n    pass\n"
       "if True:\n    class Three(other.Block[int]):\n        pass\n"
       "class Four(One):\n    pass\n"
       "class Five[T](Block):\n    pass\n"
       "class Blocks(Blocked):\n    pass\n"
       "text = 'subclass Six(Block)'\n"});
  EXPECT_EQ(files.names("Block", 0),
            (std::set<std::string>{"One", "Two", "Three", "Four", "Five"}));
  EXPECT_EQ(files.names("Blocked", 0), std::set<std::string>{"Blocks"});
  EXPECT_EQ(files.names("Meta", 0), std::set<std::string>{});
}

TEST(Subclasses, ABaseThatTheFileDefinesIsThatOne) {
  const Files files({"class Norm:\n    pass\nclass Own(Norm):\n    pass\n",
                     "class Norm:\n    pass\nclass Other(Norm):\n    pass\n",
                     "class Far(Norm):\n    pass\n"});
  EXPECT_EQ(files.names("Norm", 0), (std::set<std::string>{"Own", "Far"}));
  EXPECT_EQ(files.names("Norm", 1), (std::set<std::string>{"Other", "Far"}));
}

TEST(Subclasses, TheTextOfASubclassEndsWhereTheNextDefinitionBegins) {
  const std::string text =
      "class A(Base):\n    x = 1\n\nrest = 2\n\n@final\nclass B(Base):\n    y = 1\n";
  const Files files({text});
  EXPECT_EQ(files.names("Base", 9), (std::set<std::string>{"A", "B"}));
  for (const Subclass& subclass : files.subclasses.of("Base", 9)) {
    const std::string_view own = class_text(text, subclass.begin);
    const bool first = class_name(text, subclass.begin) == "A";
    EXPECT_EQ(own.find("x = 1") != std::string_view::npos, first) << own;
    EXPECT_EQ(own.find("y = 1") != std::string_view::npos, !first) << own;
  }
}

TEST(Subclasses, ClassesThatAreAskedFor) {
  const Subclasses subclasses = Files({"from m import Norm as N\n"
                                       "class Own: pass\n"
                                       "a = isinstance(x, N), isinstance(x, (nn.Linear, Own))\n"
                                       "b = issubclass(\n    type(x),\n    Conv,\n)\n"})
                                    .subclasses;
  for (const char* name : {"Norm", "Linear", "Conv"})
    EXPECT_TRUE(subclasses.compared(name)) << name;
  for (const char* name : {"Own", "nn", "x", "N"}) EXPECT_FALSE(subclasses.compared(name)) << name;
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

TEST(Subclasses, TablesOfClassesAskAboutThem) {
  const Subclasses subclasses =
      Files({"from t import Keyed, Other as O\n"
             "class Own:\n  pass\n"
             "maps = {\"transformers.models.q.Dotted\": 1, Keyed: 2,\n  O: 3, Own: 4, t.Last : 5}\n"
             "def f(a, b: Annotated, c=\"Word\"):\n  return 'a.b.lower', x[1:Part]\n"})
          .subclasses;
  for (const char* name : {"Dotted", "Keyed", "Other"})
    EXPECT_TRUE(subclasses.compared(name)) << name;
  for (const char* name : {"Own", "Annotated", "Word", "lower", "Part"}) {
    EXPECT_FALSE(subclasses.compared(name)) << name;
  }
}

}  // namespace
}  // namespace refit::python
