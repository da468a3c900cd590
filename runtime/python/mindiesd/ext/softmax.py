"""Softmax with scale, bias and guards."""

import torch

from .. import _forms, _math, _ops, _written
from .._checks import (
    autocast_type,
    expect_choice,
    expect_same_device,
    expect_tensor,
    number,
    promoted,
)
from .._eager import eager
from ..utils import ParametersInvalid

_SUBTRACT = {None: _ops.SUBTRACT_NONE, "row": _ops.SUBTRACT_ROW, "global": _ops.SUBTRACT_GLOBAL}


def _expect_fits(name, tensor, input):
    expect_same_device(name, tensor, "input", input)
    try:
        fits = torch.broadcast_shapes(tensor.shape, input.shape) == input.shape
    except RuntimeError:
        fits = False
    if not fits:
        raise ParametersInvalid(
            f"{name} must broadcast to input's shape {list(input.shape)}, but has "
            f"{list(tensor.shape)}."
        )


@eager
def softmax(
    input,
    dim=-1,
    *,
    scale=None,
    bias=None,
    subtract=None,
    clamp_min=None,
    clamp_max=None,
    mask=None,
    mask_value=None,
    dtype=None,
):
    """Softmax along ``dim`` after, in this order: scale and bias, subtract, clamp, mask.

    Args:
        input: a floating tensor; torch's operators compute for whole numbers.
        scale: None or a number: the input is multiplied by it.
        bias: None or a floating tensor that broadcasts to input: added to the product.
        subtract: None, ``"row"`` (the maximum along dim) or ``"global"`` (the maximum of all).
        clamp_min, clamp_max: numbers or None.
        mask: None or broadcastable to input. Boolean: where False, mask_value. Floating: added.
        mask_value: a number; default -inf. Only with a boolean mask.
        dtype: the result's type; default that of input, promoted with bias and with a floating mask.

    Returns:
        A contiguous tensor of input's shape, computed in float32 at least. A row that is -inf
        throughout gives NaN, as in torch. Under ``torch.autocast`` the type follows torch's rule for
        softmax.

    Raises:
        ParametersInvalid: an argument has the wrong type, shape, device or value.
    """
    expect_tensor("input", input)
    expect_tensor("bias", bias, optional=True)
    expect_tensor("mask", mask, optional=True)
    expect_choice("subtract", subtract, tuple(_SUBTRACT))
    if not input.is_floating_point():
        value = float("-inf") if mask_value is None else mask_value
        return _written.softmax(
            input, dim, scale, bias, subtract, clamp_min, clamp_max, mask, value, dtype
        )
    clamp_min = number("clamp_min", clamp_min, optional=True)
    clamp_max = number("clamp_max", clamp_max, optional=True)
    if isinstance(dim, bool) or not isinstance(dim, int):
        raise ParametersInvalid(f"dim must be an int, but is {dim!r}.")
    if not -max(input.dim(), 1) <= dim < max(input.dim(), 1):
        raise ParametersInvalid(
            f"dim must lie in {-max(input.dim(), 1)} to {max(input.dim(), 1) - 1}, but is {dim}."
        )
    scale = 1.0 if scale is None else number("scale", scale)
    if bias is not None:
        if not bias.is_floating_point():
            raise ParametersInvalid(f"bias must be a floating tensor, but is {bias.dtype}.")
        _expect_fits("bias", bias, input)
    if mask is not None:
        if mask.dtype != torch.bool and not mask.is_floating_point():
            raise ParametersInvalid(
                f"mask must be boolean (True keeps) or floating (added), but is {mask.dtype}."
            )
        _expect_fits("mask", mask, input)
    if mask_value is not None and (mask is None or mask.dtype != torch.bool):
        raise ParametersInvalid("mask_value needs a boolean mask.")
    mask_value = float("-inf") if mask_value is None else number("mask_value", mask_value)
    if dtype is None:
        dtype = input.dtype
        for added in (bias, mask):
            if added is not None and added.dtype != torch.bool:
                dtype = promoted(dtype, added)
        if dtype != torch.float64 and autocast_type(input, "aten::softmax.int") is not None:
            dtype = torch.float32
    elif not isinstance(dtype, torch.dtype) or not dtype.is_floating_point:
        raise ParametersInvalid(f"dtype must be a floating torch.dtype, but is {dtype!r}.")
    if input.dim() == 0:
        one = softmax(
            input.reshape(1), scale=scale, bias=None if bias is None else bias.reshape(1),
            subtract=subtract, clamp_min=clamp_min, clamp_max=clamp_max, dtype=dtype,
            mask=None if mask is None else mask.reshape(1),
            mask_value=None if mask is None or mask.dtype != torch.bool else mask_value,
        )  # fmt: skip
        return one.reshape(())
    call = (
        input, dim, scale, bias, _SUBTRACT[subtract], clamp_min, clamp_max, mask, mask_value, dtype
    )  # fmt: skip
    # No kernel, and no operator of ours, takes nested tensors.
    return _math.softmax(*call) if input.is_nested else _forms.softmax(*call)
