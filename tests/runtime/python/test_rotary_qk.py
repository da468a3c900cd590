"""Query and key in one launch: every kind of table, norms before the rotation, writing in place."""

import mindiesd
import pytest
import torch
from accuracy import FLOATS, assert_accurate
from formulas import pair_norm, rms, rotary
from mindiesd import ext
from mindiesd.utils import ParametersInvalid


def tables(kind, shape, width):
    """(arguments of rotary_qk, cos and sin in full width for neighbours or halves)."""
    cos, sin = torch.randn(*shape, width // 2), torch.randn(*shape, width // 2)
    if kind == "half":
        return (cos, sin, "rotated_half"), (cos, sin, False)
    if kind == "interleaved":
        full = [t.repeat_interleave(2, -1) for t in (cos, sin)]
        return (*full, "rotated_interleaved"), (*full, True)
    if kind == "complex":
        return (torch.complex(cos, sin),), (cos, sin, True)
    matrices = torch.stack([cos, -sin, sin, cos], -1).unflatten(-1, (2, 2))
    return (matrices,), (cos, sin, True)


KINDS = ("half", "interleaved", "complex", "matrix")


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("kind", KINDS)
def test_both_are_rotated(backend, kind, dtype):
    """Key with fewer heads than query, as in grouped attention."""
    q, k = torch.randn(2, 33, 8, 64).to(dtype), torch.randn(2, 33, 2, 64).to(dtype)
    arguments, (cos, sin, interleaved) = tables(kind, (33, 1), 64)
    for ours, x in zip(ext.rotary_qk(q, k, *arguments), (q, k)):
        theirs = rotary(x, cos.to(dtype), sin.to(dtype), interleaved)
        exact = rotary(x.double(), cos.double(), sin.double(), interleaved)
        assert_accurate(ours, theirs, exact, pair_norm(x, cos, sin, interleaved))
        assert ours.stride() == x.stride()


@pytest.mark.parametrize("shape", [(33, 1), (1, 33, 1), (2, 1, 1), (2, 33, 1), (1,), (33, 8)])
@pytest.mark.parametrize("kind", KINDS)
def test_tables_broadcast(kind, shape):
    """Per position, per sample, per sample and position, one for all, per head."""
    q, k = torch.randn(2, 33, 8, 16), torch.randn(2, 33, 8, 16)
    arguments, (cos, sin, interleaved) = tables(kind, shape, 16)
    for ours, x in zip(ext.rotary_qk(q, k, *arguments), (q, k)):
        torch.testing.assert_close(ours, rotary(x, cos, sin, interleaved))


@pytest.mark.parametrize("across_heads", [False, True])
@pytest.mark.parametrize("head_first", [False, True])
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("kind", KINDS)
def test_norm_then_rotation(backend, kind, dtype, head_first, across_heads):
    shapes = ((2, 9, 6, 32), (2, 9, 3, 32))
    arguments, (cos, sin, interleaved) = tables(kind, (9, 1), 32)
    operands, weights = [], []
    for shape in shapes:
        x = torch.randn(shape).to(dtype)
        operands.append(x.transpose(1, 2) if head_first else x)
        weights.append(torch.randn(shape[2] * 32 if across_heads else 32).to(dtype))
    if head_first:
        arguments = [t.squeeze(1) if isinstance(t, torch.Tensor) else t for t in arguments]

    def original(x, weight, cos, sin):
        x = x.transpose(1, 2) if head_first else x
        if across_heads:
            flat = x.flatten(2)
            y = (rms(flat, 1e-5) * weight).view(x.shape)
        else:
            y = rms(x, 1e-5) * weight
        y = rotary(y, cos.to(x.dtype), sin.to(x.dtype), interleaved)
        return y.transpose(1, 2) if head_first else y

    results = ext.qk_norm_rotary(
        *operands, *weights, *arguments, eps=1e-5, across_heads=across_heads, head_first=head_first
    )
    for ours, x, weight in zip(results, operands, weights):
        theirs = original(x, weight, cos, sin)
        exact = original(x.double(), weight.double(), cos, sin)
        assert_accurate(ours, theirs, exact, exact.abs() + exact.abs().mean())
        assert ours.stride() == x.stride()


def test_norm_without_weights_and_float64_tables():
    """Tables in float64 (Wan) serve narrower operands through the kernels."""
    q, k = torch.randn(1, 5, 2, 8), torch.randn(1, 5, 2, 8)
    cos, sin = torch.randn(5, 1, 4).double(), torch.randn(5, 1, 4).double()
    expected = [rotary(rms(x, 1e-6), cos.float(), sin.float(), True) for x in (q, k)]
    results = ext.qk_norm_rotary(q, k, None, None, torch.complex(cos, sin))
    for ours, wanted in zip(results, expected):
        torch.testing.assert_close(ours, wanted)
        assert ours.dtype == torch.float32
    promoted = ext.rotary_qk(q, k, torch.complex(cos, sin), result_type="promoted")
    assert [t.dtype for t in promoted] == [torch.float64] * 2


def in_place(call, *operands):
    before = [t.clone() for t in operands]
    wanted = call(*before, inplace=False)
    found = call(*operands, inplace=True)
    found, wanted = (t if isinstance(t, tuple) else (t,) for t in (found, wanted))
    for operand, f, w, b in zip(operands, found, wanted, before):
        assert f is operand
        torch.testing.assert_close(f, w)
        assert not torch.equal(f, b)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("kind", KINDS)
def test_in_place(backend, kind, dtype):
    def operands():
        packed = torch.randn(2, 9, 3, 4, 16).to(dtype)  # slices of one tensor of query, key and value
        return packed[:, :, 0], packed[:, :, 1]

    arguments, _ = tables(kind, (9, 1), 16)
    in_place(lambda q, k, **how: ext.rotary_qk(q, k, *arguments, **how), *operands())
    in_place(
        lambda q, k, **how: ext.qk_norm_rotary(q, k, None, None, *arguments, **how), *operands()
    )
    one = {"complex": ext.rotary_complex, "matrix": ext.rotary_matrix}.get(
        kind, ext.rotary_position_embedding
    )
    in_place(lambda x, **how: one(x, *arguments, **how), operands()[0])


def test_in_place_repeats():
    """The second call of a kind goes around Python: it must write as well."""
    arguments, _ = tables("interleaved", (9, 1), 16)
    for _ in range(3):
        x = torch.randn(2, 9, 4, 16)
        wanted = ext.rotary_position_embedding(x.clone(), *arguments)
        assert ext.rotary_position_embedding(x, *arguments, inplace=True) is x
        assert torch.equal(x, wanted)


def test_empty_operands(backend):
    arguments, _ = tables("half", (9, 1), 16)
    q, k = torch.randn(2, 9, 4, 16), torch.randn(2, 9, 0, 16)
    rotated = ext.rotary_qk(q, k, *arguments)
    torch.testing.assert_close(rotated[0], ext.rotary_position_embedding(q, *arguments))
    assert rotated[1].shape == k.shape
    rotated = ext.rotary_qk(k, q, *arguments)
    torch.testing.assert_close(rotated[1], ext.rotary_position_embedding(q, *arguments))


X = torch.randn(2, 9, 4, 16)
T = torch.randn(9, 1, 16)


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda: ext.rotary_qk(X, X[..., :8], T, T), "must have one head_dim"),
        (lambda: ext.rotary_qk(X, X, T), "2×2 matrices"),
        (lambda: ext.rotary_qk(X, X, T, T[..., :8]), "both have 16 or both 8 columns"),
        (lambda: ext.rotary_qk(X, X[:, :8], T, T), "broadcast against key"),
        (lambda: ext.rotary_qk(X, X, T, T, "half"), "rotated_mode must be one of"),
        (lambda: ext.rotary_qk(X, X.to("meta"), T, T), "key must be on the device of query"),
        (lambda: ext.rotary_qk(X, X.int(), T, T), "key must be a floating tensor"),
        (
            lambda: ext.rotary_qk(X.half(), X.half(), T, T, result_type="promoted", inplace=True),
            "inplace needs a result of query's shape and type",
        ),
        (lambda: ext.qk_norm_rotary(X, X, T[0, 0], T, T, T), "key_weight must be a floating"),
        (
            lambda: ext.qk_norm_rotary(X, X, T[0, 0], None, T, T, across_heads=True),
            r"query_weight must be a floating tensor of shape \[64\]",
        ),
        (lambda: ext.qk_norm_rotary(X, X, None, None, T, T, eps=-1.0), "eps must not be negative"),
        (lambda: ext.qk_norm_rotary(X[0], X, None, None, T, T), "query must have 4 dimensions"),
        (lambda: ext.rotary_matrix(X, torch.randn(9, 1, 7, 2, 2)), "must hold 8 matrices a row"),
        (lambda: mindiesd.ext.rotary_position_embedding(X, T, T, inplace=1), "inplace must be"),
    ],
)
def test_bad_arguments(call, text):
    with pytest.raises(ParametersInvalid, match=text):
        call()
