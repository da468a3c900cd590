"""Where a derivative is wanted torch code computes, with the operator's result and layout; and families that
MINDIESD_DISABLE names do without operators."""

import logging

import mindiesd
import pytest
import torch
from mindiesd import _forms, ext
from torch.autograd import gradcheck
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

torch.manual_seed(0)
B, S, N, D = 2, 5, 4, 8
TABLE = torch.randn(S, 1, D).double()
HALF_TABLE = torch.randn(S, 1, D // 2).double()
MASK = (torch.rand(B, 1, S, S) > 0.4).index_fill(2, torch.tensor([1]), False)
WEIGHT = torch.rand(D).double() + 0.5
GROUPS = torch.nn.GroupNorm(2, 6, dtype=torch.float64)
LINEAR = {dtype: torch.nn.Linear(D, D, dtype=dtype) for dtype in (torch.float32, torch.float64)}


def heads(*more):
    return ((B, S, N, D), *more)


def layer():
    return torch.nn.LayerNorm(D, dtype=torch.float64)


def root():
    return torch.nn.RMSNorm(D, eps=1e-5, dtype=torch.float64)


def fused(norm, x, scale, shift):
    return mindiesd.layernorm_scale_shift(norm, x, scale, shift)


# name: (family, function of the operands, their shapes)
CALLS = {
    "attention": ("attention", lambda q, k, v: mindiesd.attention_forward(q, k, v), heads(*heads(*heads()))),
    "attention into a slice": (
        "attention",
        lambda q, k, v: (
            joined := q.new_zeros(B, S, N * D + 3),
            ext.attention_forward(q, k, v, out=joined[..., 3:].unflatten(-1, (N, D))),
        )[0],
        heads(*heads(*heads())),
    ),
    "causal": (
        "attention",
        lambda q, k, v: ext.attention_forward(q, k, v, is_causal=True, window_size=(2, -1), softcap=3.0),
        ((B, S, N, D), (B, S, 2, D), (B, S, 2, D)),
    ),
    "boolean mask": (
        "attention",
        lambda q, k, v: ext.attention_forward(q, k, v, MASK, head_first=True),
        ((B, N, S, D),) * 3,
    ),
    "added mask": (
        "attention",
        lambda q, m: ext.attention_forward(q, q, q, m, head_first=True),
        ((B, N, S, D), (1, N, S, S)),
    ),
    "packed": (
        "attention",
        lambda q, k, v: ext.attention_forward_varlen(q, k, v, [0, 2, 5], [0, 3, 5], causal=True),
        ((S, N, D),) * 3,
    ),
    "rotary": ("rotary", lambda x, c: ext.rotary_position_embedding(x, c, TABLE), ((B, S, N, D), (S, 1, D))),
    "rotary in place": (
        "rotary",
        lambda x: ext.rotary_position_embedding(x * 1, TABLE, TABLE, inplace=True),
        heads(),
    ),
    "rotary_qk": ("rotary", lambda q, k: ext.rotary_qk(q, k, TABLE, TABLE), heads(*heads())),
    "rotary_qk in place": (
        "rotary",
        lambda q, k: ext.rotary_qk(q * 1, k * 1, TABLE, TABLE, inplace=True),
        heads(*heads()),
    ),
    "qk_norm_rotary": (
        "rotary",
        lambda q, k, w: ext.qk_norm_rotary(q, k, w, None, TABLE, TABLE),
        heads(*heads((D,))),
    ),
    "norm_rotary": (
        "rotary",
        lambda q: ext.norm_rotary(root(), q, TABLE, TABLE),
        heads(),
    ),
    "norm_cat": ("rotary", lambda q, k: ext.norm_cat((layer(), None), [q, k], 1), heads(*heads())),
    "joint_heads": (
        "rotary",
        lambda q, k, v: ext.joint_heads(q, k, v, v, q, k, layer(), None, layer(), None, TABLE, TABLE),
        heads(*heads(*heads())),
    ),
    "rms_norm": ("norm", lambda x, w: ext.rms_norm(x, w), ((B, S, D), (D,))),
    "add_rms_norm": ("norm", lambda x, r, w: ext.add_rms_norm(x, r, w), ((B, S, D), (B, S, D), (D,))),
    "layer_norm": ("norm", lambda x, w, b: ext.layer_norm(x, D, w, b), ((B, S, D), (D,), (D,))),
    "layernorm_scale_shift": ("norm", lambda x, a, b: fused(layer(), x, a, b), ((B, S, D), (B, D), (B, D))),
    "fast_layernorm": ("norm", lambda x: mindiesd.fast_layernorm(layer(), x), ((B, S, D),)),
    "residual_norm": (
        "norm",
        lambda x, y, g, a: ext.residual_norm(layer(), x, y, g, a, a),
        ((B, S, D), (B, S, D), (B, 1, D), (B, 1, D)),
    ),
    "residual_norm of a normed branch": (
        "norm",
        lambda x, y, g: ext.residual_norm(layer(), x, y, g, gate_function="tanh", branch_norm=root()),
        ((B, S, D), (B, S, D), (B, 1, D)),
    ),
    "residual": (
        "norm",
        lambda x, y, g: ext.residual(x, y, g, gate_function="tanh", branch_norm=root()),
        ((B, S, D), (B, S, D), (B, 1, D)),
    ),
    "norm_scale_shift": (
        "norm",
        lambda x, a, b: ext.norm_scale_shift(root(), x, a, b),
        ((B, S, D), (B, 1, D), (B, 1, D)),
    ),
    "group_norm": (
        "norm",
        lambda x: ext.group_norm(GROUPS, x, "silu"),
        ((B, 6, S, D),),
    ),
    "softmax": (
        "softmax",
        lambda x, b: ext.softmax(x, bias=b, subtract="row", clamp_min=-4.0),
        ((B, S, D), (D,)),
    ),
    "gelu": ("activation", lambda x: ext.gelu(x), ((B, D),)),
    "quick gelu": ("activation", lambda x: ext.gelu(x, "fast"), ((B, D),)),
    "silu": ("activation", lambda x: ext.silu(x), ((B, D),)),
    "gated": ("activation", lambda x, g: ext.gated(x, g, "gelu-tanh"), ((B, D), (B, D))),
    "glu": ("activation", lambda x: ext.glu(x, "silu"), ((B, D),)),
    "gelu into a slice": (
        "activation",
        lambda x: (joined := x.new_zeros(B, 2 * D), ext.gelu(x, out=joined[:, D:]))[0],
        ((B, D),),
    ),
    "linear": ("activation", lambda x: ext.linear_activation(LINEAR[x.dtype], x, "gelu-tanh"), ((B, S, D),)),
    "linear into a slice": (
        "activation",
        lambda x: (
            joined := x.new_zeros(B, 2 * D),
            ext.linear_activation(LINEAR[x.dtype], x, "gelu-tanh", out=joined[:, D:]),
        )[0],
        ((B, D),),
    ),
}  # fmt: skip


class Operators(TorchDispatchMode):
    """Our operators that ran."""

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        if function.namespace == "mindiesd":
            self.seen.append(function.name())
        return function(*args, **(kwargs or {}))

    def __enter__(self):
        self.seen = []
        return super().__enter__()


def operands(shapes, dtype=torch.float64):
    return [torch.randn(shape, dtype=dtype) for shape in shapes]


def compute(call, given):
    """(results, our operators that computed them)."""
    with Operators() as operators:
        results = tree_leaves(call(*given))
    return results, operators.seen


@pytest.mark.parametrize("name", CALLS)
def test_gradients_and_tangents(name):
    _, call, shapes = CALLS[name]
    given = operands(shapes)
    with torch.enable_grad():
        for operand in given:
            operand.requires_grad_()
        assert gradcheck(call, given, check_forward_ad="in place" not in name)


@pytest.mark.parametrize("name", CALLS)
def test_the_result_is_the_operators(name):
    _, call, shapes = CALLS[name]
    given = operands(shapes)
    expected, operators = compute(call, given)
    assert operators
    for changed in given:
        with torch.enable_grad():
            wanted = [t.clone().requires_grad_() if t is changed else t for t in given]
            found, operators = compute(call, wanted)
        assert not operators
        assert any(t.requires_grad for t in found)
        for a, b in zip(found, expected):
            assert (a.dtype, a.stride()) == (b.dtype, b.stride())
            torch.testing.assert_close(a, b)
        with torch.no_grad():
            assert compute(call, wanted)[1]


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("family", _forms.FAMILIES)
def test_disabled_families(monkeypatch, name, family):
    own, call, shapes = CALLS[name]
    given = operands(shapes, torch.float32 if own != "norm" else torch.float64)
    expected, _ = compute(call, given)
    monkeypatch.setattr(_forms, "_disabled", frozenset({family}))
    found, operators = compute(call, given)
    normed = family == "norm" and name in ("qk_norm_rotary", "norm_rotary", "norm_cat", "joint_heads")
    assert bool(operators) is (family != own and not normed)
    for a, b in zip(found, expected):
        assert a.stride() == b.stride()
        torch.testing.assert_close(a, b)


def test_a_query_without_a_key_has_no_gradient():
    q, k, v = (t.requires_grad_() for t in operands(((B, N, S, D),) * 3))
    with torch.enable_grad():
        ext.attention_forward(q, k, v, MASK, head_first=True).square().sum().backward()
    for gradient in (q.grad, k.grad, v.grad):
        assert torch.isfinite(gradient).all()
    assert (q.grad[:, :, 1] == 0).all()
    assert (q.grad[:, :, 0] != 0).any()


def test_compiled_code_has_gradients():
    torch._dynamo.reset()
    x = torch.randn(B, S, D, requires_grad=True)
    norm = torch.nn.LayerNorm(D)

    def call(x):
        return mindiesd.layernorm_scale_shift(norm, ext.silu(x), x, x).square().sum()

    with torch.enable_grad():
        torch.compile(call, fullgraph=True, backend="aot_eager")(x).backward()
        found, x.grad = x.grad, None
        call(x).backward()
    torch.testing.assert_close(found, x.grad)
    torch._dynamo.reset()


def test_the_environment_names_families(monkeypatch):
    for text, families in (
        ("", ()),
        ("attention, norm", ("attention", "norm")),
        ("all", _forms.FAMILIES),
    ):
        monkeypatch.setenv("MINDIESD_DISABLE", text)
        assert _forms._read_environment()[1] == frozenset(families)
    monkeypatch.setenv("MINDIESD_DISABLE", "rotary,sofmax")
    with pytest.raises(ValueError, match="names 'sofmax'"):
        _forms._read_environment()
    monkeypatch.setenv("MINDIESD_DISABLE", "")
    monkeypatch.setenv("MINDIESD_COMPILED", "never")
    with pytest.raises(ValueError, match="measured, operators, plain, but is 'never'"):
        _forms._read_environment()


def test_why_torch_computes_is_said_once(monkeypatch, caplog):
    monkeypatch.setattr(_forms, "_said", False)
    x = torch.randn(2, 8, requires_grad=True)
    with caplog.at_level(logging.WARNING), torch.enable_grad():
        monkeypatch.setattr(_forms.logger, "propagate", True)
        ext.gelu(x)
        ext.silu(x)
    assert [r.message for r in caplog.records if "requires grad" in r.message] == [
        "torch code computes what the kernels do not, since an operand requires grad; run inference "
        "under torch.no_grad() or torch.inference_mode()."
    ]
