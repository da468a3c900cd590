"""Which calls a compiled graph has as operators and which as torch code, and that both compute the same in the
same layout."""

import pytest
import torch
from mindiesd import _forms, _ops, ext

SIZES = (2, 6, 4, 32)


def dense(dtype):
    return torch.randn(SIZES, dtype=dtype)


def transposed(dtype):
    return torch.randn(2, 4, 6, 32, dtype=dtype).transpose(1, 2)


def sliced(dtype):
    return torch.randn(2, 6, 4, 64, dtype=dtype)[..., 16:48]


def expanded(dtype):
    return torch.randn(2, 1, 4, 32, dtype=dtype).expand(SIZES)


def fused(x, branch, gate, weight, scale, shift, kind):
    return _forms.residual_norm(
        x, branch, gate, weight, None, scale, shift, 1e-5, kind, x.dtype, torch.float32, False, None, None
    )


OPERANDS = (dense, transposed, sliced, expanded)
VECTOR = torch.linspace(0.5, 2, 32)
GROUPS = {
    dtype: torch.nn.GroupNorm(2, 6, dtype=dtype).requires_grad_(requires_grad=False)
    for dtype in (torch.float32, torch.bfloat16)
}
ROOT = torch.nn.RMSNorm(32, eps=1e-5).requires_grad_(requires_grad=False)
CALLS = {
    "silu": lambda x: ext.silu(x),
    "layer_norm_along": lambda x: ext.layer_norm_along(x, -1, VECTOR),
    "upsample": lambda x: ext.upsample_nearest2x(x),
    "weighted_sum": lambda x: ext.weighted_sum([x, x.sin(), x.cos()], [0.5, -2, 1.5]),
    "gelu": lambda x: ext.gelu(x, "tanh"),
    "gated": lambda x: ext.gated(x, x.flip(0), "gelu"),
    "group_norm": lambda x: ext.group_norm(GROUPS[x.dtype], x, "silu"),
    "gelu into a slice": lambda x: ext.gelu(x, "tanh", out=x.new_empty(2, 6, 4, 64)[..., 32:]).clone(),
    "rms_norm": lambda x: ext.rms_norm(x, VECTOR, result_type="weight"),
    "rms_norm of torch": lambda x: ext.rms_norm(x, VECTOR.to(x.dtype), result_type="torch"),
    "add_rms_norm": lambda x: ext.add_rms_norm(x, x.flip(0), VECTOR.to(x.dtype)),
    "layer_norm": lambda x: ext.layer_norm(x, 32, VECTOR.to(x.dtype), eps=1e-5),
    "residual LayerNorm": lambda x: fused(x, x.flip(1), VECTOR, VECTOR, None, VECTOR, _ops.LAYER_NORM),
    "residual": lambda x: ext.residual(x, x.flip(0), VECTOR.to(x.dtype), gate_function="tanh"),
    "normed branch": lambda x: ext.residual(x, x.flip(0), branch_norm=ROOT),
    "norm_scale_shift": lambda x: ext.norm_scale_shift(ROOT, x, VECTOR, VECTOR, dtype=torch.float32),
    "residual RMSNorm": lambda x: fused(x, x.flip(1), None, None, VECTOR, None, _ops.RMS_NORM),
}  # fmt: skip


def traced(call, x, dynamic=False):
    """(result, whether an operator of ours is in the graph that torch.compile makes)."""
    graphs = []

    def keep(graph, inputs):
        graphs.append(graph)
        return graph.forward

    torch._dynamo.reset()
    result = torch.compile(call, backend=keep, fullgraph=True, dynamic=dynamic)(x)
    torch._dynamo.reset()
    return result, any(
        str(node.target).startswith("mindiesd.") for g in graphs for node in g.graph.nodes
    )


@pytest.fixture
def measured(monkeypatch):
    """The decisions for a CUDA device, made for the CPU."""
    monkeypatch.setattr(_forms, "DEVICES", ("cpu",))
    monkeypatch.setattr(_forms, "_choice", "measured")


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("operand", OPERANDS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("name", CALLS)
def test_the_plain_form_is_the_operator(measured, name, operand, dtype):
    x, call = operand(dtype), CALLS[name]
    expected = call(x)
    found, operators = traced(call, x)
    assert not operators
    several = isinstance(expected, tuple)
    for a, b in zip(*((t if several else (t,)) for t in (found, expected))):
        assert a.stride() == b.stride()
        torch.testing.assert_close(a, b, atol=1e-5, rtol=1.6e-2 if dtype == torch.bfloat16 else 1e-5)


@pytest.mark.parametrize("name", CALLS)
def test_devices_that_were_not_measured_keep_operators(name):
    assert traced(CALLS[name], dense(torch.float32))[1]


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize(
    "name, limit",
    [
        ("gelu", "ACTIVATION_OPERATORS_FROM"),
        ("gated", "ACTIVATION_OPERATORS_FROM"),
        ("rms_norm", "NORM_OPERATORS_FROM"),
        ("layer_norm", "NORM_OPERATORS_FROM"),
        ("residual LayerNorm", "NORM_OPERATORS_FROM"),
        ("normed branch", "NORM_OPERATORS_FROM"),
    ],
)
def test_large_operands_keep_operators(measured, monkeypatch, name, limit, dynamic):
    x = dense(torch.float32)
    for size, operators in ((x.numel(), True), (x.numel() + 1, False)):
        monkeypatch.setattr(_forms, limit, size)
        assert traced(CALLS[name], x, dynamic)[1] is operators


@pytest.mark.parametrize("name", ["silu", "residual", "group_norm"])
def test_what_is_plain_at_any_size(measured, monkeypatch, name):
    monkeypatch.setattr(_forms, "ACTIVATION_OPERATORS_FROM", 1)
    monkeypatch.setattr(_forms, "NORM_OPERATORS_FROM", 1)
    assert not traced(CALLS[name], dense(torch.float32))[1]


def test_sizes_that_the_trace_does_not_know(measured):
    if not hasattr(torch.fx.experimental.symbolic_shapes, "guard_or_true"):
        pytest.skip("torch before 2.7 cannot trace a comparison of sizes that it does not know")
    x = torch.randn(6, 8)
    torch._dynamo.decorators.mark_unbacked(x, 0)
    assert not traced(lambda x: ext.gelu(x), x, None)[1]


@pytest.mark.parametrize("choice, operators", [("operators", True), ("plain", False)])
def test_the_choice_is_the_users(measured, monkeypatch, choice, operators):
    monkeypatch.setattr(_forms, "_choice", choice)
    table = torch.randn(6, 1, 32)
    for call in (*CALLS.values(), lambda x: ext.rotary_position_embedding(x, table, table)):
        assert traced(call, dense(torch.float32))[1] is operators
