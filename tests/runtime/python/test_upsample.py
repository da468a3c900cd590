"""mindiesd.ext.upsample_nearest2x against torch's interpolate, and what it leaves to it."""

import itertools

import pytest
import torch
import torch.nn.functional as F
from accuracy import FLOATS
from mindiesd import ext
from mindiesd.ext import images
from mindiesd.utils import ParametersInvalid
from torch.utils._python_dispatch import TorchDispatchMode

DEVICES = [
    "cpu",
    pytest.param("cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")),
]
SHAPES = ((2, 3, 5, 7), (1, 8, 16, 16), (1, 1, 6, 4), (3, 5, 1, 9), (2, 4, 9, 1), (1, 96, 64, 65))


class Operators(TorchDispatchMode):
    """Whether our operator ran."""

    ran = False

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.ran = self.ran or function.namespace == "mindiesd"
        return function(*args, **(kwargs or {}))


def enlarged(x):
    """(the result, whether our operator ran)."""
    with Operators() as operators:
        result = ext.upsample_nearest2x(x)
    return result, operators.ran


def expect_torchs(x):
    expected = F.interpolate(x, scale_factor=2.0, mode="nearest")
    result, ran = enlarged(x)
    assert (result.dtype, result.stride()) == (expected.dtype, expected.stride())
    torch.testing.assert_close(result, expected, rtol=0, atol=0, equal_nan=True)
    if result.is_floating_point():
        known = ~expected.isnan()  # whose sign torch's own kernel changes
        assert torch.equal(result.signbit() & known, expected.signbit() & known)
    return ran


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_is_torchs_bit_for_bit(device, dtype):
    for shape in SHAPES:
        x = torch.randn(shape, device=device).to(dtype)
        x.flatten()[:4] = torch.tensor([float("nan"), float("inf"), -0.0, 1e-40])
        both = x.is_contiguous(memory_format=torch.channels_last)
        assert expect_torchs(x) is (device in images._BY_KERNELS and not both)
        for other in (
            x.contiguous(memory_format=torch.channels_last), x.transpose(2, 3), x[:, :, ::2], x[:1],
            x[:, :1].expand(shape),
        ):  # fmt: skip
            expect_torchs(other)


def test_strides_where_a_dimension_has_one_place_or_none():
    kinds = (
        lambda shape: torch.randn(shape),
        lambda shape: torch.randn(shape).contiguous(memory_format=torch.channels_last),
        lambda shape: torch.randn(shape[::-1]).permute(3, 2, 1, 0),
        lambda shape: torch.empty_strided(shape, (990, 110, 11, 3)).normal_(),
    )
    for shape, make in itertools.product(itertools.product((1, 2, 3), repeat=4), kinds):
        expect_torchs(make(shape))
    empty = ext.upsample_nearest2x(torch.randn(0, 3, 4, 5))
    assert empty.shape == (0, 3, 8, 10)


def test_what_torch_computes():
    x = torch.randn(2, 3, 4, 5)
    for other in (x[0], torch.randn(1, 2, 3, 4, 5), x.double(), x.mul(10).to(torch.uint8)):
        assert not expect_torchs(other)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert not expect_torchs(x.bfloat16())
    for wrong in (x[0, 0], torch.arange(24).reshape(1, 2, 3, 4)):
        with pytest.raises(ParametersInvalid):
            ext.upsample_nearest2x(wrong)


def test_gradients_and_tangents():
    x = torch.randn(1, 2, 3, 4, requires_grad=True)
    with torch.enable_grad():
        (ext.upsample_nearest2x(x) * torch.arange(8.0)).sum().backward()
    pairs = torch.arange(8.0).reshape(4, 2).sum(1) * 2
    torch.testing.assert_close(x.grad, pairs.expand(1, 2, 3, 4))
    value, tangent = torch.func.jvp(ext.upsample_nearest2x, (x.detach(),), (torch.ones(1, 2, 3, 4),))
    assert torch.equal(tangent, torch.ones_like(value))


def test_mapped():
    x = torch.randn(4, 2, 3, 5, 6)
    expected = torch.stack([F.interpolate(part, scale_factor=2.0, mode="nearest") for part in x])
    assert torch.equal(torch.func.vmap(ext.upsample_nearest2x)(x), expected)
