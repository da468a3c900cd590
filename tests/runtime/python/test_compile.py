"""Compiled graphs: every operator is traced whole, with sizes and numbers that vary and with CUDA graphs;
what the graph then calls is repeated from C."""

import sys
import threading

import mindiesd
import pytest
import torch
from mindiesd import _eager, _library, _ops, ext
from mindiesd.utils import ParametersInvalid
from torch._dynamo.testing import CompileCounterWithBackend
from torch.utils._pytree import tree_map

DEVICES = [
    "cpu",
    pytest.param(
        "cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
    ),
]


class Operands:
    """What the calls below are made of: x [B, S, 4, 16], a number, and modules."""

    def __init__(self, device):
        self.device = device
        self.norm = torch.nn.LayerNorm(16, device=device)
        self.root = torch.nn.RMSNorm(16, device=device)
        self.wide = torch.nn.RMSNorm(64, device=device)
        self.published = mindiesd.RMSNorm(16).to(device)
        self.typed = ext.TypedRMSNorm(16).to(device)
        self.weight = torch.randn(16, device=device)
        self.gelu, self.tanh = ext.GELU(), torch.nn.GELU("tanh")
        self.groups, self.silu = torch.nn.GroupNorm(4, 16, device=device), torch.nn.SiLU()
        self.linear = torch.nn.Linear(16, 16, device=device)
        self.int8 = ext.Int8Linear.of(self.linear)
        self.fast = mindiesd.get_activation_layer("gelu-fast")

    def x(self, batch, length):
        return torch.randn(batch, length, 4, 16, device=self.device)


def table(x):
    return x[0, :, :1].contiguous()


def phase(x):
    return torch.complex(table(x)[..., :8], table(x)[..., 8:])


def heads_first(x):
    return [x.transpose(1, 2)] * 3


def attention_into(x):
    """Attention of x [B, S, N, D] into its part of a wider tensor."""
    joined = x.new_zeros(*x.shape[:2], 96)
    ext.attention_forward(x, x, x, out=joined[..., 32:].unflatten(-1, (4, 16)))
    return joined


def into_slices(x, *calls):
    """What the calls write into the halves of a wider tensor."""
    joined = x.new_empty((*x.shape[:-1], 32))
    for place, call in zip((joined[..., :16], joined[..., 16:]), calls):
        call(x, place)
    return joined


CALLS = {
    "attention": lambda o, x, s: mindiesd.attention_forward(x, x, x),
    "scaled": lambda o, x, s: mindiesd.attention_forward(x, x, x, scale=s),
    "window": lambda o, x, s: ext.attention_forward(x, x, x, softcap=s, window_size=(2, 2)),
    "heads first": lambda o, x, s: ext.attention_forward(
        *heads_first(x), head_first=True, is_causal=True
    ),
    "mask": lambda o, x, s: ext.attention_forward(
        *heads_first(x), x[:, None, None, :, 0, 0] > 0, head_first=True
    ),
    "slopes": lambda o, x, s: ext.attention_forward(x, x, x, alibi_slopes=x[:, 0, :, 0]),
    "into a slice": lambda o, x, s: attention_into(x),
    "three dimensions": lambda o, x, s: ext.attention_forward(*[x[0]] * 3, head_first=True),
    "five dimensions": lambda o, x, s: ext.attention_forward(*[x[None]] * 3, head_first=True),
    "key lengths": lambda o, x, s: ext.attention_forward(
        x, x, x, key_lengths=(x[:, 0, 0, 0] > 0).int() + 1
    ),
    "packed": lambda o, x, s: ext.attention_forward_varlen(
        x[0], x[0], x[0], [0, 5], [0, 5], softmax_scale=s
    ),
    "rotary": lambda o, x, s: ext.rotary_position_embedding(x, table(x), table(x)),
    "published rotary": lambda o, x, s: mindiesd.rotary_position_embedding(
        x, table(x)[:, 0], table(x)[:, 0]
    ),
    "half tables": lambda o, x, s: ext.rotary_position_embedding(
        x, table(x)[..., :8], table(x)[..., 8:], result_type="float32"
    ),
    "complex": lambda o, x, s: ext.rotary_complex(x, phase(x)),
    "matrix": lambda o, x, s: ext.rotary_matrix(
        x, table(x).reshape(-1, 1, 4, 2, 2).repeat(1, 1, 2, 1, 1)
    ),
    "angles": lambda o, x, s: ext.rotary_angles(x.transpose(1, 2), x[0, :, 0, :8], scale=s),
    "rotary in place": lambda o, x, s: ext.rotary_position_embedding(
        x * 1, table(x), table(x), inplace=True
    ),
    "both": lambda o, x, s: ext.rotary_qk(x, x + 1, table(x), table(x)),
    "both in place": lambda o, x, s: ext.rotary_qk(x * 2, x + 1, phase(x), inplace=True),
    "normed": lambda o, x, s: ext.qk_norm_rotary(
        x, x, o.weight, None, table(x), table(x), eps=s
    ),
    "normed over heads": lambda o, x, s: ext.qk_norm_rotary(
        x, x, o.weight.repeat(4), None, table(x), table(x), eps=s, across_heads=True
    ),
    "norm and rotation": lambda o, x, s: ext.norm_rotary(o.root, x, table(x), table(x)),
    "norm and rotation over heads": lambda o, x, s: ext.norm_rotary(
        o.wide, x, phase(x), heads=2, strides="x"
    ),
    "joint heads": lambda o, x, s: ext.joint_heads(
        *[x] * 6, o.root, o.root, cos=x[0, :, :1], sin=x[1, :, :1],
    ),
    "joint heads, joint tables": lambda o, x, s: ext.joint_heads(
        *[x.transpose(1, 2)] * 6, o.norm, None, o.norm, o.norm, phase(x.repeat(1, 2, 1, 1))[:, 0],
        joint_tables=True, head_first=True,
    ),
    "rms_norm": lambda o, x, s: ext.rms_norm(x, o.weight, s),
    "rms_norm as torch": lambda o, x, s: ext.rms_norm(x, o.weight, s, result_type="torch"),
    "rms_norm, no eps": lambda o, x, s: ext.rms_norm(x, o.weight, None, result_type="input"),
    "RMSNorm": lambda o, x, s: o.published(x),
    "torch's RMSNorm": lambda o, x, s: ext.residual_norm(o.root, x, x, x[:, :1, :1]),
    "TypedRMSNorm": lambda o, x, s: o.typed(x),
    "add_rms_norm": lambda o, x, s: ext.add_rms_norm(x, x, o.weight, s),
    "layer_norm": lambda o, x, s: ext.layer_norm(x, 16, o.weight, o.weight, s),
    "layer_norm over two": lambda o, x, s: ext.layer_norm(x, (4, 16), eps=s),
    "fast_layernorm": lambda o, x, s: mindiesd.fast_layernorm(o.norm, x),
    "modulated": lambda o, x, s: mindiesd.layernorm_scale_shift(
        o.norm, x[:, :, 0], x[:, 0, 0], x[:, 0, 0]
    ),
    "modulated as float32": lambda o, x, s: ext.layernorm_scale_shift(
        o.norm, x, o.weight, o.weight, norm_type="float32"
    ),
    "modulated by numbers": lambda o, x, s: ext.layernorm_scale_shift(o.norm, x, s, s),
    "residual_norm": lambda o, x, s: ext.residual_norm(
        o.norm, x, x, x[:, :1, :1], o.weight, o.weight
    ),
    "residual": lambda o, x, s: ext.residual(x, x, x[:, :1, :1], gate_function="tanh"),
    "residual of a normed branch": lambda o, x, s: ext.residual(x, x, branch_norm=o.root),
    "modulated RMSNorm": lambda o, x, s: ext.norm_scale_shift(
        o.root, x, o.weight, o.weight, dtype=torch.bfloat16
    ),
    "every part": lambda o, x, s: ext.residual_norm(
        o.typed, x, x, o.weight, x[:, :1], gate_function="tanh", branch_norm=o.typed,
        branch_rms_type="promoted", rms_type="promoted", sum_dtype=torch.float16,
    ),
    "softmax": lambda o, x, s: ext.softmax(
        x, scale=s, bias=o.weight, mask=x > 0, clamp_min=-s, mask_value=-s, subtract="global"
    ),
    "gelu": lambda o, x, s: ext.gelu(x),
    "silu": lambda o, x, s: ext.silu(x),
    "layer_norm_along": lambda o, x, s: ext.layer_norm_along(x, -1, x[0, 0, 0], eps=1e-6),
    "layer_norm_along channels": lambda o, x, s: ext.layer_norm_along(x.permute(0, 3, 1, 2), 1, x[0, 0, 0, :, None, None]),
    "upsample": lambda o, x, s: ext.upsample_nearest2x(x),
    "weighted_sum": lambda o, x, s: ext.weighted_sum([x, x.sin(), x.cos()], [0.5, -2, 1.5], divisor=3),
    "weighted_sum by a number": lambda o, x, s: ext.weighted_sum([x, x.sin(), x.cos()], [s, -2, 1.5]),
    "gated": lambda o, x, s: ext.gated(x, x, "silu"),
    "glu": lambda o, x, s: ext.glu(x, "gelu"),
    "gelu into a slice": lambda o, x, s: into_slices(
        x, lambda x, out: ext.gelu(x, "tanh", out=out), lambda x, out: ext.gated(x, x, "silu", out=out)
    ),
    "group_norm": lambda o, x, s: ext.group_norm(o.groups, x.permute(0, 3, 1, 2), "silu"),
    "group_norm over channels last": lambda o, x, s: ext.group_norm(
        o.groups, x.permute(0, 3, 1, 2), o.silu, strides="x"
    ),
    "group_norm of tokens": lambda o, x, s: ext.group_norm(o.groups, x[:, :, 0].transpose(1, 2)),
    "int8 linear": lambda o, x, s: o.int8(x),
    "linear": lambda o, x, s: ext.linear_activation(o.linear, x, "gelu-tanh"),
    "linear behind another tensor": lambda o, x, s: (
        ext.linear_activation(o.linear, x, o.tanh, after=x),
        ext.linear_activation(o.linear, x, "silu", after=x),
    ),
    "linear, gated": lambda o, x, s: ext.linear_activation(o.linear, x, "silu", gate="first"),
    "linear into a slice": lambda o, x, s: into_slices(
        x,
        lambda x, out: ext.linear_activation(o.linear, x, o.tanh, out=out),
        lambda x, out: ext.linear_activation(o.linear, x, "silu", out=out),
    ),
    "GELU": lambda o, x, s: o.gelu(x),
    "activation layer": lambda o, x, s: o.fast(x),
}  # fmt: skip


@pytest.fixture
def compiling():
    torch._dynamo.reset()
    yield torch.compile
    torch._dynamo.reset()


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("device", DEVICES)
def test_sizes_and_numbers_vary(compiling, device, name):
    """One graph serves every size. torch makes a number that reaches an operator a part of the graph."""
    operands, call = Operands(device), CALLS[name]
    counted = CompileCounterWithBackend("aot_eager")
    compiled = compiling(call, fullgraph=True, dynamic=True, backend=counted)
    frames = []
    for batch, length, number in ((2, 5, 0.5), (3, 7, 0.5), (4, 9, 0.5), (3, 7, 1.5)):
        x = operands.x(batch, length)
        torch.testing.assert_close(compiled(operands, x, number), call(operands, x, number))
        frames.append(counted.frame_count)
    assert frames[0] == frames[1] == frames[2]


def everything(operands, x, number):
    return {name: call(operands, x, number) for name, call in CALLS.items()}


@pytest.mark.parametrize("options", [{"dynamic": True}, {"mode": "reduce-overhead"}])
@pytest.mark.parametrize("device", DEVICES)
def test_inductor_compiles_whole(compiling, device, options):
    """With CUDA graphs the first call warms up, the second one records and the others repeat."""
    operands = Operands(device)
    compiled = compiling(everything, fullgraph=True, **options)
    lengths = (5, 7) if "dynamic" in options else (5,) * 4
    for length in lengths:
        x = operands.x(2, length)
        torch.compiler.cudagraph_mark_step_begin()
        found = tree_map(torch.clone, compiled(operands, x, 0.5))
        torch.testing.assert_close(found, everything(operands, x, 0.5), atol=1e-5, rtol=1e-4)


def repeats(call, arguments):
    """How often Python calls the library while an operator is called three times more."""
    counts = []
    original = _library.Operation.__call__
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            _library.Operation, "__call__", lambda *a, **k: counts.append(1) or original(*a, **k)
        )
        results = [call(*arguments()) for _ in range(3)]
    return len(counts), results


needs_c = pytest.mark.skipif(not _ops.REPEATED, reason="torch before 2.10, or without the library")
OPERATORS = {
    "rms_norm": (
        lambda x, w: _ops.rms_norm(x, w, None, 1e-6, *[torch.float32] * 3, 0),
        lambda x, w: ext.rms_norm(x, w),
    ),
    "in place": (
        lambda x, w: (_ops.rotary_position_embedding_(x, w[None], w[None], False), x)[1],
        lambda x, w: ext.rotary_position_embedding(x, w, w),
    ),
    "two results": (
        lambda x, w: _ops.residual_norm(
            x, x, w, None, None, w, w, 1e-5, _ops.LAYER_NORM, torch.float32, torch.float32, False, None,
            None,
        ),
        lambda x, w: ext.residual_norm(torch.nn.LayerNorm(16), x, x, w, w, w),
    ),
    "optional numbers": (
        lambda x, w: _ops.softmax(x, -1, 1.0, w, 0, -0.5, None, None, 0.0, torch.float32),
        lambda x, w: ext.softmax(x, bias=w, clamp_min=-0.5),
    ),
}


@needs_c
@pytest.mark.parametrize("name", OPERATORS)
def test_calls_in_graphs_repeat_from_c(name):
    """New tensors at other addresses each time."""
    _eager.forget()
    call, function = OPERATORS[name]
    made = [(torch.randn(2, 5, 4, 16), torch.randn(16)) for _ in range(4)]
    expected = [function(x.clone(), w) for x, w in made]
    call(*(t.clone() for t in made[0]))
    given = iter([(x.clone(), w) for x, w in made[1:]])
    in_python, found = repeats(call, lambda: next(given))
    assert in_python == 0
    torch.testing.assert_close(found, expected[1:])


@needs_c
def test_which_operands_are_one_is_part_of_a_call_in_a_graph():
    a, b = torch.randn(2, 3, 5, 8), torch.randn(2, 3, 5, 8)
    _eager.forget()
    for operands in ((a, a, a), (a, b, a), (b, a, a), (a, a, b), (a, b, b), (b, b, b)) * 2:
        found = _ops.attention_forward(*operands, None, 0.3, True, 0, -1, -1, 0.0, None, 1, False)
        wanted = torch.nn.functional.scaled_dot_product_attention(*operands, scale=0.3)
        torch.testing.assert_close(found, wanted)


@needs_c
def test_operators_give_back_what_they_were_given():
    """A call in a graph leaves no reference: neither to operands nor to results."""
    x, w = torch.randn(2, 5, 4, 16), torch.randn(16)
    for call, _ in OPERATORS.values():
        call(x.clone(), w)
        operands = [x.clone(), w.clone()]
        addresses = [sys.getrefcount(t) for t in operands]
        shares = [t._use_count() for t in operands]
        for _ in range(3):
            call(*operands)
        assert [sys.getrefcount(t) for t in operands] == addresses
        assert [t._use_count() for t in operands] == shares
    result = OPERATORS["rms_norm"][0](x, w)
    assert (sys.getrefcount(result), result._use_count()) == (2, 1)


@needs_c
def test_errors_in_graphs_leave_the_operator_usable():
    x = torch.randn(2, 5, 4, 8)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="even last dimension"):
            _ops.rotary_position_embedding(x[..., :7], x, x, False, torch.float32, 0)
        found = _ops.rotary_position_embedding(x, x, x, False, torch.float32, 0)
        assert torch.equal(found, ext.rotary_position_embedding(x, x, x))
    repeated = torch.randn(1, 5, 1, 8).expand(2, 5, 4, 8)
    for _ in range(2):  # Python's error where a function called the operator
        with pytest.raises(ParametersInvalid, match="share memory"):
            ext.rotary_position_embedding(repeated, x, x, inplace=True)


@needs_c
def test_operators_are_called_by_many_threads():
    x, w = torch.randn(2, 5, 4, 16), torch.randn(16)
    expected = ext.rms_norm(x, w)
    call, wrong = OPERATORS["rms_norm"][0], []

    def work():
        for i in range(200):
            if i % 50 == 0:
                _eager.forget()
            if not torch.equal(call(x, w), expected):
                wrong.append(i)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
