"""Weighted sums of whole tensors, such as the steps of multistep schedulers. Entry point: ``weighted_sum``."""

import torch

from .. import _forms, _written
from .._block_ops import MAX_TERMS
from .._eager import eager
from .._refusals import refusing
from .._served import FLOATING
from ..utils import ParametersInvalid

_PLAIN = (torch.Tensor, torch.nn.Parameter)
_LAYOUTS = {4: torch.channels_last, 5: torch.channels_last_3d}
_ONE_PASS = ("cpu", "cuda")
"""The types of device on which the sum is one pass."""
_SMALLEST, _LARGEST = 1e-30, 1e30
"""Of factors that keep their digits in float32, apart from 0."""


def _is_factor(value):
    return type(value) in (int, float) and (value == 0 or _SMALLEST <= abs(value) <= _LARGEST)


def _factor(scale, divisor):
    """What the sum is multiplied with; None where torch computes it."""
    scale, divisor = 1.0 if scale is None else scale, 1.0 if divisor is None else divisor
    if not (_is_factor(scale) and _is_factor(divisor)) or divisor == 0:
        return None
    factor = scale / divisor
    return factor if _is_factor(factor) else None


def _strides(shape, order):
    """Those that torch gives a new tensor whose dimensions lie in this order, the innermost first."""
    found, step = [0] * len(shape), 1
    for d in order:
        found[d] = step
        step *= max(shape[d], 1)
    return tuple(found)


def _lies_without_gaps(x):
    """As torch's sum of such tensors lies. One that is both contiguous and channels last, where a dimension has one
    element, is so only with the strides of the former: its sum has those."""
    last = x.dim() - 1
    order = range(last, -1, -1)
    if not x.is_contiguous():
        if x.dim() not in _LAYOUTS or not x.is_contiguous(memory_format=_LAYOUTS[x.dim()]):
            return False
        order = (1, *range(last, 1, -1), 0)
    return x.stride() == _strides(x.shape, order)


def _is_one_pass(terms, weights):
    if not 2 <= len(terms) <= MAX_TERMS or not all(_is_factor(weight) for weight in weights):
        return False
    first = terms[0]
    if not isinstance(first, torch.Tensor) or first.dtype not in FLOATING or first.is_nested:
        return False
    if first.device.type not in _ONE_PASS:
        return False
    if first.layout is not torch.strided or first.numel() == 0 or not _lies_without_gaps(first):
        return False
    return all(
        type(x) in _PLAIN
        and x.dtype == first.dtype
        and x.layout is torch.strided
        and x.shape == first.shape
        and x.device == first.device
        and x.stride() == first.stride()
        for x in terms
    )


@eager
def _weighted_sum(*arguments):
    return _forms.weighted_sum(*arguments)


@refusing
def weighted_sum(terms, weights, *, scale=None, divisor=None):
    """``scale * (weights[0] * terms[0] + weights[1] * terms[1] + ...) / divisor``.

    Args:
        terms: a list of two operands at least. Of up to eight floating tensors of one shape and type on one device
            that lie alike and without gaps the sum is one pass in float32, rounded once; of anything else it is
            computed as it is written, from left to right, by the operands' own operators.
        weights: a list of as many factors. Numbers go with the one pass; with others, 0-dimensional tensors too, the
            sum is computed as it is written.
        scale, divisor: None, or factors of the sum.

    Returns:
        What the expression gives, of its shape, type and strides.

    Raises:
        ParametersInvalid: there are not as many weights as terms, or fewer than two.
    """
    for name, value in (("terms", terms), ("weights", weights)):
        if not isinstance(value, (list, tuple)) or len(value) < 2:
            raise ParametersInvalid(f"{name} must be a list of two or more, but is {value!r}.")
    if len(terms) != len(weights):
        raise ParametersInvalid(
            f"weights must have a factor for each of the {len(terms)} terms, but has {len(weights)}."
        )
    factor = _factor(scale, divisor)
    if factor is None or not _is_one_pass(terms, weights):
        total = _written.weighted_sum(terms, weights)
        total = total if scale is None else scale * total
        return total if divisor is None else total / divisor
    return _weighted_sum(*terms, *(float(weight) for weight in weights), float(factor))
