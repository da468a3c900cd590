"""The house's own bounds: files that a reader takes in at once, pages that are short, folders with one job."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = {".c", ".cc", ".cpp", ".cu", ".cuh", ".h", ".hpp", ".py"}
# The C++ form of the C interface has one job: every function that a program calls.
LONGER = {"runtime/include/mindiesd/mindiesd.h"}


def sources(*folders):
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in SOURCES and "__pycache__" not in path.parts:
                yield path


@pytest.mark.parametrize(
    "folders, most",
    [
        (("rewriter", "kernels", "runtime", "verify", "bench", "scripts"), 500),
        (("tests",), 650),  # long where they are lists of cases
    ],
)
def test_files_are_short(folders, most):
    for path in sources(*folders):
        name = str(path.relative_to(ROOT))
        lines = len(path.read_text().splitlines())
        assert lines <= most or name in LONGER, f"{name} has {lines} lines"


@pytest.mark.parametrize("page, most", [("README.md", 120)])
def test_pages_are_short(page, most):
    assert len((ROOT / page).read_text().splitlines()) <= most


def test_the_architecture_is_told_in_900_words():
    assert len((ROOT / "docs/architecture.md").read_text().split()) <= 900


def test_the_planner_names_no_language():
    for path in sources("rewriter/plan", "rewriter/match", "rewriter/graph"):
        assert not re.search(r"\b(python|cpp)::", path.read_text()), path


def test_kernels_do_not_know_torch():
    for path in sources("kernels"):
        assert not re.search(r"#include\s*[<\"](torch|ATen|c10)/", path.read_text()), path
