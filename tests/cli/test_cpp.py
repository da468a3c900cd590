"""The front end for C++ in the tool."""

import json
import shutil
from pathlib import Path

import pytest

SOURCE = b"""#include <torch/torch.h>

torch::Tensor attend(torch::Tensor q, torch::Tensor k, torch::Tensor v) {
  return torch::scaled_dot_product_attention(q, k, v);
}
"""


def test_a_site_in_cpp_is_rewritten(refit, tree):
    (tree / "model.cpp").write_bytes(SOURCE)
    done = refit("migrate", "--write", tree)
    assert done.code == 0, done.err
    after = (tree / "model.cpp").read_bytes()
    assert b"mindiesd::ext::attention_forward(q, k, v" in after
    assert b"#include <mindiesd/functional.h>" in after


HELPER = """#pragma once
#include <torch/torch.h>
inline torch::Tensor opposite(const torch::Tensor& x) { return -x; }
"""
ROTATION = """#include <torch/torch.h>
#include HEADER

torch::Tensor rotate(torch::Tensor q, torch::Tensor cos, torch::Tensor sin) {
  auto halves = q.chunk(2, -1);
  return q * cos + torch::cat({opposite(halves[1]), halves[0]}, -1) * sin;
}
"""


@pytest.mark.parametrize("header", ['"opposite.h"', "<torch/opposite.h>"])
def test_bodies_are_read_in_the_projects_headers_and_not_in_libtorchs(refit, tree, header):
    """With the flags of a compile_commands.json, where libtorch's headers are the real ones."""
    include = tree.parent / "libtorch"
    declared = Path(__file__).resolve().parents[2] / "rules" / "catalogue" / "cpp" / "include"
    shutil.copytree(declared, include)
    (include / "torch" / "opposite.h").write_text(HELPER)
    (tree / "opposite.h").write_text(HELPER)
    (tree / "model.cpp").write_text(ROTATION.replace("HEADER", header))
    command = f"c++ -std=c++20 -nostdinc -nostdinc++ -isystem {include} -c model.cpp -o model.o"
    entry = {"directory": str(tree), "file": "model.cpp", "command": command}
    (tree / "compile_commands.json").write_text(json.dumps([entry]))
    done = refit("migrate", tree)
    assert done.code == 0, done.err
    assert (b"rotary_position_embedding(q, cos, sin" in done.out) == (header == '"opposite.h"')
