"""Every recognised form gives a result with the values and the strides that it had, whatever its operands' strides."""

import importlib.util
import itertools
import json
import pathlib
import re
import sys

import pytest

pytest.importorskip("torch", reason="torch is not installed; ./dev test installs it")
import torch  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "corpus")]

from cases import run_refit  # noqa: E402
from strides_table import FORMS, OPERANDS, TABLES, module_text, operands, strides  # noqa: E402

TOLERANCE = {torch.float32: 2e-5, torch.bfloat16: 4e-2}
# What docs/limits.md says of strides: an expanded operand that leaves the order to one that is read later, and the
# operands for which torch's own attention takes another way on the CPU.
BEYOND = {
    "stored": [("expanded", "whole, transposed"), ("expanded and transposed",)],
    "attention": [("transposed", "channels apart")],
}  # fmt: skip
# Whatever the other operands, one class at a time; two that differ meet in the diagonal.
CLASSES = [
    *((x, "dense", "places") for x in OPERANDS),
    *(("dense", y, table) for y, table in itertools.product(OPERANDS, TABLES)),
    *(("transposed", y, table) for y, table in zip(OPERANDS, itertools.cycle(TABLES))),
    *((x, "transposed", table) for x, table in itertools.product(OPERANDS, TABLES)),
]


@pytest.fixture(scope="module")
def modules(tmp_path_factory):
    """The forms before and after, and the names of the functions that were rewritten."""
    root = tmp_path_factory.mktemp("strides")
    for side in ("before", "after"):
        (root / side).mkdir()
        (root / side / "forms.py").write_text(module_text())
    report = root / "report.json"
    done = run_refit("migrate", root / "after", "--write", "--report", f"json:{report}")
    assert done.returncode == 0, done.stderr.decode()
    loaded = []
    for side in ("before", "after"):
        spec = importlib.util.spec_from_file_location(f"forms_{side}", root / side / "forms.py")
        loaded.append(importlib.util.module_from_spec(spec))
        spec.loader.exec_module(loaded[-1])
    lines = module_text().split("\n")
    rewritten = set()
    for site in json.loads(report.read_text())["sites"]:
        if site["outcome"] in ("rewritten", "assumed"):
            above = lines[: site["line"]]
            rewritten.add(re.findall(r"def (\w+)", "\n".join(above))[-1])
    return *loaded, rewritten


def function(module, number, name):
    if not name.startswith("self: "):
        return getattr(module, f"f{number}")
    return getattr(module.Norms().eval(), f"f{number}")


@pytest.mark.parametrize("name", FORMS)
def test_is_rewritten(modules, name):
    assert f"f{list(FORMS).index(name)}" in modules[2]


def disagreements(name, old, new, classes, dtype):
    for names in classes:
        if any(set(given) <= set(names) for given in BEYOND.get(name, ())):
            continue
        arguments = operands(*names, dtype)
        with torch.no_grad():
            try:
                wanted = old(*arguments)
            except RuntimeError:  # it does not take such an operand
                continue
            found = new(*arguments)
        error = (found.double() - wanted.double()).abs().max() / max(1, wanted.abs().max())
        if found.dtype != wanted.dtype or error > TOLERANCE[dtype]:
            yield f"{names}: {found.dtype}, off by {error:g}"
        if strides(found) != strides(wanted):
            yield f"{names}: strides {found.stride()} where they were {wanted.stride()}"


@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize("name", FORMS)
def test_values_and_strides(modules, name, dtype):
    number = list(FORMS).index(name)
    old, new = (function(module, number, name) for module in modules[:2])
    wrong = list(disagreements(name, old, new, CLASSES, dtype))
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("name", FORMS)
def test_in_a_graph(modules, name):
    """The fakes tell the graph which strides the operators give; a view is traced on them."""
    number = list(FORMS).index(name)
    old, new = (function(module, number, name) for module in modules[:2])
    torch.compiler.reset()
    traced = torch.compile(new, backend="aot_eager", dynamic=False)
    wrong = list(disagreements(name, old, traced, [("transposed", "dense", "samples")], torch.float32))
    assert not wrong, "\n".join(wrong)
