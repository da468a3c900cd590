"""Random programs that write in place between the parts of what rules recognise give what they gave before.

REFIT_WRITES says how many are drawn (400), REFIT_SEED from which seed (1).
"""

import importlib.util
import json
import os
import pathlib
import random
import sys
import warnings

import pytest

pytest.importorskip("torch", reason="torch is not installed; ./dev test installs it")
import torch  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "corpus")]

from cases import run_refit  # noqa: E402
from writes import program, run  # noqa: E402
from writes_frame import HEAD  # noqa: E402

PROGRAMS = int(os.environ.get("REFIT_WRITES", "400"))
SEED = int(os.environ.get("REFIT_SEED", "1"))
IN_A_FILE = 20
TOLERANCE = 1e-4  # of the largest element, float32


@pytest.fixture(scope="module")
def migrated(tmp_path_factory):
    """The folders before and after, and the report."""
    draw = random.Random(SEED)
    root = tmp_path_factory.mktemp("writes")
    for first in range(0, PROGRAMS, IN_A_FILE):
        drawn = [program(draw, i) for i in range(first, min(first + IN_A_FILE, PROGRAMS))]
        reader = f"import torch\nfrom w{first} import *  # noqa: F403\n" + "".join(read for _, read in drawn)
        for side in ("before", "after"):
            (root / side).mkdir(exist_ok=True)
            (root / side / f"w{first}.py").write_text(HEAD + "".join(text for text, _ in drawn))
            (root / side / f"r{first}.py").write_text(reader)
    report = root / "report.json"
    done = run_refit("migrate", root / "after", "--write", "--report", f"json:{report}")
    assert done.returncode == 0, done.stderr.decode()
    return root, json.loads(report.read_text())


def loaded(folder: pathlib.Path, first: int) -> tuple[dict, dict]:
    """The names of a file of programs, and of the one that reads their results."""
    made = []
    for name in (f"w{first}", f"r{first}"):
        spec = importlib.util.spec_from_file_location(name, folder / f"{name}.py")
        made.append(importlib.util.module_from_spec(spec))
        sys.modules[name] = made[-1]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            spec.loader.exec_module(made[-1])
    return vars(made[0]), vars(made[1])


def differ(old: torch.Tensor, new: torch.Tensor) -> bool:
    if old.shape != new.shape or old.dtype != new.dtype:
        return True
    scale = max(1.0, old.abs().max().item())
    return not torch.allclose(old, new, rtol=0, atol=TOLERANCE * scale)


def test_programs_agree(migrated):
    root, _ = migrated
    wrong = []
    for first in range(0, PROGRAMS, IN_A_FILE):
        before, after = (loaded(root / side, first) for side in ("before", "after"))
        for number in range(first, min(first + IN_A_FILE, PROGRAMS)):
            old = run(*before, number)
            try:
                new = run(*after, number)
            except Exception as error:  # noqa: BLE001 - whatever it raises is new
                wrong.append(f"{root}/after/w{first}.py, Program{number}: it now raises {error!r}")
                continue
            if len(old) != len(new) or any(differ(a, b) for a, b in zip(old, new)):
                wrong.append(f"{root}/after/w{first}.py, Program{number}: it gives something else")
    assert not wrong, "\n".join(wrong)


def test_programs_are_worth_comparing(migrated):
    """Many forms are rewritten, and many are left for a write that reaches them."""
    _, report = migrated
    outcomes = [site.get("code") or site["outcome"] for site in report["sites"]]
    assert outcomes.count("rewritten") >= PROGRAMS // 4, outcomes
    assert outcomes.count("in-place") >= PROGRAMS // 20, outcomes
