"""mindiesd.ext.rms_norm against torch's and against the bodies that migrated models had."""

import itertools

import formulas
import pytest
import torch
import torch.nn.functional as F
from accuracy import FLOATS, HALF, assert_accurate
from mindiesd import ext
from mindiesd.utils import ParametersInvalid

EPS = 1e-5


def llama(x, weight, bias=None):
    """transformers' LlamaRMSNorm, diffusers' Wan: rounded to x's type, then times weight."""
    y = formulas.rms(x.to(torch.float32), EPS)
    y = y.to(x.dtype)
    return y if weight is None else weight * y


def mochi(x, weight, bias=None):
    """diffusers' MochiRMSNorm: everything in float32, cast last."""
    y = formulas.rms(x.to(torch.float32), EPS)
    return (y if weight is None else y * weight).to(x.dtype)


def diffusers_rms_norm(x, weight, bias=None):
    """diffusers.models.normalization.RMSNorm.forward, weight's half precision decides."""
    variance = x.to(torch.float32).pow(2).mean(-1, keepdim=True)
    y = x * torch.rsqrt(variance + EPS)
    if weight is None:
        return y.to(x.dtype)
    if weight.dtype in HALF:
        y = y.to(weight.dtype)
    y = y * weight
    return y if bias is None else y + bias


def unrounded(x, weight, bias=None):
    y = formulas.rms(x.float(), EPS)
    return y if weight is None else y * weight.float()


ORIGINALS = {
    "promoted": llama,
    "input": mochi,
    "weight": diffusers_rms_norm,
    "float32": unrounded,
}
WIDTHS = [1, 3, 8, 64, 72, 129, 1152]


def test_weight_type_keeps_float64():
    """`weight * x` of T5 and diffusers promotes."""
    x, weight = torch.randn(3, 8, dtype=torch.float64), torch.randn(8)
    result = ext.rms_norm(x, weight, EPS, result_type="weight")
    assert result.dtype == torch.float64
    torch.testing.assert_close(result, ORIGINALS["weight"](x, weight), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("result_type", ORIGINALS)
@pytest.mark.parametrize("x_type, weight_type", [*itertools.product(FLOATS, (*FLOATS, None))])
@pytest.mark.parametrize("width", WIDTHS)
def test_result_types(backend, result_type, x_type, weight_type, width):
    x = torch.randn(2, 70 if width > 1000 else 5, width).to(x_type)
    weight = None if weight_type is None else (torch.randn(width) * 2).to(weight_type)
    result = ext.rms_norm(x, weight, EPS, result_type=result_type)
    original = ORIGINALS[result_type](x, weight)
    reference = formulas.rms(x.double(), EPS)
    if weight is not None:
        reference = reference * weight.double()
    assert_accurate(result, original, reference)


@pytest.mark.parametrize("x_type, weight_type", [*itertools.product(FLOATS, FLOATS)])
def test_bias_is_rounded_as_diffusers_does(backend, x_type, weight_type):
    x = torch.randn(4, 5, 96).to(x_type)
    weight, bias = torch.randn(96).to(weight_type), torch.randn(96).to(weight_type)
    result = ext.rms_norm(x, weight, EPS, bias=bias, result_type="weight")
    original = diffusers_rms_norm(x, weight, bias)
    wide = formulas.rms(x.double(), EPS) * weight.double()
    reference = wide + bias.double()
    assert_accurate(result, original, reference, wide.abs() + bias.double().abs())
    if weight_type in HALF and x_type == weight_type:
        # The product is rounded first: nearly every element comes out the same.
        assert (result == original).float().mean() > 0.97
    once = ext.rms_norm(x, weight, EPS, bias=bias, result_type="input")
    assert once.dtype == x_type
    promoted = ext.rms_norm(x, weight, EPS, bias=bias)
    assert promoted.dtype == torch.promote_types(x_type, weight_type)
    only_bias = ext.rms_norm(x, eps=EPS, bias=bias, result_type="input")
    torch.testing.assert_close(
        only_bias.double(), formulas.rms(x.double(), EPS) + bias.double(), rtol=2e-2, atol=2e-2
    )


@pytest.mark.parametrize("dtype", [*FLOATS, torch.float64])
def test_default_eps_is_torchs(backend, dtype):
    # Values so small that eps decides.
    x = (torch.randn(4, 64) * 1e-4).to(dtype)
    result = ext.rms_norm(x, eps=None, result_type="torch")
    original = F.rms_norm(x, (64,))
    assert_accurate(result, original, original.double())
    weight = torch.randn(64).to(dtype)
    module = torch.nn.RMSNorm(64, dtype=dtype)
    module.weight.copy_(weight)
    expected = module(x)
    assert_accurate(
        ext.rms_norm(x, weight, None, result_type="torch"), expected, expected.double()
    )


@pytest.mark.filterwarnings("ignore:Mismatch dtype")
@pytest.mark.parametrize("x_type, weight_type", [*itertools.product(FLOATS, FLOATS)])
def test_torch_is_torchs_rms_norm(backend, x_type, weight_type):
    """Whose type and strides changed between torch's versions; "input" has x's, whatever the version."""
    x, weight = torch.randn(3, 5, 64).to(x_type), torch.randn(64).to(weight_type)
    reference = F.rms_norm(x.double(), (64,), weight.double(), EPS)
    original = F.rms_norm(x, (64,), weight, EPS)
    assert_accurate(ext.rms_norm(x, weight, EPS, result_type="torch"), original, reference)
    pinned = ext.rms_norm(x, weight, EPS, result_type="input")
    assert_accurate(pinned, original.to(x_type), reference)
    swapped = x.transpose(0, 1)
    expected = F.rms_norm(swapped, (64,), weight, EPS)
    result = ext.rms_norm(swapped, weight, EPS, result_type="torch")
    assert result.stride() == expected.stride()
    pinned = ext.rms_norm(swapped, weight, EPS, result_type="input")
    assert pinned.stride() == swapped.stride()


def test_float64_computes_in_float64():
    x, weight = torch.randn(3, 64, dtype=torch.float64), torch.randn(64, dtype=torch.float64)
    for result_type in ORIGINALS:
        result = ext.rms_norm(x, weight, EPS, result_type=result_type)
        assert result.dtype == torch.float64
        assert (result - formulas.rms(x, EPS) * weight).abs().max() < 1e-13


def test_strides(backend):
    x, weight = torch.randn(2, 6, 4, 16), torch.randn(16)
    expected = ext.rms_norm(x, weight)
    swapped = x.transpose(1, 2).contiguous().transpose(1, 2)
    result = ext.rms_norm(swapped, weight)
    assert torch.equal(result, expected) and result.stride() == swapped.stride()
    like_torch = ext.rms_norm(swapped, weight, result_type="torch")
    assert like_torch.stride() == F.rms_norm(swapped, (16,), weight).stride()
    for result_type in ("input", "weight", "float32"):  # as x * rsqrt(mean) has it
        assert ext.rms_norm(swapped, weight, result_type=result_type).stride() == swapped.stride()
    offset = torch.empty(x.numel() + 1)[1:].view_as(x).copy_(x)
    assert torch.equal(ext.rms_norm(offset, weight), expected)
    odd = torch.stack([x, x], -1)[..., 0]
    assert torch.equal(ext.rms_norm(odd, weight), expected)
    assert torch.equal(ext.rms_norm(x, torch.stack([weight, weight], -1)[:, 0]), expected)
    repeated = x[:1].expand(3, -1, -1, -1)
    torch.testing.assert_close(ext.rms_norm(repeated, weight)[2], expected[0], rtol=0, atol=0)


def test_weights_that_broadcast(backend):
    x = torch.randn(2, 6, 4, 16)
    y = formulas.rms(x.double(), 1e-6)
    for shape in [(1,), (1, 1, 16), (4, 16), (4, 1), (6, 1, 1)]:
        weight = torch.randn(shape)
        torch.testing.assert_close(
            ext.rms_norm(x, weight).double(), y * weight, rtol=1e-6, atol=1e-6
        )


@pytest.mark.parametrize("shape", [(0, 8), (3, 0), (2, 0, 4)])
def test_empty(backend, shape):
    assert ext.rms_norm(torch.randn(shape), torch.randn(shape[-1])).shape == shape


def test_nan_and_infinity(backend):
    x = torch.randn(4, 40)
    x[1, 3], x[2, 3] = float("nan"), float("inf")
    expected = formulas.rms(x, 1e-6)
    result = ext.rms_norm(x)
    assert torch.equal(result.isnan(), expected.isnan())
    assert torch.equal(result[2, :3], torch.zeros(3))


@pytest.mark.parametrize("width", [40, 72, 1152])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_squares_beyond_float32(dtype, width):
    """A row is normalised whatever its size is, beside others; torch gives zeros for such rows."""
    sizes = torch.tensor([1.0, 2.0**62, 2.0**100, 1.0, 2.0**124, 2.0**57])[:, None]
    x = (torch.randn(6, width) * sizes).to(dtype)
    weight = torch.randn(width).to(dtype)
    expected = (formulas.rms(x.double(), 1e-6) * weight.double()).float()
    result = ext.rms_norm(x, weight, result_type="input")
    unit = torch.finfo(dtype).eps
    torch.testing.assert_close(result.float(), expected, rtol=2 * unit, atol=4e-6)
    heads, tables = x.view(1, 6, 1, width), (torch.ones(1, width), torch.zeros(1, width))
    q, k = ext.qk_norm_rotary(heads, heads, weight, weight, *tables, eps=1e-6)
    torch.testing.assert_close(q[0, :, 0].float(), expected, rtol=2 * unit, atol=4e-6)
    assert torch.equal(q, k)


def test_large_values_do_not_overflow_in_half(backend):
    x = torch.full((2, 512), 60000.0, dtype=torch.float16)
    torch.testing.assert_close(ext.rms_norm(x), torch.ones_like(x))


class TestModule:
    """mindiesd.ext.RMSNorm stands where torch.nn.RMSNorm stood."""

    def pair(self, *args, **kwargs):
        ours, theirs = ext.RMSNorm(*args, **kwargs), torch.nn.RMSNorm(*args, **kwargs)
        if ours.weight is not None:
            ours.weight.copy_(torch.randn(ours.weight.shape))
        theirs.load_state_dict(ours.state_dict())
        assert isinstance(ours, torch.nn.RMSNorm)
        return ours, theirs

    @pytest.mark.parametrize("affine", [True, False])
    @pytest.mark.parametrize("eps", [None, 1e-5])
    @pytest.mark.parametrize("dtype", [torch.float64, *FLOATS])
    def test_is_torchs(self, affine, eps, dtype):
        ours, theirs = self.pair(64, eps=eps, elementwise_affine=affine, dtype=dtype)
        x = torch.randn(3, 5, 64).to(dtype)
        assert_accurate(ours(x), theirs(x), theirs.double()(x.double()))

    def test_more_dimensions_and_gradients_are_left_to_torch(self):
        ours, theirs = self.pair((5, 64))
        x = torch.randn(3, 5, 64)
        assert torch.equal(ours(x), theirs(x))
        ours, theirs = self.pair(64)
        with torch.enable_grad():
            ours(x).sum().backward()
            theirs(x).sum().backward()
        assert torch.equal(ours.weight.grad, theirs.weight.grad)

    def test_wrong_width(self):
        with pytest.raises(RuntimeError, match="expected the last dimension to be 64"):
            ext.RMSNorm(64)(torch.randn(3, 63))


BAD = {
    "not a tensor": (dict(hidden_states=[1.0]), "hidden_states must be a torch.Tensor"),
    "complex": (dict(hidden_states=torch.ones(3, 8) * 1j), "must be a floating tensor"),
    "weight shape": (dict(weight=torch.ones(7)), "weight must have shape .8."),
    "weight too wide": (dict(weight=torch.ones(2, 3, 8)), "weight must have shape"),
    "weight device": (dict(weight=torch.ones(8, device="meta")), "weight must be on the device"),
    "bias shape": (dict(bias=torch.ones(7)), "bias must have shape .8."),
    "eps text": (dict(eps="1e-6"), "eps must be a number, but is str"),
    "result_type": (dict(result_type="half"), "result_type must be one of"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_arguments(name):
    changes, text = BAD[name]
    arguments = dict(hidden_states=torch.randn(3, 8), weight=torch.randn(8))
    arguments.update(changes)
    with pytest.raises(ParametersInvalid, match=text):
        ext.rms_norm(**arguments)
