"""LayerNorm along any one dimension, as models write it out. Entry point: ``layer_norm_along``."""

import math

import torch

from .. import _ops, _strides, _written
from .._checks import expect_choice, expect_same_device, promoted
from .._eager import overridable
from .._served import FLOATING
from ..utils import ParametersInvalid
from .norm import modulated_norm

_PLAIN = (torch.Tensor, torch.nn.Parameter)
_RESULTS = ("promoted", "rounded", "input")
_FEWEST = {"cpu": (1, 16), "cuda": (128, 32)}
"""How long rows that lie side by side must be, and how many, that the device's kernel for such rows takes them
(``lies_in_planes`` in kernels/cpu/isa/planes_norm.cpp, ``lies_in_columns`` in kernels/cuda/norm_columns.cu)."""


def _is_plain(x):
    return type(x) in _PLAIN and x.dtype in FLOATING and x.layout is torch.strided and not x.is_nested


def _vector(operand, x, dim):
    """weight or bias as [x.shape[dim]] where it has one value for each place along dim; else None."""
    if not _is_plain(operand) or operand.device != x.device:
        return None
    missing = x.dim() - operand.dim()
    if operand.dim() == 0 or missing < 0 or dim < missing:
        return None
    if any(size != (x.shape[d + missing] if d + missing == dim else 1) for d, size in enumerate(operand.shape)):
        return None
    return operand.reshape(x.shape[dim])


def _takes(x, dim, eps):
    """Whether these are what kernels are for; of anything else the expression is computed as it is written."""
    if type(dim) is not int or type(eps) not in (int, float) or not _is_plain(x):
        return False
    return x.dim() > 0 and x.numel() > 0 and -x.dim() <= dim < x.dim()


def _lies(result, x, dim):
    """The result, or a copy, with the strides that ``x - x.mean(dim, keepdim=True)`` has."""
    if x.is_contiguous() and result.is_contiguous():
        return result
    means = _strides.dense([1 if d == dim else size for d, size in enumerate(x.shape)])
    if x.shape[dim] != 1:
        means[dim] = 0
    return _strides.moved(result, _strides.elementwise(x.shape, x, means))


@overridable
def layer_norm_along(x, dim, weight=None, bias=None, eps=1e-5, *, result_type="promoted"):
    """``(x - mean) / sqrt(variance + eps) * weight + bias``, mean and biased variance along ``dim``.

    Args:
        x: a tensor. Of float32, float16 and bfloat16 each row is one pass in float32, rounded once, where ``dim`` is the
            last dimension or the innermost one (channels last), or that of channels of dense planes. Else torch's
            operators compute, as they do of other types.
        dim: a whole number, a list of one, or what ``torch.mean`` takes.
        weight, bias: None, or tensors that broadcast against x. Those with one value for each place along ``dim`` go
            with the one pass; with others the expression is computed as it is written.
        eps: added to the variance. With what is no number of Python's the expression is computed as it is written.
        result_type: where the expression casts. ``"promoted"``: nowhere, so that x, weight and bias decide the type;
            ``"rounded"``: x to float32, and back before weight and bias; ``"input"``: x to float32, and the result to x's
            type. The one pass rounds once all the same.

    Returns:
        What the expression gives, of its shape, type and strides.

    Raises:
        ParametersInvalid: x holds complex numbers, or what torch refuses.
    """
    expect_choice("result_type", result_type, _RESULTS)
    if isinstance(x, torch.Tensor) and x.is_complex():
        raise ParametersInvalid(f"x must hold real numbers, but is {x.dtype}.")
    for name, operand in (("weight", weight), ("bias", bias), ("eps", eps)):
        if isinstance(x, torch.Tensor) and isinstance(operand, torch.Tensor) and operand.dim() > 0:
            expect_same_device(name, operand, "x", x)
    if type(dim) in (list, tuple) and len(dim) == 1:
        (dim,) = dim
    given = [operand for operand in (weight, bias) if operand is not None]
    if _takes(x, dim, eps):
        dim = dim % x.dim()
        vectors = [_vector(operand, x, dim) for operand in given]
        if all(vector is not None for vector in vectors):
            gain = None if weight is None else vectors[0]
            offset = None if bias is None else vectors[-1]
            dtype = x.dtype if result_type == "input" else promoted(x.dtype, gain, offset)
            result = _along(x, dim, gain, offset, float(eps), dtype)
            if result is not None:
                return _lies(result, x, dim)
    return _written.layer_norm_along(x, dim, weight, bias, eps, result_type)


def _side_by_side(x, dim):
    """Whether neighbours in memory belong to different rows, and there is a kernel for these."""
    length, count = _FEWEST.get(x.device.type, (0, 0))
    return count > 0 and x.is_contiguous() and x.shape[dim] >= length and math.prod(x.shape[dim + 1 :]) >= count


def _along(x, dim, weight, bias, eps, dtype):
    """None where nothing here takes less time than the expression."""
    last = dim == x.dim() - 1
    rows = x if last else x.movedim(dim, -1)
    if last or rows.is_contiguous():
        strides = _ops.DENSE
    elif _side_by_side(x, dim) and (x.device.type == "cpu" or dtype == x.dtype):
        strides = _ops.BY_OPERAND
    else:
        return None
    result = modulated_norm(rows, weight, bias, None, None, eps, _ops.LAYER_NORM, normed=dtype, strides=strides)
    return result if last else result.movedim(-1, dim)
