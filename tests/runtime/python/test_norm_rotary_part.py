"""Norm and rotation of a part of the sequence: as exact as the lines that are replaced, in one launch where these are
norms that the operator knows, and those lines for the rest."""

import copy

import pytest
import torch
from accuracy import FLOATS, Pool
from formulas import rotate, rotary
from mindiesd import ext
from mindiesd.utils import ParametersInvalid
from test_norm_rotary import laid, norm_of, ran

B, S, N, D = 2, 12, 4, 16
CUTS = [{"stop": 5}, {"stop": -5}, {"start": 5}, {"start": -5}, {"stop": 0}, {"start": S + 3}]
PARTS = pytest.mark.parametrize("cut", CUTS, ids=str)


def tables_of(x, place, cut, interleaved):
    """Full width cos and sin of the rows that turn."""
    length = x.transpose(0, place)[slice(cut.get("start"), cut.get("stop"))].shape[0]
    angle = torch.rand(length, D // 2, dtype=torch.float64) * 6
    angle = angle.repeat_interleave(2, -1) if interleaved else torch.cat((angle, angle), -1)
    angle = angle[None, :, None] if place == 1 else angle[None, None]
    return angle.cos().float(), angle.sin().float()


def written(norm, x, cos, sin, interleaved, place, cut):
    x = x if norm is None else norm(x)
    x = x.transpose(0, place)
    at = next(iter(cut.values()))
    parts = [x[:at].transpose(0, place), x[at:].transpose(0, place)]
    turns = 1 if "start" in cut else 0
    parts[turns] = rotary(parts[turns], cos.to(x.dtype), sin.to(x.dtype), interleaved).to(x.dtype)
    return torch.cat(parts, place)


def tensor(dtype, how, place):
    x = laid(torch.randn(B, S, N, D).to(dtype), how)
    return x if place == 1 else x.transpose(1, 2)


@PARTS
@pytest.mark.parametrize("how", ["dense", "packed", "padded", "transposed"])
@pytest.mark.parametrize("place", [1, 2])
@pytest.mark.parametrize("mode", ["rotated_half", "rotated_interleaved"])
@pytest.mark.parametrize("dtype", FLOATS)
def test_every_form(backend, dtype, mode, place, how, cut):
    interleaved, x = mode == "rotated_interleaved", tensor(dtype, how, place)
    cos, sin = tables_of(x, place, cut, interleaved)
    for norm in (norm_of(D, ext.RMSNorm, dtype), norm_of(D, "typed", dtype), torch.nn.LayerNorm(D, dtype=dtype), None):
        call = lambda: ext.norm_rotary(norm, x, cos, sin, mode, sequence_dim=place, **cut)  # noqa: B023, E731
        result, seen = ran(call)
        assert seen == ["mindiesd::joint_heads"]
        wide = None if norm is None else copy.deepcopy(norm).double()
        exact = written(wide, x.double(), cos.double(), sin.double(), interleaved, place, cut)
        pool = Pool()
        theirs = written(norm, x, cos, sin, interleaved, place, cut)
        pool.add(result, theirs, exact, torch.hypot(exact, rotate(exact, interleaved)))
        pool.check()
        assert result.is_contiguous()
        assert torch.equal(ext.norm_rotary(norm, x, cos, sin, mode, sequence_dim=place - 4, **cut), result)


@PARTS
def test_complex_tables(backend, cut):
    x, norm = tensor(torch.float32, "dense", 1), norm_of(D, ext.RMSNorm, torch.float32)
    cos, sin = tables_of(x, 1, cut, True)
    turns = torch.complex(cos[..., ::2], sin[..., ::2])
    found, seen = ran(lambda: ext.norm_rotary(norm, x, turns, sequence_dim=1, **cut))
    assert seen == ["mindiesd::joint_heads"]
    torch.testing.assert_close(found, written(norm, x, cos, sin, True, 1, cut))


@PARTS
def test_what_is_called(cut):
    """Hooks, modules that nobody knows, a norm that sees the whole sequence, three dimensions."""
    hooked = norm_of(D, torch.nn.RMSNorm, torch.float32)
    hooked.register_forward_hook(lambda module, args, result: result * 2)
    x = tensor(torch.float32, "dense", 1)
    cos, sin = tables_of(x, 1, cut, False)
    for norm in (hooked, lambda x: x / x.norm(dim=1, keepdim=True), torch.nn.LayerNorm((S, N, D))):
        found, seen = ran(lambda: ext.norm_rotary(norm, x, cos, sin, sequence_dim=1, **cut))  # noqa: B023
        assert "mindiesd::joint_heads" not in seen
        torch.testing.assert_close(found, written(norm, x, cos, sin, False, 1, cut))
    flat, norm = x[:, :, 0], norm_of(D, torch.nn.RMSNorm, torch.float32)
    found = ext.norm_rotary(norm, flat, cos[:, :, 0], sin[:, :, 0], sequence_dim=1, **cut)
    torch.testing.assert_close(found, written(norm, flat, cos[:, :, 0], sin[:, :, 0], False, 1, cut))


def test_derivatives_are_torchs():
    x = tensor(torch.float32, "dense", 1).double().requires_grad_()
    norm = norm_of(D, torch.nn.RMSNorm, torch.float64).requires_grad_()
    tables = [t.double() for t in tables_of(x, 1, {"stop": -5}, False)]
    with torch.enable_grad():
        ours = ext.norm_rotary(norm, x, *tables, sequence_dim=1, stop=-5).square().sum()
        theirs = written(norm, x, *tables, False, 1, {"stop": -5}).square().sum()
        wanted = (x, norm.weight)
        for a, b in zip(torch.autograd.grad(ours, wanted), torch.autograd.grad(theirs, wanted), strict=True):
            torch.testing.assert_close(a, b)


def test_is_traced():
    class Attention(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.norm = ext.RMSNorm(D)

        def forward(self, x, cos, sin):
            return ext.norm_rotary(self.norm, x, cos, sin, sequence_dim=1, start=5)

    x = tensor(torch.float32, "dense", 1)
    model, operands = Attention(), (x, *tables_of(x, 1, {"start": 5}, False))
    torch.testing.assert_close(torch.fx.symbolic_trace(model)(*operands), model(*operands))
    compiled = torch.compile(model, backend="aot_eager", fullgraph=True)
    torch.testing.assert_close(compiled(*operands), model(*operands))


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"start": 1}, "one of start and stop"),
        ({"sequence_dim": None}, "sequence_dim must be the number of a dimension"),
        ({"sequence_dim": 4}, "sequence_dim must be the number of a dimension"),
        ({"heads": 2}, "start and stop go with"),
        ({"strides": "x"}, "start and stop go with"),
        ({"x": [torch.zeros(1, 4, 1, D)] * 2}, "start and stop go with"),
        ({"norm": 3}, "norm must be a module"),
        ({"stop": "a"}, "slice indices"),
    ],
)
def test_errors(change, text):
    given = {"norm": None, "x": torch.zeros(1, 4, 1, D), "sequence_dim": 1, "stop": 2} | change
    with pytest.raises(ParametersInvalid, match=text):
        ext.norm_rotary(cos=torch.ones(2, 1, D), sin=torch.zeros(2, 1, D), **given)


def test_a_place_of_none(backend):
    """As slices have it: all rows turn, and all of them stand beside those."""
    x, norm = tensor(torch.float32, "dense", 1), norm_of(D, ext.RMSNorm, torch.float32)
    cos, sin = tables_of(x, 1, {"stop": None}, False)
    for cut in ({"stop": None}, {"start": None}):
        found = ext.norm_rotary(norm, x, cos, sin, sequence_dim=1, **cut)
        torch.testing.assert_close(found, written(norm, x, cos, sin, False, 1, cut))


def test_tables_of_another_length():
    x = tensor(torch.float32, "dense", 1)
    with pytest.raises(ParametersInvalid):
        ext.norm_rotary(None, x, torch.ones(4, 1, D), torch.zeros(4, 1, D), sequence_dim=1, stop=5)
