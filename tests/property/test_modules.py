"""Random modules around norms, activations, rotations and guards give what they gave before.

REFIT_MODULES says how many are drawn (60), REFIT_SEED from which seed (1).
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
from modules import module, run  # noqa: E402

MODULES = int(os.environ.get("REFIT_MODULES", "60"))
SEED = int(os.environ.get("REFIT_SEED", "1"))
# Of the largest element. In bfloat16 a norm behind a rounding makes much of it: what is asked there
# is the type, the shape and no more than that it is the same thing.
TOLERANCE = {torch.float32: 1e-4, torch.bfloat16: 0.5}
# A norm of numbers that lie close together makes much of float32's rounding as well. There the
# module as it was is off from its own result in float64, and may be that many times as far off.
TIMES_ITS_OWN_ERROR = 4


@pytest.fixture(scope="module")
def migrated(tmp_path_factory):
    """The folders before and after, and the report. Each module is a file of its own."""
    draw = random.Random(SEED)
    root = tmp_path_factory.mktemp("modules")
    for number in range(MODULES):
        text = module(draw, number)
        for side in ("before", "after"):
            (root / side).mkdir(exist_ok=True)
            (root / side / f"m{number}.py").write_text(text)
    report = root / "report.json"
    done = run_refit("migrate", root / "after", "--write", "--report", f"json:{report}")
    assert done.returncode == 0, done.stderr.decode()
    return root, json.loads(report.read_text())


def loaded(file: pathlib.Path) -> dict:
    spec = importlib.util.spec_from_file_location(f"{file.parent.name}_{file.stem}", file)
    made = importlib.util.module_from_spec(spec)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        spec.loader.exec_module(made)
    return vars(made)


def largest(x) -> float:
    return x.double().nan_to_num(posinf=0, neginf=0).abs().max().item()


def differ(old, new, exact, tolerance: float) -> bool:
    """`exact` is what the module before gives in float64, None where it does not run in that."""
    if not torch.is_tensor(old) or not torch.is_tensor(new):
        return old != new
    if old.shape != new.shape or old.dtype != new.dtype:
        return True
    allowed = tolerance * max(1.0, largest(old))
    if exact is not None and exact.shape == old.shape:
        allowed = max(allowed, TIMES_ITS_OWN_ERROR * largest(old.double() - exact.double()))
    return not torch.allclose(old.double(), new.double(), rtol=0, atol=allowed, equal_nan=True)


def in_double(space: dict, number: int) -> list:
    torch.set_default_dtype(torch.float64)
    try:
        return run(space, number, torch.float64)
    except Exception:  # noqa: BLE001 - a module may ask for its type
        return []
    finally:
        torch.set_default_dtype(torch.float32)


def all_agree(before: dict, number: int, old: list, new: list, dtype: torch.dtype) -> bool:
    def agree(exact: list) -> bool:
        return not any(differ(*of, TOLERANCE[dtype]) for of in zip(old, new, exact))

    if len(old) != len(new):
        return False
    if agree([None] * len(old)):
        return True
    exact = in_double(before, number) if dtype == torch.float32 else []
    return len(exact) == len(old) and agree(exact)


def test_modules_agree(migrated):
    root, _ = migrated
    wrong, compared = [], 0
    for number in range(MODULES):
        file = root / "after" / f"m{number}.py"
        before = loaded(root / "before" / file.name)
        for dtype in TOLERANCE:
            try:
                old = run(before, number, dtype)
            except Exception:  # noqa: BLE001 - drawn to run in float32
                continue
            compared += 1
            try:
                new = run(loaded(file), number, dtype)
            except Exception as error:  # noqa: BLE001 - whatever it raises is new
                wrong.append(f"{file}: in {dtype} it now raises {error!r}")
                continue
            if not all_agree(before, number, old, new, dtype):
                wrong.append(f"{file}: in {dtype} it gives something else")
    assert compared >= MODULES
    assert not wrong, "\n".join(wrong)


def test_modules_are_worth_comparing(migrated):
    """Sites of many rules are rewritten, and many are left."""
    _, report = migrated
    rewritten = {site["rule"] for site in report["sites"] if site["outcome"] == "rewritten"}
    refused = [site for site in report["sites"] if site["outcome"] == "refused"]
    assert len(rewritten) >= 8, rewritten
    assert len(refused) >= MODULES // 2
