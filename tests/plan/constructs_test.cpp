// A site inside each construct of the language, up to Python 3.14's: it is rewritten there and
// nothing else of the text changes, or it is refused with its reason.
#include <gtest/gtest.h>

#include "rewriter/cli/languages.hpp"
#include "tests/rule/scratch_folder.hpp"

namespace refit {
namespace {

struct Construct {
  const char* name;
  const char* text;       // SITE stands for the call, or KEPT for one that is to stay
  const char* code = "";  // of the refusal of those that stay
};
void PrintTo(const Construct& construct, std::ostream* out) { *out << construct.name; }

std::string filled(std::string text, const std::string& site, const std::string& kept) {
  for (const auto& [mark, call] : {std::pair{std::string("SITE"), site}, {"KEPT", kept}}) {
    for (size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at)) {
      text.replace(at, mark.size(), call);
      at += call.size();
    }
  }
  return text;
}

size_t count(std::string_view text, std::string_view part) {
  size_t out = 0;
  for (size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) {
    ++out;
  }
  return out;
}

class Constructs : public testing::TestWithParam<Construct> {};

TEST_P(Constructs, KeepTheirSites) {
  static const RuleSet rules =
      *RuleSet::load({REFIT_RULES_DIR}, std::string(REFIT_RULES_DIR) + "/catalogue");
  const std::string text = GetParam().text;
  const std::string call = "F.scaled_dot_product_attention(q, k, v)";
  const std::string head = "import torch\nimport torch.nn.functional as F\n\n\n";
  const std::string before = head + filled(text, call, call);
  const std::string after =
      filled(text, "mindiesd.ext.attention_forward(q, k, v, head_first=True)", call);
  const ScratchFolder folder;
  folder.put("m.py", before);
  const Input input{folder.path(), {{folder.path("m.py"), "m.py"}}, {""}};
  EngineOptions options;
  options.rules_folder = REFIT_RULES_DIR;
  auto result = run(rules, input, options, nullptr);
  ASSERT_TRUE(result);
  size_t rewritten = 0;
  for (const Finding& f : result->findings) {
    if (f.outcome == Outcome::rewritten) {
      ++rewritten;
    } else {
      EXPECT_EQ(f.code, GetParam().code) << f.message;
      EXPECT_FALSE(f.message.empty());
    }
  }
  EXPECT_EQ(rewritten, count(text, "SITE"));
  EXPECT_EQ(result->findings.size() - rewritten, count(text, "KEPT"));
  if (rewritten == 0) {
    EXPECT_TRUE(result->changed.empty());
    return;
  }
  ASSERT_EQ(result->changed.size(), 1U);
  const std::string now = result->changed[0].new_bytes.value_or("");
  EXPECT_TRUE(now.starts_with("import mindiesd.ext\nimport torch\n\n\n")) << now;
  EXPECT_EQ(now.substr(now.find("\n\n\n") + 3), after);
}

const Construct kConstructs[] = {
    {"cases",
     "def f(q, k, v, m):\n"
     "    match m:\n"
     "        case [1, *rest] if rest:\n"
     "            return SITE\n"
     "        case {'a': x, **more}:\n"
     "            return SITE\n"
     "        case torch.Tensor(shape=s) | None as w:\n"
     "            q = SITE\n"
     "        case _:\n"
     "            pass\n"
     "    return q\n"},
    {"subject_of_match",
     "def f(q, k, v):\n"
     "    match SITE:\n"
     "        case x:\n"
     "            return x\n"},
    {"guard_of_case",
     "def f(q, k, v, m):\n"
     "    match m:\n"
     "        case 1 if SITE.any():\n"
     "            return q\n"
     "    return k\n"},
    {"walrus",
     "def f(q, k, v):\n"
     "    if (o := SITE) is not None:\n"
     "        return o\n"
     "    return q\n"},
    {"walrus_in_while",
     "def f(q, k, v):\n"
     "    while (q := SITE).sum() > 0:\n"
     "        pass\n"
     "    return q\n"},
    {"type_parameters",
     "def f[T: torch.Tensor, *Ts, **P](q: T, k: T, v: T) -> T:\n"
     "    return SITE\n"},
    {"type_parameters_of_a_class",
     "class M[T](torch.nn.Module):\n"
     "    type X = list[T]\n"
     "\n"
     "    def f[U](self, q, k, v):\n"
     "        return SITE\n"},
    {"type_aliases",
     "type Pair[T] = tuple[T, T]\n"
     "\n"
     "\n"
     "def f(q, k, v):\n"
     "    type Inner = int\n"
     "    return SITE\n"},
    {"fstring",
     "def f(q, k, v):\n"
     "    return f\"{SITE}\"\n"},
    {"nested_fstrings",
     "def f(q, k, v, d):\n"
     "    s = f\"{d['a']} {f'{q}'}\"\n"
     "    return SITE, s\n"},
    {"quotes_inside_fstrings",
     "def f(q, k, v, d):\n"
     "    s = f\"{d[\"a\"]} {f\"{q:{k}}\"}\"\n"
     "    return SITE, s\n"},
    {"format_specifier",
     "def f(q, k, v, d):\n"
     "    return f\"{SITE:>{d[\"w\"]}}\"\n"},
    {"fstring_of_lines",
     "def f(q, k, v, d):\n"
     "    return f\"\"\"{\n"
     "        SITE  # here\n"
     "    }\"\"\"\n"},
    {"decorated",
     "q = k = v = torch.ones(1, 1, 1, 1)\n"
     "\n"
     "\n"
     "@(lambda g: g)\n"
     "@torch.no_grad()\n"
     "def f(q, k, v):\n"
     "    return SITE\n"},
    {"decorator",
     "def d(x):\n"
     "    return lambda g: g\n"
     "\n"
     "\n"
     "def outer(q, k, v):\n"
     "    @d(SITE)\n"
     "    def g():\n"
     "        return 1\n"
     "    return g\n"},
    {"global_name",
     "x = None\n"
     "\n"
     "\n"
     "def f(q, k, v):\n"
     "    global x\n"
     "    x = SITE\n"
     "    return x\n"},
    {"nonlocal_name",
     "def f(q, k, v):\n"
     "    x = None\n"
     "\n"
     "    def g():\n"
     "        nonlocal x\n"
     "        x = SITE\n"
     "    g()\n"
     "    return x\n"},
    {"deleted",
     "def f(q, k, v):\n"
     "    o = SITE\n"
     "    del q, k\n"
     "    return o\n"},
    {"starred_target",
     "def f(q, k, v):\n"
     "    a, *b = SITE, k, v\n"
     "    return a, *b\n"},
    {"starred_index",
     "def f(q, k, v, i):\n"
     "    return q[*i, SITE]\n"},
    {"starred_items_of_a_loop",
     "def f(q, k, v):\n"
     "    for x in *q, SITE:\n"
     "        print(x)\n"},
    {"starred_result",
     "def f(q, k, v):\n"
     "    return *q, SITE\n"},
    {"exception_groups",
     "def f(q, k, v):\n"
     "    try:\n"
     "        return SITE\n"
     "    except* ValueError as e:\n"
     "        q = SITE\n"
     "    except* (TypeError, OSError):\n"
     "        pass\n"
     "    else:\n"
     "        k = v\n"
     "    finally:\n"
     "        v = SITE\n"
     "    return q\n"},
    {"exceptions_without_parentheses",
     "def f(q, k, v):\n"
     "    try:\n"
     "        return SITE\n"
     "    except ValueError, TypeError:\n"
     "        return q\n"},
    {"with_in_parentheses",
     "def f(q, k, v):\n"
     "    with (torch.no_grad() as a, torch.no_grad()):\n"
     "        return SITE\n"},
    {"default_of_a_lambda",
     "def f(q, k, v):\n"
     "    return lambda a=SITE, *, b=1: a + b\n"},
    {"default_of_a_parameter",
     "def f(q, k, v):\n"
     "    def g(a=SITE, /, b=2, *, c=3):\n"
     "        return a\n"
     "    return g\n"},
    {"positional_only_parameters",
     "def f(q, /, k, *, v):\n"
     "    return SITE\n"},
    {"annotated_target",
     "def f(q, k, v):\n"
     "    o: torch.Tensor = SITE\n"
     "    return o\n"},
    {"augmented_assignment",
     "def f(q, k, v):\n"
     "    q += SITE\n"
     "    return q\n"},
    {"chained_comparison",
     "def f(q, k, v):\n"
     "    return 0 < SITE.sum() < 1\n"},
    {"yields",
     "def f(q, k, v):\n"
     "    x = yield SITE\n"
     "    yield from SITE\n"
     "    return x\n"},
    {"generator",
     "def f(q, k, v):\n"
     "    return sum(SITE for _ in range(2))\n"},
    {"raised",
     "def f(q, k, v):\n"
     "    raise ValueError(SITE) from None\n"},
    {"one_line", "def f(q, k, v): a = SITE; return a\n"},
    {"continued_line",
     "def f(q, k, v):\n"
     "    return \\\n"
     "        SITE\n"},
    {"names_beyond_ascii",
     "def f(q, k, v):\n"
     "    größe = SITE\n"
     "    return größe\n"},
    {"else_of_a_loop",
     "def f(q, k, v):\n"
     "    for i in range(2):\n"
     "        q = SITE\n"
     "        if i: break\n"
     "    else:\n"
     "        k = SITE\n"
     "    return q, k\n"},
    {"ellipsis_and_slices",
     "def f(q, k, v):\n"
     "    return SITE[..., None, ::2]\n"},
    {"matrix_products",
     "def f(q, k, v):\n"
     "    q @= SITE\n"
     "    return q @ SITE\n"},
    {"template_string",
     "def f(q, k, v):\n"
     "    return t\"{q}\", KEPT\n",
     "syntax-error"},
    {"python_2",
     "def f(q, k, v):\n"
     "    print \"x\"\n"
     "    return KEPT\n",
     "syntax-error"},
    {"async_functions",
     "async def f(q, k, v):\n"
     "    async with q as w:\n"
     "        async for i in k:\n"
     "            v = SITE\n"
     "    return await g(SITE)\n"},
};
INSTANTIATE_TEST_SUITE_P(Python, Constructs, testing::ValuesIn(kConstructs),
                         [](const auto& row) { return std::string(row.param.name); });

}  // namespace
}  // namespace refit
