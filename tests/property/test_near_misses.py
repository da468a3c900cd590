"""Programs that look like what the rules speak of, most of them with one thing that is different.

Every function of near_misses/ gives before and after a migration what it gave before, and leaves
its arguments as it left them. Each was written to be rewritten wrongly by a careless rule.
"""

import copy
import importlib.util
import json
import pathlib
import shutil
import sys

import pytest

pytest.importorskip("torch", reason="torch is not installed; ./dev test installs it")
import torch  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "corpus")]

from cases import run_refit  # noqa: E402
from test_layouts import differ  # noqa: E402

SOURCES = HERE / "near_misses"
SIZES = {
    "x": (2, 6, 8),
    "w": (8,),
    "q": (2, 4, 6, 8),
    "k": (2, 4, 5, 8),
    "v": (2, 4, 5, 8),
    "m": (6, 5),
    "cos": (6, 8),
    "sin": (6, 8),
}


def module(file: pathlib.Path):
    spec = importlib.util.spec_from_file_location(f"{file.parent.name}_{file.stem}", file)
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


@pytest.fixture(scope="module")
def migrated(tmp_path_factory):
    root = tmp_path_factory.mktemp("near_misses")
    for side in ("before", "after"):
        shutil.copytree(SOURCES, root / side, ignore=shutil.ignore_patterns("__pycache__"))
    report = root / "report.json"
    done = run_refit("migrate", root / "after", "--write", "--report", f"json:{report}")
    assert done.returncode == 0, done.stderr.decode()
    return root, json.loads(report.read_text())


def results(made, function, arguments) -> list:
    torch.manual_seed(3)
    given = copy.deepcopy(arguments)
    with torch.no_grad():
        value = getattr(made, function)(**given)
    return [*(value if isinstance(value, tuple) else (value,)), *given.values()]


@pytest.mark.parametrize("name", sorted(file.stem for file in SOURCES.glob("*.py")))
def test_they_give_what_they_gave(migrated, name):
    root, _ = migrated
    before, after = (module(root / side / f"{name}.py") for side in ("before", "after"))
    wrong, compared = [], 0
    for function, code in list(vars(before).items()):
        if getattr(code, "__module__", "") != before.__name__ or not hasattr(code, "__code__"):
            continue
        parameters = code.__code__.co_varnames[: code.__code__.co_argcount]
        draw = torch.Generator().manual_seed(1)
        if len(parameters) < 2:
            continue  # a helper of the others
        sizes = {p: (2, 4, 6, 8) if p == "x" and "cos" in parameters else SIZES[p] for p in parameters}
        arguments = {p: torch.randn(size, generator=draw) for p, size in sizes.items()}
        old = results(before, function, arguments)
        compared += 1
        try:
            new = results(after, function, arguments)
        except Exception as error:  # noqa: BLE001 - whatever it raises is new
            wrong.append(f"{function} now raises {error!r}")
            continue
        if len(old) != len(new) or any(map(differ, old, new)):
            wrong.append(f"{function} gives something else")
    assert compared > 20
    assert not wrong, "\n".join(wrong)


def test_some_are_rewritten(migrated):
    """The rules look at them: among the near misses stand the forms that they recognise."""
    _, report = migrated
    rewritten = {site["rule"] for site in report["sites"] if site["outcome"] == "rewritten"}
    assert rewritten >= {
        "attention-by-hand",
        "attention-multi-query",
        "gated-activation",
        "gelu-function",
        "quick-gelu",
        "rms-norm",
        "rotary-halves",
        "rotary-with-tables",
        "sdpa-to-attention-forward",
        "softmax-clamp",
        "softmax-max-subtraction",
        "torch-rms-norm-function",
    }
