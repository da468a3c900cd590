"""``mindiesd.disable`` and MINDIESD_CHECK: families by torch code, and calls by kernel and torch code."""

import logging
import os
import subprocess
import sys

import mindiesd
import pytest
import torch
from mindiesd import _bisect, _forms, _ops, ext
from mindiesd.utils import ParametersInvalid
from test_gradients import CALLS, compute, operands


@pytest.fixture
def checks(monkeypatch):
    """Checking in this process, taken back afterwards."""
    for name, form in vars(_forms).copy().items():
        monkeypatch.setattr(_forms, name, form)
    monkeypatch.setattr(_bisect.atexit, "register", lambda _: None)
    mindiesd._eager.forget()
    yield _bisect.check_forms()
    mindiesd._eager.forget()


def messages(caplog):
    return [record.getMessage() for record in caplog.records]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("name", CALLS)
def test_kernels_and_torch_code_agree(checks, caplog, name, dtype):
    # Their layers are of these types.
    dtype = torch.float64 if name == "group_norm" else torch.float32 if "linear" in name else dtype
    _, call, shapes = CALLS[name]
    given = operands(shapes, dtype)
    with caplog.at_level(logging.WARNING), torch.no_grad():
        found, operators = compute(call, given)
    assert operators
    assert checks.calls > 0
    assert checks.different == 0, messages(caplog)
    assert found


def test_the_first_difference_of_a_line_is_said(checks, caplog, monkeypatch):
    kernel = _ops.rms_norm

    def wrong(x, *others):
        return kernel(x, *others).index_fill(0, torch.tensor([1]), 3.0)

    monkeypatch.setattr(_ops, "rms_norm", wrong)
    monkeypatch.setattr(_bisect.logger, "propagate", True)
    x, weight = torch.randn(4, 8), torch.ones(8)
    with caplog.at_level(logging.WARNING), torch.no_grad():
        for _ in range(3):
            result = ext.rms_norm(x, weight)
        ext.silu(x)
    assert (result[1] == 3.0).all()  # what the kernel gave
    assert (checks.calls, checks.different) == (4, 3)
    (message,) = messages(caplog)
    assert "rms_norm, called from" in message
    assert "test_bisect.py:" in message
    assert "at [1, " in message
    assert "3 instead of " in message
    assert "x float32 tensor [4, 8], weight float32 tensor [8]" in message


def test_nan_is_a_difference(checks, caplog, monkeypatch):
    kernel = _ops.activation
    monkeypatch.setattr(_ops, "activation", lambda *given: kernel(*given) * torch.nan)
    with torch.no_grad():
        ext.gelu(torch.randn(4, 8))
    assert checks.different == 1


def test_in_place_results_are_compared(checks, caplog, monkeypatch):
    monkeypatch.setattr(_ops, "rotary_position_embedding_", lambda x, *_: x.zero_())
    x, table = torch.randn(2, 5, 4, 8), torch.randn(5, 1, 8)
    with torch.no_grad():
        ext.rotary_position_embedding(x, table, table, inplace=True)
    assert checks.different == 1
    assert (x == 0).all()


SCRIPT = """
import torch, mindiesd
with torch.no_grad():
    for _ in range(3):
        mindiesd.ext.silu(torch.randn(2, 8))
    mindiesd.fast_layernorm(torch.nn.LayerNorm(8), torch.randn(2, 3, 8))
"""


def test_the_environment_asks_for_checks():
    environment = {**os.environ, "MINDIESD_CHECK": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=True
    )
    assert "4 calls were compared with torch code; 0 gave something else." in done.stderr


def test_disable_holds_to_the_end_of_the_block():
    x = torch.randn(2, 8)
    with torch.no_grad():
        expected, operators = compute(ext.silu, [x])
        assert operators
        with mindiesd.disable("activation"):
            for _ in range(2):  # the second time nothing is repeated from C
                found, operators = compute(ext.silu, [x])
                assert not operators
                torch.testing.assert_close(found, expected)
            assert compute(lambda x: ext.rms_norm(x, x[0]), [x])[1]
            with mindiesd.disable("norm"):
                assert not compute(ext.silu, [x])[1]
                assert not compute(lambda x: ext.rms_norm(x, x[0]), [x])[1]
            with mindiesd.disable():
                assert compute(ext.silu, [x])[1]
            assert not compute(ext.silu, [x])[1]
        assert compute(ext.silu, [x])[1]


def test_disable_holds_in_a_compiled_graph():
    torch._dynamo.reset()
    seen = []

    def backend(graph, _):
        seen.append([str(node.target) for node in graph.graph.nodes if node.op == "call_function"])
        return graph

    call = torch.compile(ext.silu, backend=backend, fullgraph=True)
    x = torch.randn(2, 8)
    with torch.no_grad():
        call(x)
        with mindiesd.disable("all"):
            call(x)
        call(x)
    assert len(seen) == 2
    assert any("mindiesd" in name for name in seen[0])
    assert not any("mindiesd" in name for name in seen[1])
    torch._dynamo.reset()


def test_disable_without_a_block():
    before = _forms._disabled
    try:
        mindiesd.disable("rotary", "softmax")
        assert _forms._disabled == before | {"rotary", "softmax"}
        mindiesd.disable("all")
        assert _forms._disabled == frozenset(_forms.FAMILIES)
        mindiesd.disable()
        assert _forms._disabled == frozenset()
    finally:
        _bisect._set_disabled(before)


def test_disable_refuses_other_families():
    for family in ("sofmax", None, 3, torch.ones(3), ["norm"]):
        with pytest.raises(ParametersInvalid, match="attention, norm, rotary, softmax, activation, all"):
            mindiesd.disable("norm", family)
