// A table of parameter lists to a dump of what was read, and one of wrong lists to messages.
#include "rewriter/rule/signature.hpp"

#include <gtest/gtest.h>

namespace refit {
namespace {

// name, then * variadic, ** variadic keyword, k keyword only, p positional only, = default.
std::string dump(const std::vector<Parameter>& parameters) {
  std::string text;
  for (const Parameter& parameter : parameters) {
    if (!text.empty()) text += ' ';
    if (parameter.variadic) text += '*';
    if (parameter.variadic_keyword) text += "**";
    text += parameter.name;
    if (parameter.keyword_only) text += "/k";
    if (parameter.positional_only) text += "/p";
    if (parameter.default_value) text += '=' + to_string(*parameter.default_value);
  }
  return text;
}

TEST(ParseSignature, ReadsPythonsParameterLists) {
  const std::pair<const char*, const char*> table[] = {
      {"()", ""},
      {"(input, dim0, dim1)", "input dim0 dim1"},
      {" ( a = -1 , ) ", "a=-1"},
      {"(x, window_size=(-1, -1), *, mode='a,b)', dtype=torch.float32)",
       "x window_size=(-1, -1) mode/k=\"a,b)\" dtype/k=torch.float32"},
      {"(input, *dims, out=None)", "input *dims out/k=None"},
      {"(*args, **kwargs)", "*args **kwargs"},
      {"(a, b=1, /, c=2)", "a/p b/p=1 c=2"},
      {"(a, /, *, b)", "a/p b/k"},
      {"(*, a=1, b)", "a/k=1 b/k"},
  };
  for (const auto& [text, expected] : table) {
    auto parameters = parse_signature(text);
    ASSERT_TRUE(parameters) << text << ": " << parameters.error().message;
    EXPECT_EQ(dump(*parameters), expected) << text;
  }
}

TEST(ParseSignature, SaysWhatItExpected) {
  const std::pair<const char*, const char*> table[] = {
      {"", "expected a signature in parentheses such as `(input, dim=-1)`, found ``"},
      {"x", "expected a signature in parentheses such as `(input, dim=-1)`, found `x`"},
      {"(a, a)", "expected distinct parameters, found `a` twice"},
      {"(a=1, b)", "expected a default for `b`, which follows a parameter that has one"},
      {"(a b)", "expected a parameter's name, found `a b`"},
      {"(a: int)", "expected a parameter's name, found `a: int`"},
      {"(a,, b)", "expected a parameter's name, found ``"},
      {"(a=)",
       "default of `a`: expected a literal (None, True, False, a number, a quoted string, a tuple "
       "or "
       "a name), found the end of the text"},
      {"(a=f(1))", "default of `a`: expected the end of the literal, found `(1)`"},
      {"(*)", "expected a named parameter after `*`"},
      {"(*, **k)", "expected a named parameter after `*`, found `**k`"},
      {"(*a, *b)", "expected `*` once, found `*b`"},
      {"(*a=1)", "expected no default for `*a=1`"},
      {"(**k, a)", "expected nothing after `**k`, found `a`"},
      {"(/, a)", "expected `/` once, after a parameter and before `*`"},
      {"(a, /, b, /)", "expected `/` once, after a parameter and before `*`"},
      {"(a, *, b, /)", "expected `/` once, after a parameter and before `*`"},
      {"(a='x)", "expected every bracket and quote of the signature to be closed"},
      {"(a=(1)", "expected every bracket and quote of the signature to be closed"},
  };
  for (const auto& [text, expected] : table) {
    auto parameters = parse_signature(text);
    ASSERT_FALSE(parameters) << text;
    EXPECT_EQ(parameters.error().message, expected) << text;
  }
}

}  // namespace
}  // namespace refit
