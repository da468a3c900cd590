// What TorchScript compiles though no decorator says so, read from the text.
#include "rewriter/python/names/scripted.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tests/python/row_name.hpp"

namespace refit::python {
namespace {

struct Row {
  const char* name;
  std::string text;
  bool compiled;  // whether `gelu` is
};

class Scripted : public testing::TestWithParam<Row> {};

TEST_P(Scripted, ByItsName) {
  const TextNotes notes = text_notes(GetParam().text, false);
  const bool found = std::find(notes.scripted.begin(), notes.scripted.end(), name_hash("gelu")) !=
                     notes.scripted.end();
  EXPECT_EQ(found, GetParam().compiled);
}

const Row kRows[] = {
    {"by_name", "gelu = torch.jit.script(gelu)\n", true},
    {"under_another_name", "fast = torch.jit.script( gelu )\n", true},
    {"of_a_module", "fast = jit.script(ops.gelu)\n", true},
    {"by_keyword", "fast = torch.jit.script(obj=gelu)\n", true},
    {"imported", "from torch.jit import script\nimport torch.jit\nfast = script(gelu)\n", true},
    {"while_tracing", "fast = torch.jit.script_if_tracing(gelu)\n", true},
    {"an_object", "model = torch.jit.script(gelu(8).eval())\n", true},
    {"called_by_one", "@torch.jit.script\ndef f(x):\n    y = x\n\n    return gelu(y)\n", true},
    {"called_by_one_that_is_called",
     "def g(x):\n    return gelu(x)\n\n\ndef f(x):\n    return g(x)\n\n\nh = torch.jit.script(f)\n",
     true},
    {"on_several_lines", "@torch.jit.script\ndef f(\n    x,\n):\n    return gelu(x)\n", true},
    {"called_behind_one", "@torch.jit.script\ndef f(x):\n    return x\n\n\ndef g(x):\n  gelu(x)\n",
     false},
    {"of_a_library", "@torch.jit.script\ndef f(x):\n    return F.gelu(x)\n", false},
    {"another", "fast = torch.jit.script(silu)\n", false},
    {"another_script", "import torch.jit\nself.script(gelu)\nscript = 1\n", false},
    {"no_torch", "script(gelu)\n", false},
    {"asked", "if torch.jit.is_scripting():\n    gelu(x)\n", false},
    {"cut_off", "import torch.jit\nx = torch.jit.script(", false},
    {"cut_off_in_a_name", "@torch.jit.script\ndef f(x", false},
};

INSTANTIATE_TEST_SUITE_P(Frontend, Scripted, testing::ValuesIn(kRows), RowName());

TEST(ScriptedInATest, DoesNotCount) {
  EXPECT_TRUE(text_notes("gelu = torch.jit.script(gelu)\n", true).scripted.empty());
}

}  // namespace
}  // namespace refit::python
