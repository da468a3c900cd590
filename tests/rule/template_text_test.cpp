// Tables: a template text to its holes and to the calls of dotted names in it.
#include "rewriter/rule/template_text.hpp"

#include <gtest/gtest.h>

namespace refit {
namespace {

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

TEST(Holes, AreTheNamesAfterDollars) {
  const std::pair<const char*, const char*> table[] = {
      {"", ""},
      {"f($a, $b.x, $a)", "a b"},
      {"$x_1+$_y", "x_1 _y"},
      {"f('$no', \"it's $no\", $yes)", "yes"},
      {"f('\\'$no', $yes)", "yes"},
  };
  for (const auto& [text, expected] : table) EXPECT_EQ(joined(holes(text)), expected) << text;
  EXPECT_EQ(holes("$1 $ $"), std::vector<std::string>{""});
}

TEST(Calls, AreOfDottedNamesWithTheirOwnKeywords) {
  const std::pair<const char*, const char*> table[] = {
      {"mindiesd.f($q, $k, scale=$s)", "mindiesd.f(scale)"},
      {"a.b (x = 1, y=g(z=2), w==3)", "a.b(x y)"},
      {"a.b(c.d(k=1), *($t), j=[1, 2])", "a.b(j) c.d(k)"},
      {"$x.to(torch.float32)", ""},
      {"f(x=1)", ""},
      {"a.b($x).to(dtype=c.d())", "a.b() c.d()"},
      {"'a.b(x=1)'", ""},
      {"a.b('(', x=1)", "a.b(x)"},
      {"a.b(lambda y: (z, y), x=1)", "a.b(x)"},
      {"a.b", ""},
  };
  for (const auto& [text, expected] : table) {
    std::string dump;
    for (const TemplateCall& call : calls(text)) {
      if (!dump.empty()) dump += ' ';
      dump += call.name + "(" + joined(call.keywords) + ")";
    }
    EXPECT_EQ(dump, expected) << text;
  }
}

}  // namespace
}  // namespace refit
