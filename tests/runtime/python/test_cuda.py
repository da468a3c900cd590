"""The package on a GPU: every operation agrees with the CPU kernels, whatever back end serves it."""

import mindiesd
import pytest
import torch
import torch.nn.functional as F
from mindiesd import ext

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")


def on_gpu(value):
    return value.cuda() if isinstance(value, torch.Tensor) else value


def linear(x, weight, bias):
    """Of a layer with these parameters."""
    layer = torch.nn.Linear(16, 24)
    layer.weight, layer.bias = torch.nn.Parameter(weight), torch.nn.Parameter(bias)
    return ext.linear_activation(layer, x, "gelu-tanh")


def group_norm(x, weight, bias):
    """Of a layer with these parameters."""
    layer = torch.nn.GroupNorm(4, 8)
    layer.weight, layer.bias = torch.nn.Parameter(weight), torch.nn.Parameter(bias)
    return ext.group_norm(layer, x, "silu")


def norm_rotary(x, weight, cos, sin, **options):
    """Of a layer with this parameter."""
    norm = torch.nn.RMSNorm(weight.numel())
    norm.weight = torch.nn.Parameter(weight)
    return ext.norm_rotary(norm, x, cos, sin, **options)


def norm_cat(x, other, weight, bias, *tables):
    """Behind RMSNorms, or with a bias behind LayerNorms; with tables of the first."""
    norms = []
    for _ in range(2):
        norm = torch.nn.RMSNorm(weight.numel()) if bias is None else torch.nn.LayerNorm(weight.numel())
        norm.weight = torch.nn.Parameter(weight)
        if bias is not None:
            norm.bias = torch.nn.Parameter(bias)
        norms.append(norm)
    return ext.norm_cat(norms, [x, other], 1, (tables or None, None))


def weighted_sum(*terms):
    return ext.weighted_sum(terms, [55, -59, 37, -9], scale=1 / 24)


X = torch.randn(2, 7, 4, 16)
MASK = torch.rand(2, 1, 7, 7) > 0.4
TABLE = torch.randn(7, 1, 16)
CALLS = {
    "attention": (ext.attention_forward, (X, X, X, MASK), {}),
    "causal": (ext.attention_forward, (X, X[:, :5], X[:, :5]), dict(is_causal=True)),
    "flash": (
        ext.attention_forward,
        (X, X[:, :, :2], X[:, :, :2]),
        dict(
            is_causal=True, causal_alignment="bottom_right", window_size=(4, 2), softcap=3.0,
            alibi_slopes=torch.rand(4),
        ),
    ),
    "head first": (ext.attention_forward, (X, X, X), dict(head_first=True)),
    "varlen": (ext.attention_forward_varlen, (X[0], X[0], X[0], [0, 3, 7], [0, 3, 7]), {}),
    "rotary": (ext.rotary_position_embedding, (X, TABLE, TABLE), {}),
    "complex": (ext.rotary_complex, (X, torch.complex(TABLE[..., :8], TABLE[..., 8:])), {}),
    "rms_norm": (ext.rms_norm, (X, TABLE[0, 0]), {}),
    "softmax": (ext.softmax, (X,), dict(subtract="global", clamp_min=-2.0)),
    "softmax with bias": (ext.softmax, (X, 1), dict(scale=0.5, bias=TABLE[0], mask=X > -1)),
    "matrix": (ext.rotary_matrix, (X, torch.randn(7, 1, 8, 2, 2)), {}),
    "both": (ext.rotary_qk, (X, X[:, :, :2], TABLE, TABLE, "rotated_interleaved"), {}),
    "normed": (ext.qk_norm_rotary, (X, X[:, :, :1], TABLE[0, 0], None, TABLE, TABLE), {}),
    "normed over heads": (
        ext.qk_norm_rotary,
        (X, X, torch.randn(64), torch.randn(64), TABLE, TABLE),
        dict(across_heads=True, eps=1e-5),
    ),
    "norm and rotation": (norm_rotary, (X, TABLE[0, 0], TABLE, TABLE), {}),
    "norm and rotation over heads": (
        norm_rotary,
        (X.transpose(0, 1), torch.randn(64), TABLE[:2], TABLE[:2]),
        dict(heads=2, rotated_mode="rotated_interleaved", strides="x"),
    ),
    "norm and rotation of a part": (
        norm_rotary,
        (torch.cat((X, X), 1), TABLE[0, 0], TABLE, TABLE),
        dict(sequence_dim=1, stop=-7),
    ),
    "two streams": (norm_cat, (X, X[:, :3], TABLE[0, 0], None), {}),
    "two streams, layer norms": (norm_cat, (X, X[:, :3], TABLE[0, 0], TABLE[1, 0]), {}),
    "two streams, one turns": (norm_cat, (X, X[:, :3], TABLE[0, 0], None, TABLE, TABLE), {}),
    "joint heads": (
        ext.joint_heads,
        (X, X[:, :, :2], X[:, :, :2], X, X[:, :, 2:], X[:, :, 2:]),
        dict(cos=TABLE, sin=TABLE, other_cos=TABLE, other_sin=TABLE),
    ),
    "layer_norm": (ext.layer_norm, (X, 16, TABLE[0, 0], TABLE[1, 0]), {}),
    "add_rms_norm": (ext.add_rms_norm, (X, X.flip(0), TABLE[0, 0]), {}),
    "layer_norm_along": (ext.layer_norm_along, (X, -1, TABLE[0, 0], TABLE[1, 0]), {}),
    "layer_norm_along channels": (ext.layer_norm_along, (X.permute(0, 3, 1, 2), 1), {}),
    "upsample": (ext.upsample_nearest2x, (X,), {}),
    "weighted sum": (weighted_sum, (X, X.flip(0), X.flip(1), X.flip(2)), {}),
    "gelu": (ext.gelu, (X.transpose(1, 2),), {}),
    "gated": (ext.gated, (X, X.flip(0), "gelu-tanh"), {}),
    "glu": (ext.glu, (X, "silu"), dict(gate="first")),
    "grid": (
        ext.rotary_grid,
        (X, torch.randn(4, 8, dtype=torch.complex128), ((1, 2, 3), (2, 1, 2))),
        {},
    ),
    "group_norm": (group_norm, (torch.randn(2, 8, 7, 4), torch.randn(8), torch.randn(8)), {}),
    "linear": (linear, (X, torch.randn(24, 16), torch.randn(24)), {}),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_agrees_with_the_cpu(name, dtype):
    function, args, kwargs = CALLS[name]

    def cast(value):
        whole = isinstance(value, torch.Tensor) and value.is_floating_point()
        return value.to(dtype) if whole else value

    args = [cast(a) for a in args]
    expected = function(*args, **kwargs)
    result = function(*map(on_gpu, args), **{n: on_gpu(v) for n, v in kwargs.items()})
    tolerance = 1e-5 if dtype == torch.float32 else 2e-2
    if not isinstance(result, tuple):
        result, expected = (result,), (expected,)
    for r, e in zip(result, expected, strict=True):
        assert r.is_cuda and r.dtype == e.dtype and r.stride() == e.stride()
        torch.testing.assert_close(r.cpu(), e, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_blocks_of_a_transformer_agree_with_the_cpu(dtype):
    x, y, gate, scale, shift = (
        torch.randn(s).to(dtype) for s in ((2, 7, 16), (2, 7, 16), (2, 1, 16), (2, 1, 16), (16,))
    )
    norm = torch.nn.LayerNorm(16).to(dtype)
    expected = ext.residual_norm(norm, x, y, gate, scale, shift)
    result = ext.residual_norm(norm.cuda(), *map(on_gpu, (x, y, gate, scale, shift)))
    tolerance = 1e-5 if dtype == torch.float32 else 3e-2
    for r, e in zip(result, expected, strict=True):
        torch.testing.assert_close(r.cpu(), e, rtol=tolerance, atol=tolerance)


def test_calls_repeat_on_other_streams_and_in_graphs():
    x, weight = X.cuda(), TABLE[0, 0].cuda()
    expected = ext.rms_norm(x, weight)
    ext.rms_norm(x, weight)
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        assert torch.equal(ext.rms_norm(x, weight), expected)
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = ext.rms_norm(x, weight)
        attended = mindiesd.attention_forward(x, x, x)
    x.copy_(x.flip(0))
    graph.replay()
    torch.testing.assert_close(captured, ext.rms_norm(x, weight))
    torch.testing.assert_close(attended, mindiesd.attention_forward(x, x, x))


def on_device(name, dtype=torch.bfloat16):
    """(function, arguments, keywords) of a call whose operands all lie on the GPU."""
    function, args, kwargs = CALLS[name]

    def place(value):
        if isinstance(value, list):  # boundaries
            value = torch.tensor(value, dtype=torch.int32)
        if not isinstance(value, torch.Tensor):
            return value
        return (value.to(dtype) if value.is_floating_point() else value).cuda()

    return function, [place(a) for a in args], {n: on_gpu(v) for n, v in kwargs.items()}


@pytest.mark.parametrize("name", CALLS)
def test_graphs_capture_it(name):
    function, args, kwargs = on_device(name)
    function(*args, **kwargs)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = function(*args, **kwargs)
    args[0].copy_(args[0].flip(0))
    graph.replay()
    torch.testing.assert_close(captured, function(*args, **kwargs), rtol=2e-2, atol=2e-2)


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("first", [True, False])
def test_nothing_is_copied(name, first):
    """Operands of any strides with a dense last dimension are read in place: of torch's memory a call
    takes what its result needs."""
    function, args, kwargs = on_device(name)

    def spread(value):
        if not isinstance(value, torch.Tensor) or value.dim() < 2:
            return value
        wide = torch.zeros((*value.shape[:-1], value.shape[-1] + 8), dtype=value.dtype, device="cuda")
        wide[..., : value.shape[-1]] = value
        return wide[..., : value.shape[-1]]

    # Rows of matrices and of a grid's table are dense, and so are planes of channels and the terms of a sum.
    planes = name in ("group_norm", "layer_norm_along channels", "upsample", "weighted sum")
    dense = planes, planes or name in ("matrix", "grid")
    args = [a if dense[i > 0] else spread(a) for i, a in enumerate(args)]
    if not first:  # the call is repeated without its checks
        function(*args, **kwargs)
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    result = function(*args, **kwargs)
    results = result if isinstance(result, tuple) else (result,)
    # torch gives memory in pieces of 512 bytes.
    own = sum(-(-r.numel() * r.element_size() // 512) * 512 for r in results)
    if not first or "attention" not in function.__name__:  # whose first call of a kind measures
        assert torch.cuda.max_memory_allocated() - before <= own


def test_tables_on_the_cpu_are_moved():
    result = ext.rotary_position_embedding(X.cuda(), TABLE, TABLE)
    expected = ext.rotary_position_embedding(X, TABLE, TABLE)
    torch.testing.assert_close(result.cpu(), expected)


def test_autocast_is_torchs():
    q = torch.randn(2, 4, 7, 16, device="cuda")
    with torch.autocast("cuda", dtype=torch.bfloat16):
        for x in (q, q.bfloat16()):
            ours = ext.attention_forward(x, x, x, head_first=True)
            assert ours.dtype == F.scaled_dot_product_attention(x, x, x).dtype
            assert ext.softmax(x).dtype == F.softmax(x, -1).dtype
            norm = ext.rms_norm(x, eps=None, result_type="torch")
            assert norm.dtype == F.rms_norm(x, (16,)).dtype
            assert ext.rms_norm(x, eps=None, result_type="input").dtype == x.dtype
            assert ext.layer_norm(x, (16,)).dtype == F.layer_norm(x, (16,)).dtype
