"""LayerNorm, and norms with residual, scale and shift, against the torch code that they replace."""

import itertools

import mindiesd
import pytest
import torch
import torch.nn.functional as F
from accuracy import FLOATS, HALF, assert_accurate
from mindiesd import ext
from mindiesd.utils import ParametersInvalid


def pick(random, choices):
    return choices[torch.randint(len(choices), (), generator=random).item()]


def strided(shape, dtype, random, broadcast=False):
    """Normal values in a random stride order, with gaps; repeated in some dimensions on request."""
    order = torch.randperm(len(shape) - 1, generator=random).tolist()
    sizes = [shape[d] for d in order]
    repeats = [d for d in range(len(sizes)) if broadcast and pick(random, (True, False))]
    kept = [1 if d in repeats else n for d, n in enumerate(sizes)]
    gap = pick(random, (0, 1, 8))
    made = torch.randn(*kept, shape[-1] + gap, generator=random)[..., : shape[-1]].to(dtype)
    made = made.expand(*sizes, shape[-1])
    return made.permute(*[order.index(d) for d in range(len(order))], len(order))


@pytest.mark.parametrize("dtype", FLOATS)
def test_layer_norm_is_as_accurate_as_torchs(backend, dtype):
    x = (torch.randn(64, 1536) * 3 + 2).to(dtype)
    weight, bias = torch.randn(1536).to(dtype), torch.randn(1536).to(dtype)
    for w, b in ((weight, bias), (weight, None), (None, None)):
        ours = ext.layer_norm(x, 1536, w, b, 1e-6)
        wide = [None if t is None else t.double() for t in (w, b)]
        exact = F.layer_norm(x.double(), (1536,), *wide, eps=1e-6)
        assert_accurate(ours, F.layer_norm(x, (1536,), w, b, 1e-6), exact)


@pytest.mark.parametrize("width", [40, 72, 1152])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_squares_beyond_float32(dtype, width):
    """A row is normalised whatever its size is, beside others; torch gives the shift alone there."""
    sizes = torch.tensor([1.0, 2.0**62, 2.0**100, 1.0, 2.0**124, 2.0**57])[:, None]
    means = torch.tensor([0.0, 5.0, 0.0, 3.0, 1.0, 9.0])[:, None]
    x = ((torch.randn(6, width) + means) * sizes).to(dtype)
    scale, shift = torch.randn(width).to(dtype), torch.randn(width).to(dtype)
    norm = torch.nn.LayerNorm(width, elementwise_affine=False)
    y = F.layer_norm(x.double(), (width,)) * (1 + scale.double()) + shift.double()
    close = {"rtol": 4 * torch.finfo(dtype).eps, "atol": 2e-5 if dtype == torch.float32 else 1e-2}
    result = mindiesd.layernorm_scale_shift(norm, x[None], scale, shift)
    torch.testing.assert_close(result[0].double(), y, **close)
    branch = torch.randn(6, width).to(dtype)
    total, result = ext.residual_norm(norm, branch, x, None, scale, shift)
    y = F.layer_norm(branch.double() + x.double(), (width,)) * (1 + scale.double()) + shift.double()
    torch.testing.assert_close(result.double(), y, **close)
    assert total.isfinite().all()


def test_layer_norm_over_several_dimensions_and_results_contiguous():
    x = torch.randn(3, 5, 4, 6).transpose(0, 1)
    weight, bias = torch.randn(4, 6), torch.randn(4, 6)
    ours = ext.layer_norm(x, (4, 6), weight, bias)
    torch.testing.assert_close(ours, F.layer_norm(x, (4, 6), weight, bias))
    assert ours.is_contiguous()
    assert ext.layer_norm(x, [6]).is_contiguous()


def blocks(x, branch, gate, scale, shift, weight, bias, eps, kind):
    """The lines of a transformer block, in the operands' types."""
    total = x if branch is None else x + (branch if gate is None else gate * branch)
    if kind == "layer":
        y = F.layer_norm(total, total.shape[-1:], weight, bias, eps)
    else:
        y = F.rms_norm(total, total.shape[-1:], weight, eps)
    y = y if scale is None else y * (1 + scale)
    return total, y if shift is None else y + shift


@pytest.mark.parametrize("seed", range(40))
def test_blocks_of_every_form(backend, seed):
    """Random shapes, types, stride orders, broadcasts and absent operands."""
    random = torch.Generator().manual_seed(seed)
    dtype = pick(random, FLOATS)
    sizes = [pick(random, (1, 2, 3, 7)) for _ in range(pick(random, (1, 2, 3)))]
    shape = (*sizes, pick(random, (1, 2, 17, 64, 96, 257, 1024)))

    def maybe(*args):
        return strided(*args) if pick(random, (True, True, False)) else None

    kind = pick(random, ("layer", "rms"))
    x, branch = (strided(shape, dtype, random) for _ in range(2))
    gate, scale, shift = (maybe(shape, dtype, random, True) for _ in range(3))
    affine = pick(random, (True, False))
    module = (torch.nn.LayerNorm if kind == "layer" else torch.nn.RMSNorm)(
        shape[-1], eps=1e-5, elementwise_affine=affine
    ).to(dtype)
    weight, bias = module.weight, getattr(module, "bias", None)
    if affine:
        weight.normal_(generator=random)
    total, normal = ext.residual_norm(module, x, branch, gate, scale, shift)
    operands = (x, branch, gate, scale, shift, weight, bias)
    theirs = blocks(*operands, 1e-5, kind)
    exact = blocks(*(None if t is None else t.double() for t in operands), 1e-5, kind)
    product = branch if gate is None else gate * branch
    assert_accurate(total, theirs[0], exact[0], (x.double().abs() + product.double().abs()))
    magnitude = None
    if shape[-1] > 2:  # over one or two columns the norm is all cancellation
        terms = exact[1].abs() + (0 if shift is None else 2 * shift.double().abs())
        magnitude = terms + (0 if bias is None else bias.double().abs())
        assert_accurate(normal, theirs[1], exact[1], magnitude)
    else:
        torch.testing.assert_close(normal.double(), exact[1], rtol=0.05, atol=0.05)
    assert normal.is_contiguous()
    assert total.stride() == torch.empty_like(x).stride()


@pytest.mark.parametrize("dtype", HALF)
def test_scale_shift_at_a_models_size(dtype):
    norm = torch.nn.LayerNorm(3072, eps=1e-6, elementwise_affine=False)
    x, scale, shift = (torch.randn(s).to(dtype) for s in ((1, 64, 3072), (1, 3072), (1, 3072)))
    theirs = norm(x) * (1 + scale[:, None]) + shift[:, None]
    exact = norm(x.double()) * (1 + scale[:, None].double()) + shift[:, None].double()
    ours = mindiesd.layernorm_scale_shift(norm, x, scale, shift)
    assert_accurate(ours, theirs, exact)


@pytest.mark.parametrize("types", list(itertools.product(FLOATS, repeat=3)))
def test_types_are_those_of_the_expression(types):
    x, scale, shift = (torch.randn(2, 5, 8).to(t) for t in types)
    norm = torch.nn.LayerNorm(8).to(types[0])
    expected = norm(x) * (1 + scale) + shift
    assert mindiesd.layernorm_scale_shift(norm, x, scale, shift).dtype == expected.dtype
    total, normal = ext.residual_norm(norm, x, shift, scale)
    assert total.dtype == (x + scale * shift).dtype
    assert normal.dtype == total.dtype
    one = torch.tensor(2.0, dtype=types[1])  # of no dimension: it does not widen
    expected = norm(x) * (1 + one) + shift
    assert mindiesd.layernorm_scale_shift(norm, x, one, shift).dtype == expected.dtype


@pytest.mark.parametrize("result_type", ["promoted", "input", "weight", "float32"])
@pytest.mark.parametrize("types", list(itertools.product(FLOATS, repeat=3)))
def test_add_rms_norm(backend, result_type, types):
    x, residual = (torch.randn(3, 7, 64).to(t) for t in types[:2])
    weight = torch.randn(64).to(types[2])
    total, normal = ext.add_rms_norm(x, residual, weight, 1e-5, result_type=result_type)
    plain = x + residual
    theirs = ext.rms_norm(plain, weight, 1e-5, result_type=result_type)
    wide = x.double() + residual.double()
    exact = wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + 1e-5) * weight.double()
    assert_accurate(total, plain, wide, x.double().abs() + residual.double().abs())
    assert_accurate(normal, theirs, exact)


def test_empty_nan_and_infinite_rows(backend):
    norm = torch.nn.LayerNorm(8)
    for shape in ((0, 5, 8), (2, 0, 8)):
        x = torch.randn(shape)
        total, normal = ext.residual_norm(norm, x, x, None, x, x)
        assert total.shape == normal.shape == x.shape
        assert mindiesd.fast_layernorm(norm, x).shape == x.shape
    x = torch.randn(4, 8)
    x[1, 3], x[2, 5] = float("nan"), float("inf")
    for module in (norm, torch.nn.RMSNorm(8, eps=1e-6)):
        total, normal = ext.residual_norm(module, x, torch.zeros(4, 8))
        torch.testing.assert_close(normal, module(x), equal_nan=True)
        torch.testing.assert_close(total, x, equal_nan=True)


def test_unaligned_memory(backend):
    buffer = torch.randn(2 * 8 * 64 + 3)
    x = buffer[1 : 1 + 8 * 64].view(8, 64)
    branch = buffer[3 + 8 * 64 :].view(8, 64)
    total, normal = ext.residual_norm(torch.nn.LayerNorm(64), x, branch)
    torch.testing.assert_close(total, x + branch)
    torch.testing.assert_close(normal, F.layer_norm(x + branch, (64,)))


def test_modules_are_called_where_a_call_is_more_than_their_norm():
    x, shift = torch.randn(2, 5, 8), torch.randn(2, 8)

    class Doubled(torch.nn.LayerNorm):
        def forward(self, x):
            return 2 * super().forward(x)

    for module in (Doubled(8), torch.nn.LayerNorm((5, 8)), torch.nn.RMSNorm((5, 8), eps=1e-6)):
        total, normal = ext.residual_norm(module, x, x, None, None, shift[:, None])
        torch.testing.assert_close(total, 2 * x)
        torch.testing.assert_close(normal, module(2 * x) + shift[:, None])
    torch.testing.assert_close(mindiesd.fast_layernorm(Doubled(8), x), Doubled(8)(x))

    seen = []
    for module in (torch.nn.RMSNorm(8, eps=1e-6), ext.RMSNorm(8, eps=1e-6), mindiesd.RMSNorm(8)):
        expected = ext.residual_norm(module, x, x)[1]
        module.register_forward_pre_hook(lambda *args: seen.append(1))
        torch.testing.assert_close(ext.residual_norm(module, x, x)[1], expected)
    assert len(seen) == 3
    handle = torch.nn.modules.module.register_module_forward_hook(lambda *args: seen.append(2))
    mindiesd.fast_layernorm(torch.nn.LayerNorm(8), x)
    handle.remove()
    assert seen[-1] == 2


def test_published_rms_norm_promotes():
    module, x = mindiesd.RMSNorm(8), torch.randn(2, 8).bfloat16()
    total, normal = ext.residual_norm(module, x, x)
    assert (total.dtype, normal.dtype) == (torch.bfloat16, module(x).dtype)


X = torch.randn(2, 5, 8)
NORM = torch.nn.LayerNorm(8)


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda: ext.layer_norm(X, 7), "normalized_shape must be x's last sizes"),
        (lambda: ext.layer_norm(X, 8, torch.ones(7)), "weight must be a floating tensor of shape"),
        (lambda: ext.layer_norm(X, (5, 8), torch.ones(8)), r"weight must have shape \[5, 8\]"),
        (lambda: ext.layer_norm(X, 8, eps="1e-5"), "eps must be a number"),
        (lambda: ext.layer_norm(X.int(), 8), "x must be a floating tensor"),
        (lambda: ext.layer_norm(None, 8), "x must be a torch.Tensor"),
        (lambda: ext.add_rms_norm(X, X[:1]), "residual must have the shape of x"),
        (lambda: ext.add_rms_norm(X, X, torch.ones(7)), "weight must be a floating tensor"),
        (lambda: ext.add_rms_norm(X, X, result_type="half"), "result_type must be one of"),
    ],
)
def test_bad_arguments(call, text):
    with pytest.raises(ParametersInvalid, match=text):
        call()
