"""Life inside torch: compilation, dispatch modes, autocast, gradients, threads, forked processes."""

import os
import signal
import threading

import mindiesd
import pytest
import torch
import torch.nn.functional as F
from mindiesd import _checks, _ops, _torch_rms, ext
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode


def model(x, weight, table, mask):
    """Every operator once."""
    y = ext.rms_norm(x, weight, result_type="input")
    y = ext.rotary_position_embedding(y, table, table)
    y = ext.rotary_complex(y, torch.complex(table[..., ::2], table[..., ::2]))
    z = mindiesd.attention_forward(y, x, x, mask)
    heads_first = [t.transpose(1, 2) for t in (z, x, x)]
    z = z + ext.attention_forward(*heads_first, head_first=True, is_causal=True).transpose(1, 2)
    packed = ext.attention_forward_varlen(x[0], x[0], x[0], [0, 3, 7], [0, 3, 7], causal=True)
    return ext.softmax(z + packed, subtract="row", clamp_min=-5.0)


def arguments(batch=2):
    return (
        torch.randn(batch, 7, 4, 16),
        torch.randn(16),
        torch.randn(7, 1, 16),
        torch.rand(batch, 1, 7, 7) > 0.3,
    )


@pytest.mark.parametrize(
    "compiler, batches",
    [
        ("eager", (2, 3, 5)),  # the second size makes the shapes symbolic
        ("aot_eager", (2, 3, 5)),
        ("inductor", (2,)),  # compiles C++ for every size
    ],
)
def test_compiles_whole(compiler, batches):
    torch._dynamo.reset()
    compiled = torch.compile(model, fullgraph=True, backend=compiler)
    for batch in batches:
        inputs = arguments(batch)
        torch.testing.assert_close(compiled(*inputs), model(*inputs))


def test_compiles_under_autocast():
    torch._dynamo.reset()

    @torch.compile(fullgraph=True, backend="aot_eager")
    def attend(x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return mindiesd.attention_forward(x, x, x)

    assert attend(torch.randn(2, 7, 4, 16)).dtype == torch.bfloat16


def fused_model(norm, activation, x, weight, table):
    """The operators that fuse several steps, and those that write in place."""
    q, k = ext.rotary_qk(x, x * 2, table, table, "rotated_interleaved")
    q, k = ext.qk_norm_rotary(q, k, weight, None, torch.complex(table[..., ::2], table[..., ::2]))
    q, k = ext.rotary_qk(q * 1, k * 1, table, table, inplace=True)
    y = ext.rotary_matrix(q * 1, table.reshape(7, 1, 4, 2, 2).repeat(1, 1, 2, 1, 1), inplace=True)
    total, y = ext.residual_norm(norm, x, y, weight, table, k)
    total, y = ext.add_rms_norm(total, y, weight)
    y = mindiesd.layernorm_scale_shift(norm, y, weight) + mindiesd.fast_layernorm(norm, total)
    y = activation(ext.gated(y, total, "gelu-tanh"))
    y = ext.softmax(ext.glu(torch.cat((y, x), -1), "silu", gate="first"), scale=0.5, bias=weight)
    return ext.gelu(y, "fast"), k


@pytest.mark.parametrize(
    "compiler, batches",
    [("eager", (2, 3, 5)), ("aot_eager", (2, 3, 5)), ("inductor", (2,))],
)
def test_fused_operators_compile_whole(compiler, batches):
    torch._dynamo.reset()
    norm, activation = torch.nn.LayerNorm(16), ext.GELU()
    compiled = torch.compile(fused_model, fullgraph=True, backend=compiler)
    for batch in batches:
        inputs = arguments(batch)[:3]
        torch.testing.assert_close(
            compiled(norm, activation, *inputs), fused_model(norm, activation, *inputs)
        )


class Seen(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.names.append(function._schema.name)
        return function(*args, **(kwargs or {}))


def test_dispatch_modes_see_the_operators():
    inputs = arguments()
    with Seen() as seen:
        model(*inputs)
    ours = [name for name in seen.names if name.startswith("mindiesd::")]
    assert ours == [
        "mindiesd::rms_norm",
        "mindiesd::rotary_position_embedding",
        "mindiesd::rotary_position_embedding",
        "mindiesd::attention_forward",
        "mindiesd::attention_forward",
        "mindiesd::attention_forward_varlen",
        "mindiesd::softmax",
    ]
    assert not any("scaled_dot_product" in name or "rsqrt" in name for name in seen.names)
    with Seen() as seen:
        fused_model(torch.nn.LayerNorm(16), ext.GELU(), *inputs[:3])
    assert [name for name in seen.names if name.startswith("mindiesd::")] == [
        "mindiesd::rotary_qk",
        "mindiesd::rotary_qk",
        "mindiesd::rotary_qk_",
        "mindiesd::rotary_position_embedding_",
        "mindiesd::residual_norm",
        "mindiesd::residual_norm",
        "mindiesd::norm_scale_shift",
        "mindiesd::norm_scale_shift",
        "mindiesd::activation",
        "mindiesd::activation",
        "mindiesd::activation",
        "mindiesd::softmax",
        "mindiesd::activation",
    ]
    # A type without kernels is one operator all the same.
    with Seen() as seen:
        ext.attention_forward(*[torch.randn(1, 3, 2, 8, dtype=torch.float64)] * 3)
    assert seen.names.count("mindiesd::attention_forward") == 1
    assert "aten::bmm" not in seen.names


CALLS = {
    "attention": lambda x: ext.attention_forward(x, x, x),
    "attention head first": lambda x: ext.attention_forward(x, x, x[..., :6], head_first=True),
    "attention swapped": lambda x: ext.attention_forward(
        *[x.transpose(1, 2)] * 3, head_first=True
    ),
    "varlen": lambda x: ext.attention_forward_varlen(x[0], x[0], x[0, ..., :6], [0, 5], [0, 5]),
    "rotary": lambda x: ext.rotary_position_embedding(x, x[..., :4], x[..., :4]),
    "rotary float32": lambda x: ext.rotary_position_embedding(x, x, x, result_type="float32"),
    "rms_norm": lambda x: ext.rms_norm(x.transpose(0, 2), x[0, 0, 0]),
    "rms_norm input": lambda x: ext.rms_norm(x.transpose(0, 2), result_type="input"),
    "softmax": lambda x: ext.softmax(x.transpose(0, 2), 1),
    "layer_norm_along": lambda x: ext.layer_norm_along(x.transpose(0, 2), -1, x[0, 0, 0]),
    "upsample": lambda x: ext.upsample_nearest2x(x),
    "weighted_sum": lambda x: ext.weighted_sum([x, x.flip(0), x.flip(1)], [0.5, -2, 1.5], divisor=3),
    "rotary qk": lambda x: ext.rotary_qk(x.transpose(1, 2), x[:, :4], x[0, 0, :1], x[0, 0, :1]),
    "qk norm": lambda x: ext.qk_norm_rotary(
        x, x[:, :, :1], None, x[0, 0, 0], x[0, 0, :1], x[0, 0, :1], result_type="float32"
    ),
    "layer norm": lambda x: ext.layer_norm(x.transpose(0, 2), 8),
    "residual": lambda x: ext.add_rms_norm(x.transpose(0, 2), x.transpose(0, 2), x[0, 0, 0]),
    "gelu": lambda x: ext.gelu(x.transpose(0, 2)[..., 1:]),
    "gated": lambda x: ext.gated(x.transpose(0, 2), x.transpose(0, 2).float(), "silu"),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
def test_fake_results_describe_the_real_ones(backend, name, dtype):
    x = torch.randn(2, 5, 4, 8).to(dtype)
    real = CALLS[name](x)
    with FakeTensorMode() as mode:
        fake = CALLS[name](mode.from_tensor(x))
    if not isinstance(real, tuple):
        fake, real = (fake,), (real,)
    for f, r in zip(fake, real, strict=True):
        assert (f.shape, f.stride(), f.dtype) == (r.shape, r.stride(), r.dtype)


def test_operators_pass_torchs_own_checks():
    x = torch.randn(2, 5, 4, 8)
    cu = torch.tensor([0, 5], dtype=torch.int32)
    f32 = torch.float32
    for operator, args in (
        (_ops.attention_forward, (x, x, x, None, 0.5, False, 1, -1, -1, 0.0, None, 0, False)),
        (
            _ops.attention_into,
            (x, x, x, None, 0.5, False, 1, -1, -1, 0.0, None, 0, False, torch.empty_like(x)),
        ),
        (_ops.attention_forward_varlen, (x[0], x[0], x[0], cu, cu, 0.5, 0, -1, -1, 0.0, None)),
        (_ops.rotary_position_embedding, (x, x, x, True, f32, 0)),
        (_ops.rms_norm, (x, None, None, 1e-6, f32, f32, f32, 1)),
        (_ops.softmax, (x, -1, 1.0, None, 0, None, None, None, 0.0, f32)),
        (_ops.rotary_qk, (x, x * 2, None, None, x, x, True, 1, -2, 1e-6, f32, f32)),
        (_ops.rotary_qk_, (x.clone(), x * 2, None, None, x, x, True, 0, -2, 1e-6)),
        (_ops.rotary_position_embedding_, (x.clone(), x, x, True)),
        (_ops.norm_scale_shift, (x, None, None, x, x, 1e-6, 0, f32, 1)),
        (_ops.residual_norm, (x, x, x, None, None, x, x, 1e-6, 1, f32, f32, False, None, None)),
        (_ops.residual_norm, (x, x, x, None, None, x, x, 1e-6, 1, f32, f32, True, None, 1e-6)),
        (_ops.residual, (x, x, x, f32, False, None, None)),
        (_ops.residual, (x, x, None, f32, False, None, 1e-6)),
        (_ops.activation, (x, x, 3, f32)),
        (_ops.activation_into, (x, x, 3, torch.empty_like(x))),
        (
            _ops.rotary_grid,
            (x, torch.randn(9, x.shape[-1] // 2, 2), torch.ones(x.shape[0], 3, dtype=torch.int64), 2, 1),
        ),
        (_ops.group_norm, (x, None, None, 1, 1e-5, True, f32, False)),
        (_ops.group_norm, (x.to(memory_format=torch.channels_last), None, None, 1, 1e-5, False, f32, True)),
        (_ops.int8_linear, (x[:1, :1], x[0, 0].to(torch.int8), x[0, 0, :, 0].float(), None)),
        (_ops.linear_activation, (x, x[0, 0, :, :x.shape[-1]], None, 1)),
        (_ops.linear_activation_into, (x, x[0, 0], None, 1, x.new_empty((*x.shape[:-1], x.shape[2])))),
    ):
        torch.library.opcheck(operator, args, test_utils=("test_schema", "test_faketensor"))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_autocast_is_torchs(dtype):
    q = torch.randn(2, 4, 7, 16)
    mask = torch.randn(2, 1, 7, 7)
    with torch.autocast("cpu", dtype=dtype):
        for operands in ((q, q, q, mask), [q.to(dtype)] * 3, [q.double()] * 3):
            expected = F.scaled_dot_product_attention(*operands)
            result = ext.attention_forward(*operands, head_first=True)
            assert result.dtype == expected.dtype
            torch.testing.assert_close(result, expected, rtol=3e-2, atol=3e-2)
        mixed = ext.attention_forward(q, q.to(dtype), q, head_first=True)
        assert mixed.dtype == F.scaled_dot_product_attention(q, q.to(dtype), q).dtype
        for x in (q, q.to(dtype)):
            assert ext.softmax(x).dtype == F.softmax(x, -1).dtype
            ours = ext.rms_norm(x, eps=None, result_type="torch")
            assert ours.dtype == F.rms_norm(x, (16,)).dtype
            assert ext.rotary_position_embedding(x, x, x).dtype == x.dtype
    assert ext.attention_forward(q, q, q, head_first=True).dtype == torch.float32


def test_autocast_rules_that_only_cuda_has(monkeypatch):
    """torch has a rule for the norms under CUDA's autocast and none under the CPU's; taken for the CPU's
    here, it gives float32, except where the replaced code pinned the type."""
    x, norm = torch.randn(2, 5, 16, dtype=torch.bfloat16), torch.nn.LayerNorm(16).bfloat16()
    norm.requires_grad_(requires_grad=False)
    for operator in (_torch_rms.AUTOCAST_RULE, "aten::layer_norm"):
        key = "AutocastCUDA"
        assert _checks._CASTS[operator, "cuda"] == (
            torch._C._dispatch_has_kernel_for_dispatch_key(operator, key)
        )
        monkeypatch.setitem(_checks._CASTS, (operator, "cpu"), True)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert ext.rms_norm(x, eps=None, result_type="torch").dtype == torch.float32
        assert ext.rms_norm(x, eps=None, result_type="input").dtype == torch.bfloat16
        assert ext.add_rms_norm(x, x, result_type="torch")[1].dtype == torch.float32
        assert ext.layer_norm(x, (16,), norm.weight, norm.bias).dtype == torch.float32
        assert mindiesd.fast_layernorm(norm, x).dtype == torch.float32
        shifted = mindiesd.layernorm_scale_shift(norm, x, x, x)
        assert shifted.dtype == torch.float32


def test_operator_called_directly_reports_what_the_library_refuses():
    """As in a compiled graph, where torch makes a RuntimeError of it."""
    x = torch.randn(2, 5, 4, 8)
    with pytest.raises(RuntimeError, match="multiple of key's"):
        _ops.attention_forward(x, x[:, :, :3], x[:, :, :3], None, 1.0, False, 0, -1, -1, 0.0, None, 1, False)
    with pytest.raises(RuntimeError, match="even last dimension"):
        _ops.rotary_position_embedding(x[..., :7], x, x, False, torch.float32, 0)


def test_many_threads_at_once(several_threads):
    inputs = arguments()
    expected = model(*inputs)
    wrong = []

    def work():
        with torch.no_grad():
            for _ in range(20):
                if not torch.equal(model(*inputs), expected):
                    wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_forked_process_computes(several_threads):
    x = torch.randn(1, 300, 8, 32)
    expected = mindiesd.attention_forward(x, x, x)  # the pool's threads exist before the fork
    wanted = expected.numpy().tobytes()
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        # torch's own operators hang in a forked child once its OpenMP threads exist: none here.
        found = mindiesd.attention_forward(x, x, x).numpy().tobytes()
        os._exit(0 if found == wanted else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_thread_count_follows_torch():
    from mindiesd import _library

    count = _library.bind("mindiesd_num_threads", _library._i32)
    repeated = torch.randn(3, 4)
    ext.softmax(repeated)
    # A call that is repeated from C and one that Python checks first, each behind the other.
    for number, threads in enumerate((1, 3, 1, 3, 1)):
        torch.set_num_threads(threads)
        ext.softmax(torch.randn(5 + number, 4) if number % 2 else repeated)
        assert count() == threads


def test_views_may_be_larger_than_two_to_the_31():
    """An expanded tensor of 2**32 elements in the batch, of which one row is real."""
    x = torch.randn(1, 1, 1, 8).expand(2**29, 1, 1, 8)
    real = ext.rms_norm(x[2**29 - 2 :])
    assert real.shape == (2, 1, 1, 8)
    with FakeTensorMode() as mode:
        assert ext.rms_norm(mode.from_tensor(x)).shape == x.shape
