"""Fixtures: the package from the source tree where it is not installed, and the two back ends."""

import importlib.util
import sys
from pathlib import Path

import pytest
import torch

if importlib.util.find_spec("mindiesd") is None:
    sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "runtime" / "python"))
sys.path.insert(0, str(Path(__file__).resolve().parent))


@pytest.fixture(autouse=True)
def _inference():
    # One thread: on a busy machine torch's OpenMP threads wait for each other for milliseconds in every
    # small operator. What needs several threads takes the fixture below.
    torch.set_num_threads(1)
    torch.manual_seed(0)
    with torch.no_grad():
        yield


@pytest.fixture
def nothing_remembered(monkeypatch, tmp_path):
    """No choice among back ends in memory or on disk, and no call to repeat."""
    from mindiesd import _eager, _memory

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("MINDIE_SD_FA_TYPE", raising=False)
    _memory.forget()
    _eager.forget()
    yield
    _memory.forget()
    _eager.forget()


@pytest.fixture
def several_threads(_inference):
    torch.set_num_threads(4)
    yield
    torch.set_num_threads(1)


@pytest.fixture(params=["kernels", "math"])
def backend(request, monkeypatch):
    """Runs a test with the library's kernels and with the plain-math back end."""
    if request.param == "math":
        from mindiesd import _attention_ops, _block_ops, _eager, _ops, _served

        for module in (_attention_ops, _block_ops, _ops, _served):
            monkeypatch.setattr(module, "backend", lambda *tensors: "math")
        monkeypatch.setattr(_eager, "replay", lambda *call: NotImplemented)
        _eager.forget()  # the operators repeat calls, too
        yield request.param
        _eager.forget()
        return
    yield request.param
