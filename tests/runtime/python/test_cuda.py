"""The package on a GPU: every operation agrees with the CPU kernels, whatever back end serves it."""

import pytest
import torch
import torch.nn.functional as F
from mindiesd import ext

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")


def on_gpu(value):
    return value.cuda() if isinstance(value, torch.Tensor) else value


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
    assert result.is_cuda and result.dtype == expected.dtype
    assert result.stride() == expected.stride()
    tolerance = 1e-5 if dtype == torch.float32 else 2e-2
    torch.testing.assert_close(result.cpu(), expected, rtol=tolerance, atol=tolerance)


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
            norm = ext.rms_norm(x, eps=None, result_type="input")
            assert norm.dtype == F.rms_norm(x, (16,)).dtype
