// What files store in objects of other classes, read from their text.
#include "rewriter/python/names/attribute_writes.hpp"

#include <gtest/gtest.h>

#include <string>

namespace refit::python {
namespace {

struct Row {
  const char* name;
  std::string text;
  bool stored;  // the attribute `norm`
};

class Stored : public testing::TestWithParam<Row> {};

TEST_P(Stored, FromOutside) {
  AttributeWrites stores;
  stores.add(text_notes(GetParam().text, false));
  EXPECT_EQ(stores.stored("norm"), GetParam().stored) << GetParam().text;
}

const Row kRows[] = {
    {"assigned", "model.attn.norm = Other()\n", true},
    {"annotated", "attn.norm: nn.Module = Other()\n", true},
    {"of_an_element", "model.layers[i].norm = Other()\n", true},
    {"of_a_call", "model.get_submodule('a').norm = Other()\n", true},
    {"in_a_tuple", "a.norm, b.other = One(), Two()\n", true},
    {"in_parentheses", "(a.other, b.norm) = One(), Two()\n", true},
    {"of_an_own_part", "self.attn.norm = Other()\n", true},
    {"own", "self.norm = Other()\n", false},
    {"own_in_a_tuple", "self.norm, self.other = One(), Two()\n", false},
    {"compared", "if attn.norm == None or attn.norm != other: pass\n", false},
    {"read", "x = attn.norm\nf(norm=attn.norm, y=1)\n", false},
    {"another", "attn.norm_k = Other()\n", false},
    {"by_text", "setattr(\n    attn,\n    'norm',\n    Other())\n", true},
    {"by_text_own", "setattr(self, 'norm', Other())\n", false},
    {"added", "attn.add_module(\"norm\", Other())\n", true},
    {"added_own", "self.add_module(\"norm\", Other())\n", false},
    {"in_the_table", "attn._modules['norm'] = Other()\n", true},
    {"hooked", "attn.norm.register_forward_hook(hook)\n", true},
    {"forward", "attn.norm.forward = other\n", true},
};

std::string row_name(const testing::TestParamInfo<Row>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(Frontend, Stored, testing::ValuesIn(kRows), row_name);

TEST(Exchanged, ClassesThatAreSearchedWhereNamesAreComputed) {
  AttributeWrites stores;
  auto add = [&](const char* text) { stores.add(text_notes(text, false)); };
  add("if isinstance(child, (nn.LayerNorm,\n    RMSNorm)):\n    setattr(parent, name, new)\n");
  add("if type(child) is Conv: setattr(parent, 'conv', new)\n");
  EXPECT_TRUE(stores.replaced("LayerNorm"));
  EXPECT_TRUE(stores.replaced("RMSNorm"));
  EXPECT_FALSE(stores.replaced("Conv"));
  add("TABLE = {nn.Conv: Other}\nparent._modules[name] = TABLE[type(child)]()\n");
  EXPECT_TRUE(stores.replaced("Conv"));
}

}  // namespace
}  // namespace refit::python
