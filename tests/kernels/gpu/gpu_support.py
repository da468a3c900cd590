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


def of_all_sizes(*shape, dtype):
    """Rows whose squares do not fit float32 beside others, with and without a mean, NaN and infinity."""
    exponents = torch.tensor([0, 62, 0, 100, 53, 124, 1, 66, 58, 122, 60], device="cuda")
    means = torch.tensor([0, 0, 9, 0, 1, 0, 0, 100, 30, 2, 500], device="cuda")
    x = torch.randn(shape, device="cuda").view(-1, shape[-1])
    kind = torch.arange(x.shape[0], device="cuda") % len(means)
    x = ((x + means[kind, None]) * torch.exp2(exponents[kind, None].float())).to(dtype)
    if x.shape[0] > 40:
        x[22, -1], x[34, 0], x[-1, 3] = math.nan, math.inf, -math.inf
    return x.view(shape)


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


# Forms of rotary tables, and whether pairs are neighbours.
FORMS = (
    ("full-halves", False), ("half-width", False), ("full-neighbours", True), ("half-width", True),
    ("complex", True), ("matrix", True),
)  # fmt: skip


def tables(form, lead, width, dtype):
    """Tables and the 2x2 matrices that they mean, [..., width / 2, 2, 2] in float64."""
    half = width // 2
    if form == "matrix":
        table = normal(*lead, half, 2, 2, dtype=dtype)
        return (table, None), table.double()
    angle = torch.rand(*lead, half, device="cuda") * 6.28
    if form == "complex":
        table = torch.polar(torch.ones_like(angle), angle)
        cos, sin = table.real.double(), table.imag.double()
        pair = (table, None)
        ca = cb = cos
        sa = sb = sin
    elif form == "half-width":
        pair = angle.cos().to(dtype), angle.sin().to(dtype)
        ca = cb = pair[0].double()
        sa = sb = pair[1].double()
    else:  # each element its own value, even within a pair
        pair = normal(*lead, width, dtype=dtype), normal(*lead, width, dtype=dtype)
        order = (..., slice(0, None, 2)), (..., slice(1, None, 2))
        if form == "full-halves":
            order = (..., slice(0, half)), (..., slice(half, None))
        ca, cb = (pair[0][o].double() for o in order)
        sa, sb = (pair[1][o].double() for o in order)
    return pair, torch.stack((ca, -sa, sb, cb), -1).unflatten(-1, (2, 2))


def rotated(x, matrix, interleaved):
    x = x.double()
    half = x.shape[-1] // 2
    pairs = x.unflatten(-1, (half, 2)) if interleaved else x.unflatten(-1, (2, half)).transpose(-1, -2)
    turned = (matrix * pairs.unsqueeze(-2)).sum(-1)
    size = (matrix.abs() * pairs.abs().unsqueeze(-2)).sum(-1)
    if interleaved:
        return turned.flatten(-2), size.flatten(-2)
    return turned.transpose(-1, -2).flatten(-2), size.transpose(-1, -2).flatten(-2)
