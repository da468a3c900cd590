"""Migrated code given unusual operands and numbers gives what it gave before, and torch.fx traces it as before."""

import importlib.util
import json
import pathlib
import sys
import warnings

import pytest

pytest.importorskip("torch", reason="torch is not installed; ./dev test installs it")
import torch  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "corpus")]

from cases import run_refit  # noqa: E402
from unusual import SOURCE, calls, traces  # noqa: E402


@pytest.fixture(scope="module")
def migrated(tmp_path_factory):
    """The module before, the module after, and the report."""
    root = tmp_path_factory.mktemp("unusual")
    modules = []
    for side in ("before", "after"):
        (root / side).mkdir()
        file = root / side / "forms.py"
        file.write_text(SOURCE)
        if side == "after":
            done = run_refit("migrate", file, "--write", "--report", f"json:{root}/report.json")
            assert done.returncode == 0, done.stderr.decode()
        spec = importlib.util.spec_from_file_location(f"unusual_{side}", file)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        modules.append(module)
    return *modules, json.loads((root / "report.json").read_text())


def outcome(module, name, arguments):
    """The result, or the error."""
    given = [a.clone() if isinstance(a, torch.Tensor) else a for a in arguments]
    torch.manual_seed(0)
    try:
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return getattr(module, name)(*given)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is the outcome
        return error


def difference(old: torch.Tensor, new: torch.Tensor, arguments) -> str:
    if (old.dtype, old.shape) != (new.dtype, new.shape):
        return f"{old.dtype} {list(old.shape)} became {new.dtype} {list(new.shape)}"
    if not old.is_floating_point() and not old.is_complex():
        return "" if torch.equal(old, new) else "other whole numbers"
    if old.numel() == 0:
        return ""
    half = any(isinstance(t, torch.Tensor) and t.dtype == torch.float16 for t in (old, *arguments))
    tolerance = 2e-2 if half else 1e-4
    scale = max(1.0, old.to(torch.complex128).abs().nan_to_num(0.0, 0.0, 0.0).max().item())
    close = torch.allclose(old, new, rtol=tolerance, atol=tolerance * scale, equal_nan=True)
    return "" if close else f"{old.flatten()[:3].tolist()} became {new.flatten()[:3].tolist()}"


def shown(value) -> str:
    if isinstance(value, torch.Tensor) and value.numel() != 1:
        return f"{value.dtype} {list(value.shape)}"
    return repr(value)


def test_results_and_errors_stay(migrated):
    before, after, _ = migrated
    wrong, given = [], 0
    for name, *arguments in calls():
        old = outcome(before, name, arguments)
        if isinstance(old, Exception):
            continue  # what it was never given for
        given += 1
        new = outcome(after, name, arguments)
        raised = isinstance(new, Exception)
        what = f"it now raises {new!r}" if raised else difference(old, new, arguments)
        if what:
            wrong.append(f"{name}({', '.join(map(shown, arguments))}): {what}")
    assert given > 2500
    assert not wrong, f"{len(wrong)} of {given}\n" + "\n".join(wrong[:50])


def test_every_form_is_rewritten(migrated):
    _, _, report = migrated
    refused = [(site["line"], site["rule"]) for site in report["sites"] if site["outcome"] == "refused"]
    assert len(report["sites"]) > 45
    # Factors that are no scale: True and infinity.
    lines = SOURCE.splitlines()
    assert all("* True" in lines[n - 1] or 'float("inf")' in lines[n - 1] for n, _ in refused), refused


@pytest.mark.parametrize("name, constant, tensors", traces(), ids=lambda v: v if isinstance(v, str) else "")
def test_torch_fx_traces(migrated, name, constant, tensors):
    for module in migrated[:2]:
        form = getattr(module, name)
        if isinstance(form, type):
            traced_of = form(*constant)
        else:
            parameters = ", ".join(f"t{i}" for i in range(len(tensors)))
            last = name.startswith(("attend", "clamped"))
            given = f"{parameters}, *constant" if last else f"*constant, {parameters}"
            names = {"form": form, "constant": constant}
            exec(f"def traced_of({parameters}):\n    return form({given})", names)
            traced_of = names["traced_of"]
        with torch.no_grad():
            graph = torch.fx.symbolic_trace(traced_of)
            torch.testing.assert_close(graph(*tensors), traced_of(*tensors))
