"""RMSNorm as a function, with every way of rounding, and as ``torch.nn.RMSNorm``'s stand-in."""

import torch

from .. import _ops
from .._checks import (
    autocast_tensor,
    autocast_type,
    expect_choice,
    expect_inference,
    expect_same_device,
    expect_tensor,
    finite_number,
)
from ..utils import ParametersInvalid

_HALF = (torch.float16, torch.bfloat16)


def _norm_types(result_type, x, weight, bias):
    """(result, type that y is rounded to, type that weight * y is rounded to); float32: no rounding.

    With a bias the sum has the type that torch's promotion gives it, as in diffusers' RMSNorm.
    """
    unrounded = torch.float64 if x == torch.float64 else torch.float32
    if result_type == "float32":
        return unrounded, unrounded, unrounded
    if result_type == "input" or weight is None and bias is None:
        return x, torch.float32, torch.float32
    if result_type == "promoted" or weight is None:
        normalized = x
        product = x if weight is None else torch.promote_types(x, weight)
    else:
        normalized = weight if weight in _HALF else unrounded
        product = torch.promote_types(normalized, weight) if weight in _HALF else weight
    result = product if bias is None else torch.promote_types(product, bias)
    return result, normalized, product


def _norm_vector(name, vector, x):
    """weight or bias as [D] where it is that, possibly under leading ones or as one value."""
    if vector is None:
        return None
    expect_tensor(name, vector)
    expect_same_device(name, vector, "hidden_states", x)
    width = x.shape[-1]
    if vector.shape == (width,):
        return vector
    if vector.numel() == width and vector.dim() > 1 and vector.shape[-1] == width:
        return vector.reshape(width)
    try:
        fits = torch.broadcast_shapes(vector.shape, x.shape) == x.shape
    except RuntimeError:
        fits = False
    if not fits:
        raise ParametersInvalid(
            f"{name} must have shape [{width}], or broadcast against hidden_states of shape "
            f"{list(x.shape)}, but has {list(vector.shape)}."
        )
    return vector.expand(width) if vector.numel() == 1 else vector


def rms_norm(hidden_states, weight=None, eps=1e-6, *, bias=None, result_type="promoted"):
    """y = x / sqrt(mean(x²) + eps) over the last dimension, then weight * y + bias.

    Args:
        hidden_states: [..., D].
        weight, bias: None, or [D] of a type of their own.
        eps: a finite number, or None: the machine epsilon of the computing type (float32 for half
            precisions), as ``torch.nn.RMSNorm(eps=None)``.
        result_type: how the steps are rounded and what the result's type is.
            ``"promoted"``: y rounded to x's type, times weight in the promoted type (Llama, Wan).
            ``"input"``: weight * y + bias in float32, rounded once to x's type (F.rms_norm, Mochi).
            ``"weight"``: y rounded to weight's type where that is half precision and kept in float32
            otherwise; the result has weight's type (T5, diffusers' RMSNorm).
            ``"float32"``: never rounded: float32, or float64 where hidden_states is float64.
            Without weight the first three give x's type.
            In ``"promoted"`` and ``"weight"`` weight * y is rounded before bias is added, and the sum
            has the type of torch's promotion, as in diffusers.models.normalization.RMSNorm.

    Returns:
        A tensor of x's shape: contiguous for ``"input"``, as torch's rms_norm gives it, else in the
        stride order of x. Under ``torch.autocast``, ``"input"`` follows torch's rule for rms_norm.

    Raises:
        ParametersInvalid: an argument has the wrong type, shape, device or value.
    """
    x = hidden_states
    expect_tensor("hidden_states", x)
    expect_choice("result_type", result_type, ("promoted", "input", "weight", "float32"))
    if x.dim() == 0 or not x.is_floating_point():
        raise ParametersInvalid(
            "hidden_states must be a floating tensor with at least one dimension, but is "
            f"{x.dtype} of shape {list(x.shape)}."
        )
    weight = _norm_vector("weight", weight, x)
    bias = _norm_vector("bias", bias, x)
    expect_inference(x, weight, bias)
    if result_type == "input" and autocast_type(x, "aten::rms_norm") is not None:
        x, weight, bias = (autocast_tensor(t, torch.float32) for t in (x, weight, bias))
    if eps is None:
        eps = torch.finfo(torch.float64 if x.dtype == torch.float64 else torch.float32).eps
    else:
        eps = finite_number("eps", eps)
        if eps < 0.0:
            raise ParametersInvalid(f"eps must not be negative, but is {eps}.")
    types = _norm_types(
        result_type, x.dtype, weight.dtype if weight is not None else None,
        bias.dtype if bias is not None else None,
    )  # fmt: skip
    return _ops.rms_norm(x, weight, bias, eps, *types, result_type == "input")


class RMSNorm(torch.nn.RMSNorm):
    """``torch.nn.RMSNorm`` with the runtime's kernel: same constructor, attributes, parameters and
    ``isinstance`` relations.

    Over more than one dimension, and where a gradient is wanted, torch's own forward runs.
    """

    def forward(self, x):
        """x: [..., *normalized_shape]; the result has x's shape and type."""
        wants_gradient = torch.is_grad_enabled() and (
            x.requires_grad or (self.weight is not None and self.weight.requires_grad)
        )
        if len(self.normalized_shape) != 1 or wants_gradient:
            return super().forward(x)
        if x.dim() == 0 or x.shape[-1] != self.normalized_shape[0]:
            raise RuntimeError(
                f"expected the last dimension to be {self.normalized_shape[0]}, but the input has "
                f"shape {list(x.shape)}"
            )
        return rms_norm(x, self.weight, self.eps, result_type="input")
