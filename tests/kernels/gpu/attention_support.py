"""What tests of the attention kernels share: the kernels and types, the formula in float64, what each
kernel computes, and how close it has to come.

Float16 and bfloat16 results are held to two units in the last place of the sum of magnitudes (weights
are rounded to the type before they meet the values), float32 to what a float32 score's error makes of
a weight.
"""

import itertools
import math

import pytest
import torch
from gpu_support import HALVES

launchers = pytest.importorskip("launchers", reason="no library of launchers", exc_type=OSError)

EVERY_OPTION = [("mma", t) for t in HALVES] + [("plain", t) for t in (torch.float32, *HALVES)]
ON_HOPPER = torch.cuda.is_available() and torch.cuda.get_device_capability() == (9, 0)
_on_hopper = pytest.mark.skipif(not ON_HOPPER, reason="no CUDA device of compute capability 9.0")
HOPPER = [pytest.param("hopper", t, marks=_on_hopper) for t in HALVES]
KERNELS = [*EVERY_OPTION, *HOPPER]
_by_turns = itertools.cycle((True, False, True))  # whether a problem is one with logarithms


def scores_of(q, k, mask=None, slopes=None, scale=None, softcap=0.0, causal=0, left=-1, right=-1):
    """In float64, straight from kernels/problem.h."""
    q, k = q.double(), k.double()
    k = k.repeat_interleave(q.shape[1] // max(k.shape[1], 1), 1)
    scores = q @ k.transpose(-1, -2) * (q.shape[-1] ** -0.5 if scale is None else scale)
    if softcap:
        scores = softcap * torch.tanh(scores / softcap)
    i = torch.arange(q.shape[2], device="cuda")[:, None]
    j = torch.arange(k.shape[2], device="cuda")
    aligned = i + k.shape[2] - q.shape[2]
    if slopes is not None:
        scores = scores - slopes.double().reshape(-1, q.shape[1], 1, 1) * (aligned - j).abs()
    keep = torch.ones(q.shape[2], k.shape[2], dtype=torch.bool, device="cuda")
    if causal:
        keep &= j <= (i if causal == 1 else aligned)
    if left >= 0:
        keep &= j >= aligned - left
    if right >= 0:
        keep &= j <= aligned + right
    if mask is not None and mask.dtype == torch.bool:
        keep = keep & mask
    elif mask is not None:
        scores = scores + mask.double()
    return scores.masked_fill(~keep, -math.inf)


def reference(q, k, v, **options):
    """(result, sum of magnitudes, largest score of each row) in float64."""
    scores, v = scores_of(q, k, **options), v.double()
    v = v.repeat_interleave(q.shape[1] // max(v.shape[1], 1), 1)
    empty = (scores == -math.inf).all(-1, keepdim=True)
    weights = torch.softmax(scores, -1).masked_fill(empty, 0.0)
    sizes = scores.abs().masked_fill(~scores.isfinite(), 0.0)
    largest = sizes.amax(-1, keepdim=True) if sizes.shape[-1] else sizes.sum(-1, keepdim=True)
    return weights @ v, weights @ v.abs(), largest


def verify(result, expected, magnitude, largest):
    """A score has about the error that its largest terms have in float32, and gives it to its weight.
    Weights of float16 end at 6e-8, whose part in small results no kernel sees."""
    if result.numel() == 0:
        return
    info = torch.finfo(result.dtype)
    least = 1e-3 if result.dtype == torch.float16 else info.tiny
    unit = torch.exp2(torch.floor(torch.log2(magnitude.clamp(min=least)))) * info.eps
    bound = 2 * unit
    if result.dtype == torch.float32:
        bound = 0.51 * unit + (4e-6 + 1e-6 * largest) * magnitude.clamp(min=1e-3)
    excess = ((result.double() - expected).abs() / bound).amax().item()
    assert excess <= 1.0, f"error is {excess:.3g} times the bound"  # a NaN fails too


def verify_lse(lse, scores):
    """The logarithms of the sums of scores' exponentials; a score has about the error of its largest terms."""
    if lse.numel() == 0:
        return
    empty = (scores == -math.inf).all(-1)
    expected = torch.logsumexp(scores.masked_fill(empty[..., None], 0.0), -1).masked_fill(empty, -math.inf)
    assert torch.equal(lse == -math.inf, expected == -math.inf)
    seen = expected != -math.inf
    sizes = scores.abs().masked_fill(~scores.isfinite(), 0.0)
    largest = sizes.amax(-1) if sizes.shape[-1] else sizes.sum(-1)
    excess = ((lse.double() - expected).abs() / (1e-5 + 2e-6 * largest))[seen]
    # A NaN among the scores is one of the sum.
    assert torch.equal(lse[seen].isnan(), expected[seen].isnan())
    excess = excess[~expected[seen].isnan()].amax().item() if (~expected[seen].isnan()).any() else 0.0
    assert excess <= 1.0, f"error of a logarithm is {excess:.3g} times the bound"


def poison(*shape):
    """Room for logarithms with gaps."""
    return torch.full((*shape, 2), 123.0, device="cuda")[..., 0]


def run(kernel, q, k, v, **options):
    """The kernel's result, written over poison."""
    output = torch.full((*q.shape[:3], v.shape[3]), 123.0, dtype=q.dtype, device="cuda")
    names = dict(left="window_left", right="window_right")
    given = {names.get(n, n): o for n, o in options.items() if o is not None}
    launchers.attention(kernel, q, k, v, output, **given)
    return output


def aligned(tensor):
    """Whether the copy engine reads a tensor: rows at multiples of 16 bytes, in their order."""
    if tensor.data_ptr() % 16 or tensor.shape[-1] % 8 or (tensor.stride(2) == 0 and tensor.shape[2] > 1):
        return False
    return all(tensor.stride(d) % 8 == 0 for d in range(3) if tensor.shape[d] > 1)


def computes(kernel, q, k, v, slopes=None, scale=None, softcap=0.0, **_):
    if kernel != "hopper":
        return True
    return (
        slopes is None and not softcap and (scale is None or scale > 0)
        and max(q.shape[3], v.shape[3]) <= 512 and all(map(aligned, (q, k, v)))
        and k.shape[2] > 0 and v.shape[3] % 8 == 0
    )  # fmt: skip


def compare(kernel, q, k, v, **options):
    """True where the kernel computes the problem, which it then must do right."""
    if not computes(kernel, q, k, v, **options):
        with pytest.raises(launchers.Unsupported):
            run(kernel, q, k, v, **options)
        return False
    lse = poison(*q.shape[:3]) if next(_by_turns) else None
    verify(run(kernel, q, k, v, lse=lse, **options), *reference(q, k, v, **options))
    if lse is not None:
        verify_lse(lse, scores_of(q, k, **options))
    return True
