"""Calls that repeat go around Python: the same results, and nothing that torch adds is passed by."""

import os
import subprocess
import sys
import threading

import mindiesd
import pytest
import torch
from mindiesd import _eager, _library, _ops, ext
from mindiesd.utils import ParametersInvalid
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

pytestmark = pytest.mark.skipif(not _eager.available, reason="without libmindiesd_python.so")


@pytest.fixture(autouse=True)
def fresh():
    _eager.forget()


def table(*shape):
    return torch.randn(*shape)


def packed():
    """Query, key and value as slices of one tensor."""
    return torch.randn(2, 7, 3, 4, 16).unbind(2)


NORM = torch.nn.LayerNorm(16)
ROOT = torch.nn.RMSNorm(16, eps=1e-6)
TYPED = ext.TypedRMSNorm(16, result_type="weight").bfloat16()


class Other(torch.nn.Module):
    """An RMSNorm by the attributes that other packages give theirs."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(16))
        self.eps = 1e-5


OTHER = Other()
GRID = torch.polar(torch.ones(4, 8), torch.randn(4, 8))
GROUPS = torch.nn.GroupNorm(4, 8)
WEIGHT = torch.randn(16)
# name: (makes the arguments anew, call)
CALLS = {
    "attention": (lambda: [torch.randn(2, 7, 4, 16) for _ in range(3)], mindiesd.attention_forward),
    "packed": (packed, mindiesd.attention_forward),
    "into a slice": (
        lambda: [*packed(), torch.empty(2, 7, 80)],
        lambda q, k, v, joined: mindiesd.ext.attention_forward(
            q, k, v, out=joined[..., 16:].unflatten(-1, (4, 16))
        ).clone(),
    ),
    "mask": (
        lambda: [*packed(), torch.rand(2, 1, 7, 7) > 0.3],
        lambda q, k, v, m: ext.attention_forward(q, k, v, m, 0.3),
    ),
    "two-dimensional mask": (
        lambda: [*packed(), torch.rand(2, 7) > 0.3],
        lambda q, k, v, m: ext.attention_forward(q, k, v, m, mask_2d="batch_key"),
    ),
    "head first": (
        lambda: [torch.randn(2, 7, 4, 16).transpose(1, 2) for _ in range(3)],
        lambda q, k, v: ext.attention_forward(
            q, k, v, head_first=True, is_causal=True, window_size=(3, None)
        ),
    ),
    "packed sequences": (
        lambda: [*torch.randn(9, 3, 4, 16).unbind(1), torch.tensor([0, 2, 9], dtype=torch.int32)],
        lambda q, k, v, starts: mindiesd.attention_forward_varlen(
            q, k, v, starts, starts, causal=True
        ),
    ),
    "rotary": (
        lambda: [torch.randn(2, 7, 4, 16), table(7, 1, 16), table(7, 1, 16)],
        ext.rotary_position_embedding,
    ),
    "published rotary": (
        lambda: [torch.randn(2, 7, 4, 16), table(7, 16), table(7, 16)],
        lambda x, c, s: mindiesd.rotary_position_embedding(x, c, s, "rotated_interleaved"),
    ),
    "complex": (
        lambda: [torch.randn(2, 7, 4, 16), torch.complex(table(7, 1, 8), table(7, 1, 8))],
        ext.rotary_complex,
    ),
    "matrix": (lambda: [torch.randn(2, 7, 4, 16), table(7, 1, 8, 2, 2)], ext.rotary_matrix),
    "both": (
        lambda: [*packed()[:2], WEIGHT, WEIGHT.clone(), table(7, 1, 8), table(7, 1, 8)],
        ext.qk_norm_rotary,
    ),
    "normed": (
        lambda: [packed()[0], table(7, 1, 8), table(7, 1, 8)],
        lambda q, cos, sin: ext.norm_rotary(ROOT, q, cos, sin),
    ),
    "joint": (
        lambda: [*packed(), *packed(), table(7, 1, 8), table(7, 1, 8)],
        lambda q, k, v, a, b, c, cos, sin: ext.joint_heads(
            q, k, v, a, b, c, ROOT, ROOT, cos=cos, sin=sin
        ),
    ),
    "rms_norm": (lambda: [torch.randn(2, 7, 16), torch.randn(16)], ext.rms_norm),
    "rms_norm parts": (
        lambda: [torch.randn(2, 7, 32)[..., 16:].bfloat16(), torch.randn(16)],
        lambda x, w: ext.rms_norm(x, w, 1e-5, bias=None, result_type="input"),
    ),
    "scale and shift": (
        lambda: [torch.randn(2, 7, 16), torch.randn(2, 16), torch.randn(2, 16)],
        lambda x, a, b: mindiesd.layernorm_scale_shift(NORM, x, a, b),
    ),
    "residual": (
        lambda: [torch.randn(2, 7, 16), torch.randn(2, 7, 16), torch.randn(2, 1, 16)],
        lambda x, y, g: ext.residual_norm(NORM, x, y, g, g),
    ),
    "residual of a norm": (
        lambda: [torch.randn(2, 7, 16).bfloat16(), torch.randn(2, 7, 16).bfloat16(), torch.randn(2, 1, 16)],
        lambda x, y, g: ext.residual_norm(
            OTHER, x, y, g, g, gate_function="tanh", branch_norm=TYPED, rms_type="promoted",
            input_dtype="float32", sum_dtype=torch.bfloat16, dtype="sum",
        ),
    ),
    "residual alone": (
        lambda: [torch.randn(2, 1, 16), torch.randn(2, 7, 16), torch.randn(2, 7, 16)],
        lambda g, x, y: ext.residual(x, g, y),  # the gate and the branch change places
    ),
    "norm of another class": (
        lambda: [torch.randn(2, 7, 16).bfloat16(), torch.randn(2, 1, 16)],
        lambda x, a: ext.norm_scale_shift(OTHER, x, a, rms_type="weight", input_dtype="float32", strides="x"),
    ),
    "softmax": (
        lambda: [torch.randn(2, 7, 9), torch.randn(9)],
        lambda x, b: ext.softmax(x, 1, scale=0.5, bias=b[None], subtract="row", clamp_min=-2.0),
    ),
    "layer norm along": (
        lambda: [torch.randn(2, 7, 9), torch.randn(9)],
        lambda x, w: ext.layer_norm_along(x, -1, w, w, 1e-6),
    ),
    "upsample": (lambda: [torch.randn(2, 3, 7, 9)], ext.upsample_nearest2x),
    "weighted sum": (
        lambda: [torch.randn(2, 7, 9), torch.randn(2, 7, 9), torch.randn(2, 7, 9)],
        lambda x, y, z: ext.weighted_sum([x, y, z], [0.5, -2, 1.5], divisor=3),
    ),
    "int8 linear": (
        lambda: [torch.randn(2, 7, 9), torch.randint(-127, 128, (4, 9), dtype=torch.int8), torch.rand(4)],
        lambda x, weight, scales: ext.int8_linear(x, weight, scales),
    ),
    "gelu": (lambda: [torch.randn(2, 7, 9).transpose(0, 1)], lambda x: ext.gelu(x, "tanh")),
    "grid": (
        lambda: [torch.randn(1, 9, 2, 16), torch.tensor([[1, 2, 3]])],
        lambda x, sizes: ext.rotary_grid(x, GRID, sizes),
    ),
    "group_norm": (lambda: [torch.randn(2, 8, 4, 4)], lambda x: ext.group_norm(GROUPS, x, "silu")),
    "gelu into a slice": (
        lambda: [torch.randn(2, 7, 9), torch.empty(2, 7, 20)],
        lambda x, joined: ext.gelu(x, "tanh", out=joined[..., 11:]).clone(),
    ),
    "glu": (lambda: [torch.randn(2, 7, 10)], lambda x: ext.glu(x, "silu", gate="first")),
}


class Seen(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.names.append(function._schema.name)
        return function(*args, **(kwargs or {}))


@pytest.fixture
def in_python(monkeypatch):
    """Counts the calls that Python makes of the library."""
    counts = []
    original = _library.Operation.__call__
    monkeypatch.setattr(
        _library.Operation,
        "__call__",
        lambda self, *a, **k: counts.append(self.name) or original(self, *a, **k),
    )
    return counts


def flat(result):
    return result if isinstance(result, tuple) else (result,)


@pytest.mark.parametrize("name", CALLS)
def test_repeated_calls_compute_the_same(name, in_python):
    make, call = CALLS[name]
    call(*make())
    assert len(in_python) == 1
    for _ in range(3):
        arguments = make()
        for found in (call(*arguments), call(*arguments)):
            with Seen() as seen:  # goes through the operator
                wanted = call(*arguments)
            assert any(n.startswith("mindiesd::") for n in seen.names)
            for f, w in zip(flat(found), flat(wanted), strict=True):
                assert torch.equal(f, w)
                assert (f.dtype, f.stride(), f.shape) == (w.dtype, w.stride(), w.shape)
    # The first, and of those that the mode saw the first, or all.
    assert len(in_python) == 1 + (1 if _ops.REPEATED else 6)


@pytest.mark.parametrize(
    "change",
    [
        lambda q: q[:1],
        lambda q: q.half(),
        lambda q: q.transpose(1, 2).contiguous().transpose(1, 2),
        lambda q: q[..., :8],
        lambda q: q[:, :0],
    ],
)
def test_other_metadata_is_another_call(change, in_python):
    q = torch.randn(2, 7, 4, 16)
    mindiesd.attention_forward(q, q, q)
    x = change(q)
    found = mindiesd.attention_forward(x, x, x)
    assert len(in_python) == 2
    assert (found.shape, found.dtype) == (x.shape, x.dtype)


def test_other_scalars_are_another_call(in_python):
    x = torch.randn(2, 7)
    for eps in (1e-6, 1e-5, 1, True):
        expected = x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps)
        torch.testing.assert_close(ext.rms_norm(x, None, eps), expected)
    assert len(in_python) == 4


def test_operands_that_share_memory_are_told_apart():
    """What one call passes twice, another may pass as two tensors of the same kind."""
    a, b = torch.randn(7, 16), torch.randn(7, 16)
    x = torch.randn(2, 7, 4, 16)
    wanted = mindiesd.rotary_position_embedding(x, a, b)
    _eager.forget()
    for _ in range(3):
        mindiesd.rotary_position_embedding(x, a, a)
    assert torch.equal(mindiesd.rotary_position_embedding(x, a, b), wanted)
    assert torch.equal(mindiesd.rotary_position_embedding(x, a, b), wanted)


@pytest.mark.parametrize("first", ["aaa", "aba", "abb", "abc"])
@pytest.mark.parametrize("second", ["aaa", "aab", "aba", "abb", "abc"])
def test_which_operands_are_one_is_part_of_a_call(first, second):
    made = {name: torch.randn(2, 3, 5, 8) for name in "abc"}
    for names in (first, first, second, second):
        operands = [made[name] for name in names]
        wanted = torch.nn.functional.scaled_dot_product_attention(*operands)
        found = mindiesd.attention_forward(*operands, head_first=True)
        torch.testing.assert_close(found, wanted)


def test_one_modulation_for_two_places(in_python):
    """Gate and scale are brought into shape from one tensor, or from two."""
    x, y, a, b = (torch.randn(2, 5, 16), torch.randn(2, 5, 16), *torch.randn(2, 2, 16).clone())
    for gate, scale in ((a, a), (a, a), (a, b), (a, b), (b, a)):
        total, normal = ext.residual_norm(NORM, x, y, gate[:, None], scale[:, None])
        wanted = x + gate[:, None] * y
        torch.testing.assert_close(total, wanted)
        torch.testing.assert_close(normal, NORM(wanted) * (1 + scale[:, None]))


def test_numbers_in_tensors_are_read_each_time():
    q = torch.randn(2, 7, 4, 16)
    for value in (0.5, 0.5, 0.1, 2.0):
        number = torch.tensor(value)
        found = ext.attention_forward(q, q, q, scale=number)
        torch.testing.assert_close(found, ext.attention_forward(q, q, q, scale=value))
        found = ext.rms_norm(q, None, number)
        torch.testing.assert_close(found, ext.rms_norm(q, None, value))
        causal = torch.tensor(value > 0.3)
        found = ext.attention_forward(q, q, q, is_causal=causal)
        wanted = ext.attention_forward(q, q, q, is_causal=value > 0.3)
        torch.testing.assert_close(found, wanted)


def test_starts_of_sequences_are_read_each_time(in_python):
    q = torch.randn(9, 4, 16)
    for starts in ([0, 4, 9], [0, 1, 9], [0, 9, 9]):
        tensor = torch.tensor(starts, dtype=torch.int32)
        wanted = mindiesd.attention_forward_varlen(q, q, q, starts, starts)
        found = mindiesd.attention_forward_varlen(q, q, q, tensor, tensor)
        torch.testing.assert_close(found, wanted)
    with pytest.raises(ParametersInvalid, match="entry 1 is 10"):
        wrong = torch.tensor([0, 10, 9], dtype=torch.int32)
        mindiesd.attention_forward_varlen(q, q, q, wrong, wrong)
    # The lists, of which the operator repeats the second and third; the first tensor, the refusal.
    assert len(in_python) == (1 if _ops.REPEATED else 3) + 1 + 1


def test_slices_of_one_tensor(in_python):
    """Tables that lie in one tensor, brought into shape before the launch."""
    x = torch.randn(2, 7, 4, 16)
    for _ in range(3):
        cos, sin = torch.randn(2, 7, 16)
        found = mindiesd.rotary_position_embedding(x, cos, sin)
        wanted = ext.rotary_position_embedding(x, cos.clone()[:, None], sin.clone()[:, None])
        assert torch.equal(found, wanted)
    assert len(in_python) == 2


def repeated(call, *arguments):
    call(*arguments)
    call(*arguments)


def test_modes_and_tracing_see_the_operators(in_python):
    x = torch.randn(2, 7)
    repeated(ext.rms_norm, x)

    class Functions(TorchFunctionMode):
        seen = ()

        def __torch_function__(self, func, types, args=(), kwargs=None):
            self.seen = (*self.seen, func)
            return func(*args, **(kwargs or {}))

    with Functions() as mode:
        ext.rms_norm(x)
    assert torch.ops.mindiesd.rms_norm.default in mode.seen
    with torch.autograd.profiler.profile() as profile:
        ext.rms_norm(x)
    assert any("mindiesd::rms_norm" in event.name for event in profile.function_events)
    traced = torch.fx.experimental.proxy_tensor.make_fx(lambda x: ext.rms_norm(x))(x)
    assert "mindiesd.rms_norm" in traced.code
    jit = torch.jit.trace(ext.rms_norm, (x,), check_trace=False)
    assert "mindiesd::rms_norm" in str(jit.graph)
    torch._dynamo.reset()
    compiled = torch.compile(ext.rms_norm, fullgraph=True, backend="eager")
    torch.testing.assert_close(compiled(x), ext.rms_norm(x))


def test_autocast_gradients_and_devices_are_not_passed_by():
    q = torch.randn(2, 7, 4, 16)
    repeated(mindiesd.attention_forward, q, q, q)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert mindiesd.attention_forward(q, q, q).dtype == torch.bfloat16
    with torch.enable_grad():
        assert mindiesd.attention_forward(q, q, q).dtype == torch.float32
        wanted = q.clone().requires_grad_()
        mindiesd.attention_forward(q, q, wanted).sum().backward()
        assert wanted.grad is not None
        assert not mindiesd.attention_forward(q, q, q).requires_grad
    with torch.inference_mode():
        assert mindiesd.attention_forward(q, q, q).is_inference()
    with torch.device("meta"):  # a function mode
        assert mindiesd.attention_forward(q, q, q).device.type == "cpu"


def test_autocast_is_part_of_a_call(in_python):
    """Operands of autocast's type repeat from C, others are cast in Python each time."""
    q = torch.randn(2, 7, 4, 16)
    half = q.bfloat16()
    repeated(mindiesd.attention_forward, half, half, half)
    for dtype in (torch.bfloat16, torch.float16):
        with torch.autocast("cpu", dtype=dtype):
            for operand in (half, q, half, q):
                repeated(mindiesd.attention_forward, operand, operand, operand)
                assert mindiesd.attention_forward(operand, operand, operand).dtype == dtype
            with torch.autocast("cpu", enabled=False):
                assert mindiesd.attention_forward(q, q, q).dtype == torch.float32
    # half in half; in bfloat16: half once, q each time; in float16: all; q without autocast once.
    assert len(in_python) == 1 + (1 + 6) + 12 + 1
    assert mindiesd.attention_forward(half, half, half).dtype == torch.bfloat16


def test_lazy_values_subclasses_and_vmap():
    x = torch.randn(2, 7)
    repeated(ext.rms_norm, x)
    plain = torch.complex(x, x)
    repeated(ext.rms_norm, plain.imag)  # the same signature, but that its values are what lies there
    negated = plain.conj().imag
    assert negated.is_neg()
    torch.testing.assert_close(ext.rms_norm(negated), ext.rms_norm(-x))
    freqs = torch.complex(torch.randn(2, 4), torch.randn(2, 4))
    y = torch.randn(2, 8)
    repeated(ext.rotary_complex, y, freqs)
    torch.testing.assert_close(
        ext.rotary_complex(y, freqs.conj()), ext.rotary_complex(y, freqs.conj().clone())
    )

    class Loud(torch.Tensor):
        called = 0

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            cls.called += 1
            return super().__torch_function__(func, types, args, kwargs or {})

    ext.rms_norm(x.as_subclass(Loud))
    assert Loud.called


def test_refusals_say_why_after_the_first_call():
    x = torch.randn(2, 8)
    t = torch.randn(2, 8)
    repeated(ext.rotary_position_embedding, x, t, t.clone())
    with pytest.raises(ParametersInvalid, match="must not share memory"):
        ext.rotary_position_embedding(x, x, t, inplace=True)
    memory = torch.randn(40)
    first = memory[:16].view(2, 8)
    for _ in range(2):
        ext.rotary_position_embedding(first.clone(), t, t.clone(), inplace=True)
    with pytest.raises(ParametersInvalid, match="must not share memory"):
        ext.rotary_position_embedding(first, memory[8:24].view(2, 8), t, inplace=True)


def test_odd_arguments_reach_python():
    x = torch.randn(2, 7, 16)
    for _ in range(2):
        with pytest.raises(TypeError):
            ext.rms_norm()
        with pytest.raises(ParametersInvalid, match="must be a torch.Tensor"):
            ext.rms_norm([1.0])
        with pytest.raises(ParametersInvalid, match="eps must be a number"):
            ext.rms_norm(x, None, "1e-6")
        result = ext.rms_norm(x, None, torch.tensor(0.5))
        torch.testing.assert_close(result, ext.rms_norm(x, None, 0.5))
        ext.rms_norm(hidden_states=x, eps=10**30)


def test_thread_count_follows_torch_on_repeated_calls(in_python):
    count = _library.bind("mindiesd_num_threads", _library._i32)
    x = torch.randn(3, 4)
    repeated(ext.softmax, x)
    for threads in (3, 1):
        torch.set_num_threads(threads)
        ext.softmax(x)
        assert count() == threads
    assert len(in_python) == 1


def test_signatures_without_bound_and_threads():
    """More signatures than are kept, from several threads at once."""
    wrong = []

    def work(first):
        with torch.no_grad():
            for n in range(first, 3000, 4):
                x = torch.ones(1, n + 1)
                if not torch.equal(ext.silu(x), ext.silu(x)):
                    wrong.append(n)
                if n % 500 == 0:
                    _eager.forget()

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    for n in range(9000):
        ext.silu(torch.ones(n % 3000 + 1, 1 + n // 3000))
    assert 0 < _eager.forget() <= 8192


@pytest.mark.parametrize("how", ["0", "methods"])
def test_the_other_ways_of_reading_tensors(how):
    """MINDIESD_REPLAY: without repeating, and as with a torch that publishes no exchange table."""
    code = (
        "import torch\nfrom mindiesd import _eager, ext\nx = torch.randn(3, 7)[:, 1:]\n"
        "a = [ext.rms_norm(x) for _ in range(3)]\n"
        "assert torch.equal(a[0], a[2])\n"
        "c = torch.randn(3, 3, dtype=torch.complex64)\n"
        "b = [ext.rotary_complex(x, c) for _ in range(3)]\n"
        "assert torch.equal(b[0], b[2])\n"
        "print(_eager.available, _eager.forget())"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True,
        env={**os.environ, "MINDIESD_REPLAY": how,
             "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
    )  # fmt: skip
    assert run.stdout.split() == (["False", "0"] if how == "0" else ["True", "2"]), run.stderr


def test_the_words_of_dispatch_are_used_only_where_they_show_what_they_should():
    """torch does not document them: where they do not change, torch is asked as before."""
    assert _eager._words_show(_eager._words), "this torch shows it; see torch_state.h"
    assert not _eager._words_show(lambda: (1, 2))
    assert not _eager._words_show(lambda: None)


def test_lazy_negations_are_seen_where_torch_keeps_them():
    """torch does not document the place either: where it is not found, each tensor is asked."""
    assert _eager.reads_negations, "this torch has it; see torch_tensor.cpp"


def test_what_is_switched_on_after_calls_that_repeat(in_python):
    x = torch.randn(2, 7)
    for _ in range(3):
        ext.gelu(x)
    for _ in range(2):
        assert torch.func.vmap(ext.gelu)(x).shape == x.shape
        with torch.autocast("cpu", dtype=torch.bfloat16):
            assert torch.equal(ext.gelu(x), ext.gelu(x))
        with Seen() as seen:
            ext.gelu(x)
        assert any(n.startswith("mindiesd::") for n in seen.names)
    before = len(in_python)
    ext.gelu(x)
    assert len(in_python) == before
