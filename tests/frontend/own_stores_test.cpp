// What a method stores in its object, by its text.
#include "rewriter/frontend/python/own_stores.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/frontend/row_name.hpp"

namespace refit::python {
namespace {

// Whether a method with this body may store `norm`.
struct Row {
  const char* name;
  const char* body;
  bool norm;
};

class OwnStoresTest : public testing::TestWithParam<Row> {};

TEST_P(OwnStoresTest, Norm) {
  const std::string text =
      std::string("class A:\n  def f(self, x):\n    ") + GetParam().body + "\n";
  const auto out = outline(text, "m", false);
  ASSERT_TRUE(out);
  ASSERT_EQ(out->definitions.size(), 2u);
  const OwnStores stores = own_stores(text, *out, out->definitions[1]);
  EXPECT_EQ(stores.any || std::ranges::find(stores.names, "norm") != stores.names.end(),
            GetParam().norm)
      << text;
}

INSTANTIATE_TEST_SUITE_P(
    Bodies, OwnStoresTest,
    testing::Values(
        Row{"plain", "self.norm = x", true}, Row{"spaced", "self . norm \\\n      = x", true},
        Row{"chained", "y = self.norm = x", true}, Row{"annotated", "self.norm: int = 1", true},
        Row{"augmented", "self.norm <<= x", true}, Row{"pair", "self.norm, y = x", true},
        Row{"brackets", "[y,\n     (self.norm)] = x", true},
        Row{"loop", "for self.norm in x: y", true},
        Row{"with_as", "with x as (y, self.norm): y", true}, Row{"deleted", "del self.norm", true},
        Row{"one_line", "if x: y; self.norm = x", true},
        Row{"inner", "def g():\n      self.norm = x\n    g()", true},
        Row{"default_of_lambda", "y = lambda a=1: self.norm", false},
        Row{"read", "y = self.norm(x)", false}, Row{"returned", "return self.norm", false},
        Row{"compared", "y(self.norm == x)", false}, Row{"at_most", "if self.norm <= x: y", false},
        Row{"keyword", "y(self.norm,\n      x=x)", false},
        Row{"comment", "y(x)  # self.norm = x", false},
        Row{"other", "self.other = self.norm", false}, Row{"of_x", "x.self_norm = x", false},
        Row{"setattr", "setattr(self, 'norm', x)", true},
        Row{"object_setattr", "object.__setattr__(self, \"norm\", x)", true},
        Row{"setattr_of_x", "setattr(x, 'norm', x)", false},
        Row{"setattr_other", "setattr(self, 'other', x)", false},
        Row{"setattr_computed", "setattr(self, f'{x}', x)", true},
        Row{"setattr_joined", "setattr(self, 'no' 'rm', x)", true},
        Row{"buffer", "self.register_buffer(\"norm\", x)", true},
        Row{"module_computed", "self.add_module(x, y)", true},
        Row{"modules", "self.register_modules(vae=x)", false}),
    RowName());

}  // namespace
}  // namespace refit::python
