"""New C++ text follows the .clang-format above it, and nothing but what is written is formatted."""

import pytest

BEFORE = """#include <vector>
#include <torch/torch.h>

struct Model {
   int   apart ; // stays
   torch::Tensor attend(torch::Tensor query, torch::Tensor key_states, torch::Tensor value_states) {
      auto   other=1;
      return torch::scaled_dot_product_attention(query, key_states, value_states);   // the result
   }
   torch::Tensor rows(torch::Tensor x, torch::Tensor weight) {
      auto variance = x.to(torch::kFloat32).pow(2).mean(-1, true);
      x = x * torch::rsqrt(variance + 1e-6);
      return weight * x;
   }
};
"""
STYLE = "BasedOnStyle: LLVM\nColumnLimit: 60\nIndentWidth: 3\nSortIncludes: CaseSensitive\nInsertBraces: true\n"
STYLED = """#include <vector>
#include <torch/torch.h>
#include <mindiesd/functional.h>

struct Model {
   int   apart ; // stays
   torch::Tensor attend(torch::Tensor query, torch::Tensor key_states, torch::Tensor value_states) {
      auto   other=1;
      return mindiesd::ext::attention_forward(
          query, key_states, value_states,
          {.head_first = true}); // the result
   }
   torch::Tensor rows(torch::Tensor x, torch::Tensor weight) {
      x = mindiesd::ext::rms_norm(
          x, {.eps = 1e-6, .result_type = "float32"});
      return weight * x;
   }
};
"""


def migrated(refit, tree, text=BEFORE, name="model.cpp"):
    (tree / "src").mkdir(exist_ok=True)
    (tree / "src" / name).write_bytes(text.encode())
    done = refit("migrate", "--write", tree)
    assert done.code == 0, done.err
    assert "clang-format" not in done.err and "\x1b" not in done.err, done.err
    return (tree / "src" / name).read_bytes().decode()


def test_what_is_written_is_in_the_style_and_nothing_else(refit, tree):
    (tree / ".clang-format").write_text(STYLE)
    assert migrated(refit, tree) == STYLED


def test_an_option_that_is_not_known_is_passed_over(refit, tree):
    (tree / ".clang-format").write_text(STYLE + "OfANewerVersion: true\n")
    assert migrated(refit, tree) == STYLED


def test_the_nearest_style_counts(refit, tree):
    (tree / ".clang-format").write_text("BasedOnStyle: LLVM\nColumnLimit: 200\n")
    (tree / "src").mkdir()
    (tree / "src" / ".clang-format").write_text(STYLE)
    assert migrated(refit, tree) == STYLED


def test_line_endings_stay(refit, tree):
    (tree / ".clang-format").write_text(STYLE)
    assert migrated(refit, tree, BEFORE.replace("\n", "\r\n")) == STYLED.replace("\n", "\r\n")


@pytest.mark.parametrize(
    "style",
    ["DisableFormat: true\n", "BasedOnStyle: [\x1b[31m\n", "ColumnLimit: many\n", "StatementMacros: " + "{a: " * 9999, ""],
)
def test_a_style_that_says_nothing_or_cannot_be_read_changes_nothing(refit, tree, style):
    plain = migrated(refit, tree, name="plain.cpp")
    if style:
        (tree / ".clang-format").write_text(style)
    assert migrated(refit, tree) == plain
    assert "{.head_first = true});   // the result" in plain
