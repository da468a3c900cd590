"""Random programs around attention give what they gave before, whatever happens to their layouts.

REFIT_PROGRAMS says how many are drawn (120), REFIT_SEED from which seed (1).
"""

import importlib.util
import json
import os
import pathlib
import random
import sys

import pytest

pytest.importorskip("torch", reason="torch is not installed; ./dev test installs it")
import torch  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "corpus")]

from cases import run_refit  # noqa: E402
from programs import HEAD, arguments, checked, program  # noqa: E402

PROGRAMS = int(os.environ.get("REFIT_PROGRAMS", "120"))
SEED = int(os.environ.get("REFIT_SEED", "1"))
TOLERANCE = 3e-5  # of the largest element, float32


@pytest.fixture(scope="module")
def migrated(tmp_path_factory):
    """The programs before and after, as modules, and the report."""
    draw = random.Random(SEED)
    texts = [program(draw, f"program_{i}") for i in range(PROGRAMS)]
    root = tmp_path_factory.mktemp("programs")
    modules = []
    for side in ("before", "after"):
        file = root / side / "model.py"
        file.parent.mkdir()
        file.write_text("\n\n".join([HEAD, *texts]))
        if side == "after":
            report = root / "report.json"
            done = run_refit("migrate", file.parent, "--write", "--report", f"json:{report}")
            assert done.returncode == 0, done.stderr.decode()
        spec = importlib.util.spec_from_file_location(f"programs_{side}", file)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        modules.append(module)
    checked(modules[0])
    return texts, *modules, json.loads(report.read_text())


def results(module, name: str, flag: bool) -> list:
    """What a program returns and what it makes of its arguments; None where it raises."""
    given = arguments(flag)
    value = getattr(module, name)(**given)
    return [*(value if isinstance(value, tuple) else (value,)), given["q"], given["k"], given["v"]]


def differ(old, new) -> bool:
    if not torch.is_tensor(old):
        return old != new
    if old.shape != new.shape or old.dtype != new.dtype:
        return True
    if old.numel() == 0:
        return False
    scale = max(1.0, old.double().nan_to_num().abs().max().item())
    return not torch.allclose(
        old.double(), new.double(), rtol=0, atol=TOLERANCE * scale, equal_nan=True
    )


def test_programs_agree(migrated):
    texts, before, after, _ = migrated
    wrong, compared = [], 0
    for i, source in enumerate(texts):
        name = f"program_{i}"
        for flag in (True, False):
            try:
                old = results(before, name, flag)
            except (RuntimeError, IndexError, ValueError, NameError):
                continue  # drawn to run with the flag set
            compared += 1
            try:
                new = results(after, name, flag)
            except Exception as error:  # noqa: BLE001 - whatever it raises is new
                wrong.append(f"{source}# with flag={flag} it now raises {error!r}\n")
                break
            if len(old) != len(new) or any(map(differ, old, new)):
                wrong.append(f"{source}# with flag={flag} it gives something else\n")
                break
    assert compared >= PROGRAMS
    assert not wrong, "\n".join(wrong)


def test_layouts_move_and_stay(migrated):
    """The programs are worth comparing: many absorb transposes, many do not."""
    texts, _, _, report = migrated
    absorbed = [site["absorbed"] for site in report["sites"] if site["outcome"] == "rewritten"]
    assert absorbed.count(True) >= PROGRAMS // 10
    assert absorbed.count(False) >= PROGRAMS // 10
