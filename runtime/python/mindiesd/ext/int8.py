"""Linear layers whose weight is int8, with one scale for each output. Entry points: ``int8_linear``, ``quantize_int8``
and the module ``Int8Linear``."""

import torch
from torch import nn

from .. import _forms
from .._checks import autocast_tensor, autocast_type, expect_same_device, expect_tensor
from .._eager import eager
from .._refusals import refusing
from ..utils import ParametersInvalid

_LARGEST = 127
_AUTOCAST_RULE = "aten::linear"


@eager
def _int8_linear(x, weight, scales, bias):
    return _forms.int8_linear(x, weight, scales, bias)


def _expect_shape(name, tensor, shape, what):
    if tuple(tensor.shape) != tuple(shape):
        raise ParametersInvalid(f"{name} must have shape {list(shape)}, {what}, but has {list(tensor.shape)}.")


@refusing
def int8_linear(x, weight, scales, bias=None):
    """``x @ (scales[:, None] * weight).T + bias`` with an int8 weight.

    Up to 16 rows of x are one pass over the weight, which reads a half of a half type's bytes; sums are float32 and
    rounded once. More rows, other layouts, float32 on a GPU and float64 are a matrix product with the weight widened to
    x's type.

    Args:
        x: [..., K], floating.
        weight: [N, K], int8.
        scales: [N], float32.
        bias: None, or [N], of x's type.

    Returns:
        A tensor [..., N] of x's type, under ``torch.autocast`` of the type to which that casts a linear layer's input.

    Raises:
        ParametersInvalid: an argument has the wrong type, shape or device.
    """
    for name, tensor in (("x", x), ("weight", weight), ("scales", scales)):
        expect_tensor(name, tensor)
    expect_tensor("bias", bias, optional=True)
    if weight.dtype != torch.int8 or weight.dim() != 2:
        raise ParametersInvalid(
            f"weight must be int8 of shape [N, K], but is {weight.dtype} of shape {list(weight.shape)}."
        )
    if not x.is_floating_point() or x.dim() == 0 or x.shape[-1] != weight.shape[1]:
        raise ParametersInvalid(
            f"x must be floating with {weight.shape[1]} values in its last dimension, as weight has in its second, but "
            f"is {x.dtype} of shape {list(x.shape)}."
        )
    if scales.dtype != torch.float32:
        raise ParametersInvalid(f"scales must be float32, but is {scales.dtype}.")
    cast = autocast_type(x, _AUTOCAST_RULE)
    if cast is not None:
        x, bias = autocast_tensor(x, cast), autocast_tensor(bias, cast)
    for name, tensor in (("scales", scales), ("bias", bias)):
        if tensor is not None:
            _expect_shape(name, tensor, weight.shape[:1], "one value for each row of weight")
            expect_same_device(name, tensor, "x", x)
    expect_same_device("weight", weight, "x", x)
    if bias is not None and bias.dtype != x.dtype:
        raise ParametersInvalid(f"bias must have the type of x, {x.dtype}, but is {bias.dtype}.")
    return _int8_linear(x, weight, scales, bias)


@refusing
def quantize_int8(weight):
    """An int8 weight and its scales: of each row the largest magnitude becomes 127.

    Every value of ``scales[:, None] * result`` lies within half a scale of the weight's, ``max(abs(row)) / 254``.

    Args:
        weight: [N, K], floating and finite.

    Returns:
        (int8 [N, K], float32 scales [N]).

    Raises:
        ParametersInvalid: weight has the wrong type or shape, or a value that is not finite.
    """
    expect_tensor("weight", weight)
    if not weight.is_floating_point() or weight.dim() != 2 or 0 in weight.shape:
        raise ParametersInvalid(
            "weight must be floating of shape [N, K] with values in it, but is "
            f"{weight.dtype} of shape {list(weight.shape)}."
        )
    with torch.no_grad():
        wide = weight.detach().float()
        largest = wide.abs().amax(1)
        if not bool(largest.isfinite().all()):
            raise ParametersInvalid("weight must be finite, but has infinite values or NaN.")
        # A row of zeros, or of values whose 127th part is none, has no scale of its own.
        scales = (largest / _LARGEST).clamp_min(torch.finfo(torch.float32).tiny)
        quantized = (wide / scales[:, None]).round_().clamp_(-_LARGEST, _LARGEST)
        return quantized.to(torch.int8), scales


class Int8Linear(nn.Module):
    """``torch.nn.Linear`` with an int8 weight, for inference: buffers ``weight`` [N, K], ``scales`` [N] and, where there
    is one, ``bias`` [N] in the type of the activations. ``Int8Linear.of(linear)`` makes one of a layer."""

    def __init__(self, weight, scales, bias=None):
        super().__init__()
        self.register_buffer("weight", weight)
        self.register_buffer("scales", scales)
        self.register_buffer("bias", bias)

    @classmethod
    def of(cls, linear):
        """The layer with its weight quantised (``quantize_int8``); the bias is that of the layer.

        Raises:
            ParametersInvalid: it is no ``torch.nn.Linear``, or its weight is not finite.
        """
        if not isinstance(linear, nn.Linear):
            raise ParametersInvalid(f"linear must be a torch.nn.Linear, but is {type(linear).__name__}.")
        weight, scales = quantize_int8(linear.weight)
        bias = None if linear.bias is None else linear.bias.detach()
        return cls(weight, scales, bias)

    @property
    def in_features(self):
        return self.weight.shape[1]

    @property
    def out_features(self):
        return self.weight.shape[0]

    def _apply(self, fn, recurse=True):
        """As ``Module.to`` calls it, but the scales keep float32, which half types would round."""
        kept = self.scales
        super()._apply(fn, recurse)
        if self.scales.dtype != torch.float32:
            self.scales = kept.to(self.scales.device)
        return self

    def forward(self, x):
        return int8_linear(x, self.weight, self.scales, self.bias)

    def extra_repr(self):
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"
