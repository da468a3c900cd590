"""What the tests of the launchers share: random operands, places for results, the bound of an error."""

import math

import torch
import torch.nn.functional as F

HALVES = (torch.float16, torch.bfloat16)
TYPES = (torch.float32, *HALVES)


def normal(*shape, dtype=torch.float32, like=None):
    """Random normal numbers; ``like``: how they lie in memory."""
    if like == "unaligned":  # one element behind every vector boundary
        flat = torch.randn(math.prod(shape) + 1, device="cuda").to(dtype)
        return flat[1:].view(shape)
    if like == "padded":  # rows apart, their beginnings aligned
        wide = torch.randn(*shape[:-1], shape[-1] + 16, device="cuda").to(dtype)
        return wide[..., : shape[-1]]
    if like == "strided":
        wide = torch.randn(*shape[:-1], 2 * shape[-1], device="cuda").to(dtype)
        return wide[..., ::2]
    if like == "transposed":
        order = (*shape[:-3], shape[-2], shape[-3], shape[-1])
        return torch.randn(order, device="cuda").to(dtype).transpose(-3, -2)
    return torch.randn(shape, device="cuda").to(dtype)


def poisoned(x, dtype=None):
    """Where a result goes, with x's strides; every element must be written."""
    return torch.full_like(x, 123.0, dtype=dtype or x.dtype)


def check(result, expected, scale=None, extra=0.0):
    """Two units in the last place of the result's type, and the rounding of sums in float32.

    ``scale``: what a unit is relative to, where not the value itself (the norm of a rotated pair).
    ``extra``: error that any float32 arithmetic has, where the formula magnifies it.
    """
    assert result.shape == expected.shape
    result, unit = result.double(), torch.finfo(result.dtype).eps
    smallest = torch.finfo(torch.float16).smallest_normal if unit == 2**-10 else 1e-37
    nans = expected.isnan()
    assert torch.equal(result.isnan(), nans), "NaN in different places"
    expected = expected.masked_fill(nans, 0.0)
    result = result.masked_fill(nans, 0.0)
    infinite = expected.isinf()
    assert torch.equal(result[infinite], expected[infinite])
    expected, result = expected.masked_fill(infinite, 0), result.masked_fill(infinite, 0)
    if expected.numel() == 0:
        return
    size = expected.abs() if scale is None else scale.expand_as(expected)
    slack = 8 if unit < 1e-6 else 1
    bound = slack * unit * size.clamp(min=smallest) + 3e-6 * expected.abs().amax() + extra
    excess = ((result - expected).abs() / bound).amax().item()
    assert excess <= 1.0, f"error is {excess:.3g} times the bound"


def normalised(x, kind, eps):
    x = x.double()
    if kind == "layer":
        return F.layer_norm(x, x.shape[-1:], eps=eps)
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps)


def rounding_of_mean(x, eps):
    """The mean is rounded to float32; the division by the deviation magnifies that."""
    x = x.double()
    deviation = (x.var(-1, correction=0, keepdim=True) + eps).sqrt()
    return (4e-7 * x.abs().amax(-1, keepdim=True) / deviation).nan_to_num(0.0, 0.0, 0.0)
