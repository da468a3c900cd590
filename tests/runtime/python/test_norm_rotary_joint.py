"""Norm and rotation of two streams that stand behind each other: as exact as the lines that are replaced, in one
launch where these are norms that the operator knows, and those lines for the rest."""

import copy

import pytest
import torch
from accuracy import FLOATS, Pool
from formulas import rotate, rotary
from mindiesd import ext
from mindiesd.utils import ParametersInvalid
from test_norm_rotary import laid, norm_of, ran

B, S, T, N, D = 2, 7, 5, 4, 16
MODES = {"rotated_half": False, "rotated_interleaved": True}
ANGLE = torch.rand(S + T, D // 2, dtype=torch.float64) * 6


def streams(dtype, how="dense", head_first=False):
    parts = [laid(torch.randn(B, length, N, D).to(dtype), how) for length in (T, S)]
    return [x.transpose(1, 2) for x in parts] if head_first else parts


def tables_of(kind, head_first=False):
    """cos and sin of the joint sequence, which broadcast against heads."""
    dtype, full, interleaved = kind
    angle = ANGLE
    if full:
        angle = angle.repeat_interleave(2, -1) if interleaved else torch.cat((angle, angle), -1)
    angle = angle[None, None] if head_first else angle[None, :, None]
    return angle.cos().to(dtype), angle.sin().to(dtype)


def written(norms, parts, cos, sin, interleaved, dim):
    return rotary(torch.cat([x if n is None else n(x) for n, x in zip(norms, parts)], dim), cos, sin, interleaved)


@pytest.mark.parametrize("how", ["dense", "packed", "padded", "transposed"])
@pytest.mark.parametrize("dim", [1, 2, -2])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", FLOATS)
def test_every_form(backend, dtype, mode, dim, how):
    interleaved = MODES[mode]
    parts = streams(dtype, how, head_first=dim != 1)
    for kind in (torch.nn.RMSNorm, ext.RMSNorm, "typed"):
        norms = [norm_of(D, kind, dtype, affine=how != "padded") for _ in parts]
        for table in ((torch.float32, False), (torch.float64, True), (dtype, False)):
            cos, sin = tables_of((*table, interleaved), dim != 1)
            result, seen = ran(lambda: ext.norm_rotary(norms, parts, cos, sin, mode, sequence_dim=dim))  # noqa: B023
            assert seen == ["mindiesd::joint_heads"]
            given = cos.to(dtype), sin.to(dtype)
            theirs = written(norms, parts, *given, interleaved, dim).to(dtype)
            wide = [copy.deepcopy(norm).double() for norm in norms]
            exact = written(wide, [x.double() for x in parts], cos.double(), sin.double(), interleaved, dim)
            pool = Pool()
            pool.add(result, theirs, exact, torch.hypot(exact, rotate(exact, interleaved)))
            pool.check()
            assert result.is_contiguous()
            assert torch.equal(ext.norm_rotary(tuple(norms), tuple(parts), cos, sin, mode, sequence_dim=dim), result)


@pytest.mark.parametrize("head_first", [False, True])
def test_complex_tables(backend, head_first):
    parts, norms = streams(torch.float32, head_first=head_first), [norm_of(D, ext.RMSNorm, torch.float32)] * 2
    cos, sin = tables_of((torch.float32, False, True), head_first)
    dim = 2 if head_first else 1
    found, seen = ran(lambda: ext.norm_rotary(norms, parts, torch.complex(cos, sin), sequence_dim=dim))
    assert seen == ["mindiesd::joint_heads"]
    torch.testing.assert_close(found, written(norms, parts, cos, sin, True, dim))


def test_no_norm(backend):
    """Of either stream, of both, and of one tensor."""
    parts, norm = streams(torch.float32), norm_of(D, ext.RMSNorm, torch.float32)
    cos, sin = tables_of((torch.float32, False, False))
    for norms in ((None, norm), (norm, None), (None, None)):
        found, seen = ran(lambda: ext.norm_rotary(norms, parts, cos, sin, sequence_dim=1))  # noqa: B023
        assert seen == ["mindiesd::joint_heads"]
        torch.testing.assert_close(found, written(norms, parts, cos, sin, False, 1))
    x = torch.cat(parts, 1)
    torch.testing.assert_close(ext.norm_rotary(None, x, cos, sin), rotary(x, cos, sin, False))


class Lp(torch.nn.Module):
    """No RMSNorm, although it has an eps."""

    eps = 1e-5

    def forward(self, x):
        return torch.nn.functional.normalize(x, dim=-1, eps=self.eps)


class WeightOfOtherKind(torch.nn.Module):
    """A norm of a repository's own, as rms_type says it to be."""

    def __init__(self, dtype):
        super().__init__()
        self.eps, self.bias = 1e-5, None
        self.weight = torch.nn.Parameter(torch.randn(D, dtype=dtype))

    def forward(self, x):
        return ext.rms_norm(x, self.weight, self.eps, result_type="weight")


def test_norms_that_are_called():
    hooked = norm_of(D, torch.nn.RMSNorm, torch.float32)
    hooked.register_forward_hook(lambda module, args, result: result * 2)
    known = norm_of(D, torch.nn.RMSNorm, torch.float32)
    parts, tables = streams(torch.float32), tables_of((torch.float32, False, False))
    for norm in (hooked, Lp(), lambda x: x * 3):
        for norms in ((norm, known), (known, norm)):
            call = lambda: ext.norm_rotary(norms, parts, *tables, sequence_dim=1, rms_type="weight")  # noqa: B023, E731
            found, seen = ran(call)
            assert "mindiesd::joint_heads" not in seen
            torch.testing.assert_close(found, written(norms, parts, *tables, False, 1))
        x = torch.cat(parts, 1)
        torch.testing.assert_close(
            ext.norm_rotary(norm, x, *tables, rms_type="weight"), rotary(norm(x), *tables, False)
        )


def test_norms_of_both_kinds(backend):
    parts, tables = streams(torch.float32), tables_of((torch.float32, False, False))
    layer = torch.nn.LayerNorm(D)
    for norms in ((layer, layer), (layer, norm_of(D, torch.nn.RMSNorm, torch.float32))):
        found = ext.norm_rotary(norms, parts, *tables, sequence_dim=1)
        torch.testing.assert_close(found, written(norms, parts, *tables, False, 1))


@pytest.mark.parametrize("how", ["dense", "packed", "padded", "transposed"])
@pytest.mark.parametrize("head_first", [False, True])
@pytest.mark.parametrize("dtype", FLOATS)
def test_layer_norm_of_one_tensor(backend, dtype, head_first, how):
    x = torch.cat(streams(dtype, how, head_first), 2 if head_first else 1)
    norm = torch.nn.LayerNorm(D, dtype=dtype)
    for parameter in norm.parameters():
        parameter.normal_()
    cos, sin = tables_of((torch.float32, False, True), head_first)
    for table in ((cos, sin), (cos[0], sin[0])) if head_first else ((cos, sin),):
        found, seen = ran(lambda: ext.norm_rotary(norm, x, *table, "rotated_interleaved"))  # noqa: B023
        assert seen == ["mindiesd::joint_heads"]
        exact = rotary(copy.deepcopy(norm).double()(x.double()), cos.double(), sin.double(), True)
        pool = Pool()
        theirs = rotary(norm(x), cos.to(dtype), sin.to(dtype), True).to(dtype)
        pool.add(found, theirs, exact, torch.hypot(exact, rotate(exact, True)))
        pool.check()
        assert found.is_contiguous()
        assert found.stride() == ext.rotary_position_embedding(norm(x), cos, sin, "rotated_interleaved").stride()


@pytest.mark.parametrize("dtype", FLOATS)
def test_types_of_results(backend, dtype):
    """That to which torch.cat promotes what the norms give."""
    parts, tables = streams(dtype), tables_of((torch.float32, False, False))
    for first in (torch.nn.RMSNorm(D, dtype=torch.float32), WeightOfOtherKind(torch.bfloat16)):
        norms = (first, norm_of(D, "typed", dtype))
        theirs = torch.cat([norm(x) for norm, x in zip(norms, parts)], 1).dtype
        found = ext.norm_rotary(norms, parts, *tables, sequence_dim=1, rms_type="weight")
        assert found.dtype == theirs
    promoted = ext.norm_rotary(norms, parts, *tables, sequence_dim=1, rms_type="weight", result_type="promoted")
    assert promoted.dtype == torch.float32


def test_heads_and_other_ranks():
    """A norm of all heads together and tensors of three dimensions: the lines that are replaced."""
    parts, tables = streams(torch.float32), tables_of((torch.float32, False, False))
    norms = [norm_of(N * D, torch.nn.RMSNorm, torch.float32) for _ in parts]
    joint = torch.cat([norm(x.flatten(2)).unflatten(2, (N, D)) for norm, x in zip(norms, parts)], 1)
    found = ext.norm_rotary(norms, parts, *tables, heads=2, sequence_dim=1)
    torch.testing.assert_close(found, rotary(joint, *tables, False))
    flat = [x[:, :, 0] for x in parts]
    norms = [norm_of(D, torch.nn.RMSNorm, torch.float32) for _ in parts]
    cos, sin = (t[:, :, 0] for t in tables)
    found = ext.norm_rotary(norms, flat, cos, sin, sequence_dim=1)
    torch.testing.assert_close(found, written(norms, flat, cos, sin, False, 1))


def test_tables_without_a_free_dimension():
    """A table of each sample and each head."""
    parts, norms = streams(torch.float32), [norm_of(D, torch.nn.RMSNorm, torch.float32)] * 2
    angle = torch.rand(B, S + T, N, D // 2) * 6
    cos, sin = angle.cos(), angle.sin()
    found = ext.norm_rotary(norms, parts, cos, sin, sequence_dim=1)
    torch.testing.assert_close(found, written(norms, parts, cos, sin, False, 1))
    found, seen = ran(lambda: ext.norm_rotary(norms, parts, cos[:1], sin[:1], sequence_dim=1))
    assert seen == ["mindiesd::joint_heads"]
    torch.testing.assert_close(found, written(norms, parts, cos[:1], sin[:1], False, 1))


def test_derivatives_are_torchs():
    parts = [x.double().requires_grad_() for x in streams(torch.float32)]
    norms = [norm_of(D, torch.nn.RMSNorm, torch.float64).requires_grad_() for _ in parts]
    tables = tables_of((torch.float64, False, False))
    wanted = (*parts, norms[0].weight, norms[1].weight)
    with torch.enable_grad():
        ours = ext.norm_rotary(norms, parts, *tables, sequence_dim=1).square().sum()
        theirs = written(norms, parts, *tables, False, 1).square().sum()
        for a, b in zip(torch.autograd.grad(ours, wanted), torch.autograd.grad(theirs, wanted), strict=True):
            torch.testing.assert_close(a, b)


def test_is_traced():
    class Attention(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.norm, self.other = ext.RMSNorm(D), ext.RMSNorm(D)

        def forward(self, x, y, cos, sin):
            return ext.norm_rotary((self.norm, self.other), [x, y], cos, sin, sequence_dim=1)

    model, operands = Attention(), (*streams(torch.float32), *tables_of((torch.float32, False, False)))
    torch.testing.assert_close(torch.fx.symbolic_trace(model)(*operands), model(*operands))
    compiled = torch.compile(model, backend="aot_eager", fullgraph=True)
    torch.testing.assert_close(compiled(*operands), model(*operands))


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"norm": None}, "norm is then a pair"),
        ({"x": [torch.zeros(1, 2, 1, D)]}, "a list as x has two tensors"),
        ({"x": [torch.zeros(1, 2, 1, D), 3]}, r"x\[1\]"),
        ({"norm": (3, None)}, r"norm\[0\]"),
        ({"sequence_dim": None}, "sequence_dim must be the number"),
        ({"sequence_dim": True}, "sequence_dim must be the number"),
    ],
)
def test_errors(change, text):
    given = {"norm": (None, None), "x": [torch.zeros(1, 2, 1, D)] * 2, "sequence_dim": 1} | change
    with pytest.raises(ParametersInvalid, match=text):
        ext.norm_rotary(cos=torch.ones(4, 1, D), sin=torch.zeros(4, 1, D), **given)
