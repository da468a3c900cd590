// Text for a change: the argument list of an edited call, whatever its layout and comments, and the
// imports that come and go with it. The change is always the same: the attention call of f keeps
// query, key, value and attn_mask, drops the rest and gets head_first=True.
#include <gtest/gtest.h>

#include "tests/python/lowered.hpp"
#include "tests/python/row_name.hpp"

namespace refit {
namespace {

struct Row {
  const char* name;
  const char* before;
  const char* after;
};

void PrintTo(const Row& row, std::ostream* out) { *out << row.name; }

std::string realised(const std::string& text) {
  const Lowered lowered(text);
  std::vector<Change> changes;
  for (uint32_t f = 0; f < lowered.unit->functions.size(); ++f) {
    const Graph& g = lowered.unit->functions[f].graph;
    for (ValueId id = 0; id < g.values.size(); ++id) {
      const Value& v = g[id];
      if (v.kind != Kind::op || !v.op->id.ends_with("scaled_dot_product_attention")) continue;
      Change change;
      change.function = f;
      change.root = id;
      change.callee = "mindiesd.attention_forward";
      change.edit_call = true;
      for (const char* name : {"query", "key", "value"}) change.arguments.push_back({"", "", name});
      if (g.argument(id, "attn_mask") != kNone) {
        change.arguments.push_back({"attn_mask", "", "attn_mask"});
      }
      change.arguments.push_back({"head_first", "True", ""});
      changes.push_back(std::move(change));
    }
  }
  const auto out = lowered.frontend.realise(*lowered.unit, changes);
  if (!out) return "error: " + out.error().message;
  for (const bool accepted : out->accepted) {
    if (!accepted) return "not accepted";
  }
  return out->edits.apply(text);
}

class Call : public testing::TestWithParam<Row> {};

TEST_P(Call, GivesTheText) {
  const std::string head = "import torch.nn.functional as F\n\n\ndef f(q, k, v, m):\n    return ";
  const std::string new_head = "import mindiesd\n\n\ndef f(q, k, v, m):\n    return ";
  EXPECT_EQ(realised(head + GetParam().before + "\n"), new_head + GetParam().after + "\n");
}

const Row kCalls[] = {
    {"positional", "F.scaled_dot_product_attention(q, k, v)",
     "mindiesd.attention_forward(q, k, v, head_first=True)"},
    {"dropped_from_the_end", "F.scaled_dot_product_attention(q, k, v, dropout_p=0.0)",
     "mindiesd.attention_forward(q, k, v, head_first=True)"},
    {"dropped_from_the_middle",
     "F.scaled_dot_product_attention(q, k, v, dropout_p=0.0, attn_mask=m)",
     "mindiesd.attention_forward(q, k, v, attn_mask=m, head_first=True)"},
    {"dropped_from_the_front",
     "F.scaled_dot_product_attention(dropout_p=0.0, query=q, key=k, value=v)",
     "mindiesd.attention_forward(query=q, key=k, value=v, head_first=True)"},
    {"position_becomes_keyword", "F.scaled_dot_product_attention(q, k, v, m, 0.0, False)",
     "mindiesd.attention_forward(q, k, v, attn_mask=m, head_first=True)"},
    {"trailing_comma", "F.scaled_dot_product_attention(q, k, v, 0.0 and m,)",
     "mindiesd.attention_forward(q, k, v, attn_mask=0.0 and m, head_first=True,)"},
    {"spaces", "F.scaled_dot_product_attention( q , k , v )",
     "mindiesd.attention_forward( q , k , v, head_first=True )"},
    {"parenthesised_callee", "(F.scaled_dot_product_attention)(q, k, v)",
     "mindiesd.attention_forward(q, k, v, head_first=True)"},
    {"one_an_own_line",
     "F.scaled_dot_product_attention(\n        q,\n        k,\n        v,\n"
     "        dropout_p=0.0,\n    )",
     "mindiesd.attention_forward(\n        q,\n        k,\n        v,\n"
     "        head_first=True,\n    )"},
    {"own_lines_without_a_last_comma",
     "F.scaled_dot_product_attention(\n        q,\n        k,\n        v,\n"
     "        dropout_p=0.0\n    )",
     "mindiesd.attention_forward(\n        q,\n        k,\n        v,\n"
     "        head_first=True,\n    )"},
    {"all_on_one_inner_line",
     "F.scaled_dot_product_attention(\n        q, k, v, attn_mask=m, dropout_p=0.0\n    )",
     "mindiesd.attention_forward(\n        q, k, v, attn_mask=m, head_first=True\n    )"},
    {"hanging",
     "F.scaled_dot_product_attention(q, k, v,\n"
     "                                          attn_mask=m, is_causal=False)",
     "mindiesd.attention_forward(q, k, v,\n"
     "                                      attn_mask=m,\n"
     "                                      head_first=True)"},
    {"comment_beside_a_kept_argument",
     "F.scaled_dot_product_attention(\n        q,  # queries\n        k,\n        v,\n    )",
     "mindiesd.attention_forward(\n        q,  # queries\n        k,\n        v,\n"
     "        head_first=True,\n    )"},
    {"comment_beside_a_dropped_argument",
     "F.scaled_dot_product_attention(\n        q,\n        k,\n        v,\n"
     "        dropout_p=0.0,  # never\n        attn_mask=m,\n    )",
     "mindiesd.attention_forward(\n        q,\n        k,\n        v,\n        # never\n"
     "        attn_mask=m,\n        head_first=True,\n    )"},
    {"string_with_a_bracket", "F.scaled_dot_product_attention(q[')'], k, v)",
     "mindiesd.attention_forward(q[')'], k, v, head_first=True)"},
    {"in_an_expression", "1 + F.scaled_dot_product_attention(q, k, v)[0] * 2",
     "1 + mindiesd.attention_forward(q, k, v, head_first=True)[0] * 2"},
};

INSTANTIATE_TEST_SUITE_P(Realise, Call, testing::ValuesIn(kCalls), RowName());

class Imports : public testing::TestWithParam<Row> {};

TEST_P(Imports, GivesTheText) { EXPECT_EQ(realised(GetParam().before), GetParam().after); }

const Row kImports[] = {
    {"sorted_before_torch",
     "import os\n\nimport numpy as np\nimport torch\nimport torch.nn.functional as F\n\n\n"
     "def f(q):\n    return F.scaled_dot_product_attention(q, q, q), torch, np, os\n",
     "import os\n\nimport mindiesd\nimport numpy as np\nimport torch\n\n\n"
     "def f(q):\n    return mindiesd.attention_forward(q, q, q, head_first=True), torch, np, os\n"},
    {"below_pythons_own",
     "from typing import Any\nimport os.path, re\nimport torch\nimport torch.nn.functional as "
     "F\n\n\n"
     "def f(q):\n    return F.scaled_dot_product_attention(q, q, q), torch, Any, os, re\n",
     "from typing import Any\nimport os.path, re\nimport mindiesd\nimport torch\n\n\n"
     "def f(q):\n    return mindiesd.attention_forward(q, q, q, head_first=True), torch, Any, os, "
     "re\n"},
    {"present_already",
     "import mindiesd\nimport torch.nn.functional as F\n\n\n"
     "def f(q):\n    return F.scaled_dot_product_attention(q, q, q), mindiesd.RMSNorm\n",
     "import mindiesd\n\n\n"
     "def f(q):\n    return mindiesd.attention_forward(q, q, q, head_first=True), "
     "mindiesd.RMSNorm\n"},
    {"present_as_a_name",
     "from mindiesd import attention_forward\nimport torch.nn.functional as F\n\n\n"
     "def f(q):\n    return F.scaled_dot_product_attention(q, q, q), attention_forward\n",
     "from mindiesd import attention_forward\n\n\n"
     "def f(q):\n    return attention_forward(q, q, q, head_first=True), attention_forward\n"},
    {"one_name_of_several",
     "from torch.nn.functional import gelu, scaled_dot_product_attention, silu\n\n\n"
     "def f(q):\n    return gelu(silu(scaled_dot_product_attention(q, q, q)))\n",
     "import mindiesd\nfrom torch.nn.functional import gelu, silu\n\n\n"
     "def f(q):\n    return gelu(silu(mindiesd.attention_forward(q, q, q, head_first=True)))\n"},
    {"last_name_in_brackets",
     "from torch.nn.functional import (\n    gelu,\n    scaled_dot_product_attention,\n)\n\n\n"
     "def f(q):\n    return gelu(scaled_dot_product_attention(q, q, q))\n",
     "import mindiesd\nfrom torch.nn.functional import (\n    gelu,\n)\n\n\n"
     "def f(q):\n    return gelu(mindiesd.attention_forward(q, q, q, head_first=True))\n"},
    {"behind_a_docstring",
     "'''Text.'''\nfrom . import x\nfrom torch.nn.functional import "
     "scaled_dot_product_attention\n\n\n"
     "def f(q):\n    return x(scaled_dot_product_attention(q, q, q))\n",
     "'''Text.'''\nfrom . import x\nimport mindiesd\n\n\n"
     "def f(q):\n    return x(mindiesd.attention_forward(q, q, q, head_first=True))\n"},
};

INSTANTIATE_TEST_SUITE_P(Realise, Imports, testing::ValuesIn(kImports), RowName());

TEST(Realise, OneCallInsideAnother) {
  EXPECT_EQ(realised("import torch.nn.functional as F\n\n\n"
                     "def f(q):\n"
                     "    return F.scaled_dot_product_attention(\n"
                     "        F.scaled_dot_product_attention(q, q, q, dropout_p=0.0), q, q\n"
                     "    )\n"),
            "import mindiesd\n\n\n"
            "def f(q):\n"
            "    return mindiesd.attention_forward(\n"
            "        mindiesd.attention_forward(q, q, q, head_first=True), q, q, head_first=True\n"
            "    )\n");
}

TEST(Realise, OneCallInWhatAnotherDropsGoesWithIt) {
  EXPECT_EQ(realised("import torch.nn.functional as F\n\n\n"
                     "def f(q):\n    return F.scaled_dot_product_attention(q, q, q, "
                     "scale=F.scaled_dot_product_attention(q, q, q))\n"),
            "not accepted");
}

TEST(Realise, NamesWithoutAReaderGo) {
  EXPECT_EQ(realised("import torch.nn.functional as F\n\n\n"
                     "def f(q, p):\n"
                     "    function = F.scaled_dot_product_attention\n"
                     "    rate = p\n"
                     "    kept = p\n"
                     "    function(q, q, q, dropout_p=rate, scale=kept)\n"
                     "    return function(q, q, q), kept\n"),
            "import mindiesd\n\n\n"
            "def f(q, p):\n"
            "    kept = p\n"
            "    mindiesd.attention_forward(q, q, q, head_first=True)\n"
            "    return mindiesd.attention_forward(q, q, q, head_first=True), kept\n");
}

TEST(Realise, NamesWithoutAReaderGoFromEveryBranch) {
  EXPECT_EQ(
      realised("import torch.nn.functional as F\n\n\n"
               "def f(q, p):\n"
               "    if p:\n"
               "        rate = p\n"
               "    else:\n"
               "        rate = 0.0\n"
               "    for _ in p:\n"
               "        scale = p\n"
               "        q = F.scaled_dot_product_attention(q, q, q, dropout_p=rate, scale=scale)\n"
               "    return q\n"),
      "import mindiesd\n\n\n"
      "def f(q, p):\n"
      "    for _ in p:\n"
      "        q = mindiesd.attention_forward(q, q, q, head_first=True)\n"
      "    return q\n");
}

TEST(Realise, NamesThatSomethingElseMayReadStay) {
  for (const char* body : {"    g = lambda: rate\n", "    def g():\n        return rate\n",
                           "    print(f\"{rate}\")\n", "    locals()\n", "    del rate\n"}) {
    const std::string head = std::string("def f(q, p):\n    rate = p\n") + body;
    EXPECT_EQ(realised("import torch.nn.functional as F\n\n\n" + head +
                       "    return F.scaled_dot_product_attention(q, q, q, dropout_p=rate)\n"),
              "import mindiesd\n\n\n" + head +
                  "    return mindiesd.attention_forward(q, q, q, head_first=True)\n");
  }
}

TEST(Realise, TakenNameIsImportedUnderAnother) {
  EXPECT_EQ(realised("import torch.nn.functional as F\n\nmindiesd = 1\n\n\n"
                     "def f(q):\n    return F.scaled_dot_product_attention(q, q, q)\n"),
            "import mindiesd as _mindiesd\n\nmindiesd = 1\n\n\n"
            "def f(q):\n    return _mindiesd.attention_forward(q, q, q, head_first=True)\n");
}

TEST(Realise, TwoTakenNamesAreNotAccepted) {
  EXPECT_EQ(realised("import torch.nn.functional as F\n\nmindiesd = _mindiesd = 1\n\n\n"
                     "def f(q):\n    return F.scaled_dot_product_attention(q, q, q)\n"),
            "not accepted");
}

TEST(Realise, TwoCallsOfOneFileShareTheImport) {
  EXPECT_EQ(realised("import torch.nn.functional as F\n\n\n"
                     "def f(q):\n    a = F.scaled_dot_product_attention(q, q, q)\n"
                     "    return F.scaled_dot_product_attention(a, q, q)\n"),
            "import mindiesd\n\n\n"
            "def f(q):\n    a = mindiesd.attention_forward(q, q, q, head_first=True)\n"
            "    return mindiesd.attention_forward(a, q, q, head_first=True)\n");
}

}  // namespace
}  // namespace refit
