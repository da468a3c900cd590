"""Two streams behind each other, each behind a norm of its own and turned by tables of its own or not at all: as exact as
the lines that are replaced, in one launch where the operator knows norms and tables, and those lines for the rest."""

import copy

import pytest
import torch
from accuracy import FLOATS, Pool
from formulas import rotate, rotary
from mindiesd import ext
from mindiesd.utils import ParametersInvalid
from test_norm_rotary import norm_of, ran
from test_norm_rotary_joint import B, D, N, S, T, WeightOfOtherKind, streams

LENGTHS = (T, S)
LAYOUTS = ["dense", "packed", "padded", "transposed"]


def angles(length, head_first):
    angle = torch.rand(length, D // 2, dtype=torch.float64) * 6
    return angle[None, None] if head_first else angle[None, :, None]


def tables_of(length, interleaved, head_first):
    """Full width cos and sin of one stream."""
    angle = angles(length, head_first)
    full = angle.repeat_interleave(2, -1) if interleaved else torch.cat((angle, angle), -1)
    return full.cos().float(), full.sin().float()


def written(norms, parts, dim, tables=(None, None), interleaved=False):
    pieces = []
    for norm, x, own in zip(norms, parts, tables):
        x = x if norm is None else norm(x)
        pieces.append(x if own is None else rotary(x, *(t.to(x.dtype) for t in own), interleaved).to(x.dtype))
    return torch.cat(pieces, dim)


def check(result, theirs, exact, magnitude):
    pool = Pool()
    pool.add(result, theirs, exact, magnitude)
    pool.check()


@pytest.mark.parametrize("how", LAYOUTS)
@pytest.mark.parametrize("dim", [1, 2, -2, -3])
@pytest.mark.parametrize("dtype", FLOATS)
def test_norms_alone(backend, dtype, dim, how):
    parts = streams(dtype, how, head_first=dim in (2, -2))
    for kind in (torch.nn.RMSNorm, ext.RMSNorm, "typed", torch.nn.LayerNorm):
        norms = [
            norm_of(D, torch.nn.RMSNorm if kind is torch.nn.LayerNorm else kind, dtype, affine=how != "padded")
            for _ in parts
        ]
        if kind is torch.nn.LayerNorm:
            norms = [torch.nn.LayerNorm(D, dtype=dtype) for _ in parts]
            for norm in norms:
                norm.weight.data.normal_()
                norm.bias.data.normal_()
        for some in (norms, (None, norms[1]), (norms[0], None)):
            result, seen = ran(lambda: ext.norm_cat(some, parts, dim))  # noqa: B023
            assert seen == ["mindiesd::joint_heads"]
            wide = [None if norm is None else copy.deepcopy(norm).double() for norm in some]
            exact = written(wide, [x.double() for x in parts], dim)
            check(result, written(some, parts, dim), exact, exact)
            assert result.is_contiguous()
            assert result.dtype == dtype


@pytest.mark.parametrize("which", [(0,), (1,), (0, 1)])
@pytest.mark.parametrize("head_first", [False, True])
@pytest.mark.parametrize("mode", ["rotated_half", "rotated_interleaved"])
@pytest.mark.parametrize("dtype", FLOATS)
def test_tables_of_each_stream(backend, dtype, mode, head_first, which):
    interleaved, dim = mode == "rotated_interleaved", 2 if head_first else 1
    parts, norms = streams(dtype, "packed", head_first), [norm_of(D, ext.RMSNorm, dtype) for _ in range(2)]
    tables = [tables_of(n, interleaved, head_first) if i in which else None for i, n in enumerate(LENGTHS)]
    for some in (norms, (None, None)):
        result, seen = ran(lambda: ext.norm_cat(some, parts, dim, tables, mode))  # noqa: B023
        assert seen == ["mindiesd::joint_heads"]
        wide = [None if norm is None else copy.deepcopy(norm).double() for norm in some]
        exact = written(wide, [x.double() for x in parts], dim, [t and [x.double() for x in t] for t in tables], interleaved)
        theirs = written(some, parts, dim, tables, interleaved)
        check(result, theirs, exact, torch.hypot(exact, rotate(exact, interleaved)))


@pytest.mark.parametrize("head_first", [False, True])
def test_complex_tables(backend, head_first):
    parts = streams(torch.float32, head_first=head_first)
    norms = [norm_of(D, ext.RMSNorm, torch.float32) for _ in parts]
    turns = [angles(n, head_first) for n in LENGTHS]
    tables = [torch.polar(torch.ones_like(t), t).to(torch.complex64) for t in turns]
    dim = 2 if head_first else 1
    found, seen = ran(lambda: ext.norm_cat(norms, parts, dim, tables))
    assert seen == ["mindiesd::joint_heads"]
    pairs = [(t.cos().float(), t.sin().float()) for t in turns]
    torch.testing.assert_close(found, written(norms, parts, dim, pairs, True))


def test_what_is_called():
    """Hooks, modules that nobody knows, norms of both kinds, tables of both kinds, other ranks and dimensions."""
    hooked = norm_of(D, torch.nn.RMSNorm, torch.float32)
    hooked.register_forward_hook(lambda module, args, result: result * 2)
    known, layer = norm_of(D, torch.nn.RMSNorm, torch.float32), torch.nn.LayerNorm(D)
    parts = streams(torch.float32)
    for other in (hooked, layer, torch.nn.Identity(), lambda x: x * 3):
        for norms in ((other, known), (known, other)):
            found, seen = ran(lambda: ext.norm_cat(norms, parts, 1))  # noqa: B023
            assert "mindiesd::joint_heads" not in seen
            torch.testing.assert_close(found, written(norms, parts, 1))
    norms = (known, known)
    for some, dim in ((parts, -1), ([x[:, :, 0] for x in parts], 1), ([x[..., None, :] for x in parts], 1)):
        same = [x[:, :T] for x in some] if dim == -1 else some
        torch.testing.assert_close(ext.norm_cat(norms, same, dim), written(norms, same, dim))
    turn = angles(S, False)
    mixed = (tables_of(T, False, False), torch.polar(torch.ones_like(turn), turn).to(torch.complex64))
    found = ext.norm_cat(norms, parts, 1, mixed)
    first = rotary(known(parts[0]), *mixed[0], False)
    torch.testing.assert_close(found, torch.cat([first, ext.rotary_complex(known(parts[1]), mixed[1])], 1))


def test_no_norm_at_all(backend):
    parts = streams(torch.float32)
    assert torch.equal(ext.norm_cat((None, None), parts, 1), torch.cat(parts, 1))


@pytest.mark.parametrize("empty", [0, 1])
def test_an_empty_stream(backend, empty):
    parts, norms = streams(torch.float32), [norm_of(D, torch.nn.RMSNorm, torch.float32) for _ in range(2)]
    parts[empty] = parts[empty][:, :0]
    torch.testing.assert_close(ext.norm_cat(norms, parts, 1), written(norms, parts, 1))


@pytest.mark.parametrize("dtype", FLOATS)
def test_types_of_results(backend, dtype):
    parts = streams(dtype)
    for first in (torch.nn.RMSNorm(D, dtype=torch.float32), WeightOfOtherKind(torch.bfloat16), None):
        norms = (first, norm_of(D, "typed", dtype))
        found = ext.norm_cat(norms, parts, 1, rms_type="weight")
        assert found.dtype == written(norms, parts, 1).dtype
    mixed = [parts[0], parts[1].float()]
    norms = [norm_of(D, ext.RMSNorm, dtype), norm_of(D, ext.RMSNorm, torch.float32)]
    assert ext.norm_cat(norms, mixed, 1).dtype == torch.float32


def test_derivatives_are_torchs():
    parts = [x.double().requires_grad_() for x in streams(torch.float32)]
    norms = [norm_of(D, torch.nn.RMSNorm, torch.float64).requires_grad_() for _ in parts]
    wanted = (*parts, norms[0].weight, norms[1].weight)
    with torch.enable_grad():
        ours = ext.norm_cat(norms, parts, 1).square().sum()
        theirs = written(norms, parts, 1).square().sum()
        for a, b in zip(torch.autograd.grad(ours, wanted), torch.autograd.grad(theirs, wanted), strict=True):
            torch.testing.assert_close(a, b)


def test_is_traced():
    class Attention(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.norm, self.other = ext.RMSNorm(D), ext.RMSNorm(D)

        def forward(self, x, y):
            return ext.norm_cat((self.norm, self.other), [x, y], 1)

    model, operands = Attention(), streams(torch.float32)
    torch.testing.assert_close(torch.fx.symbolic_trace(model)(*operands), model(*operands))
    compiled = torch.compile(model, backend="aot_eager", fullgraph=True)
    torch.testing.assert_close(compiled(*operands), model(*operands))


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"norms": None}, "norms is then a pair"),
        ({"x": torch.zeros(2, 2, 1, D)}, "x must be a pair of tensors"),
        ({"x": [torch.zeros(1, 2, 1, D)]}, "a list as x has two tensors"),
        ({"x": [torch.zeros(1, 2, 1, D), 3]}, r"x\[1\]"),
        ({"norms": (3, None)}, r"norms\[0\]"),
        ({"dim": None}, "dim must be the number"),
        ({"tables": None}, "tables must be a pair"),
        ({"tables": (None, (None, torch.ones(2, 1, D)))}, "has a sin but no cos"),
        ({"tables": ((torch.ones(2, 1, D),) * 3, None)}, "has 3 items"),
        ({"tables": (3, None)}, r"cos of tables\[0\]"),
    ],
)
def test_errors(change, text):
    given = {"norms": (None, None), "x": [torch.zeros(1, 2, 1, D)] * 2, "dim": 1} | change
    with pytest.raises(ParametersInvalid, match=text):
        ext.norm_cat(**given)
