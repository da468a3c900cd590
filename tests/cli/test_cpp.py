"""The front end for C++ as the tool finds it: there, missing, broken, and of another build."""

import os
from pathlib import Path

import pytest

SOURCE = b"""#include <torch/torch.h>

torch::Tensor attend(torch::Tensor q, torch::Tensor k, torch::Tensor v) {
  return torch::scaled_dot_product_attention(q, k, v);
}
"""
LIBRARY = Path(os.environ.get("MINDIESD_LIBRARY", "build/lib/libmindiesd.so")).absolute()


def front_end(file):
    return {**os.environ, "REFIT_CPP_FRONTEND": str(file)}


def test_a_site_in_cpp_is_rewritten(refit, tree):
    (tree / "model.cpp").write_bytes(SOURCE)
    done = refit("migrate", "--write", tree)
    assert done.code == 0, done.err
    after = (tree / "model.cpp").read_bytes()
    assert b"mindiesd::ext::attention_forward(q, k, v" in after
    assert b"#include <mindiesd/functional.h>" in after


@pytest.mark.parametrize(
    ("file", "why"),
    [
        ("/nonexistent.so", "because /nonexistent.so is not there; install libclang-19-dev"),
        (__file__, "the C++ front end cannot be loaded: "),
        (LIBRARY, "belongs to another build of refit"),
    ],
    ids=["missing", "broken", "another-build"],
)
def test_without_it_cpp_is_left_with_a_note_and_python_is_migrated(refit, tree, source, file, why):
    (tree / "model.cpp").write_bytes(SOURCE)
    (tree / "model.py").write_bytes(source())
    done = refit("migrate", "--write", tree, env=front_end(file))
    assert done.code == 0, done.err
    (note,) = [line for line in done.err.splitlines() if line.startswith("note: ")]
    assert note.startswith("note: model.cpp: ") and "it was not looked at" in note and why in note
    assert (tree / "model.cpp").read_bytes() == SOURCE
    assert b"mindiesd" in (tree / "model.py").read_bytes()
