"""Checks and conversions that the public functions share: argument types, numbers, autocast."""

import math

import torch

from . import _torch_rms
from .utils import ParametersInvalid


def expect_tensor(name, value, optional=False):
    if isinstance(value, torch.Tensor) or (optional and value is None):
        return
    raise ParametersInvalid(f"{name} must be a torch.Tensor, but is {type(value).__name__}.")


def expect_choice(name, value, choices):
    # Names and types; of an array or a tensor `in` would ask whether its elements are the choice.
    if isinstance(value, (str, int, type(None), torch.dtype)) and value in choices:
        return
    wanted = ", ".join(repr(choice) for choice in choices)
    raise ParametersInvalid(f"{name} must be one of {wanted}, but is {value!r}.")


def is_either(size, one, other):
    """``size in (one, other)``, which torch.compile does not trace for sizes that may vary: it finds
    such a size in no tuple."""
    return size == one or size == other


def expect_bool(name, value):
    if not isinstance(value, bool):
        raise ParametersInvalid(f"{name} must be a bool, but is {type(value).__name__}.")


def flag(name, value):
    """A bool from a bool or a 0-dimensional tensor."""
    if isinstance(value, torch.Tensor) and value.dim() == 0:
        return bool(value)
    expect_bool(name, value)
    return value


def expect_callable(name, value):
    if not callable(value):
        raise ParametersInvalid(f"{name} must be a module, but is {type(value).__name__}.")


def expect_same_device(name, value, reference_name, reference):
    if value.device != reference.device:
        raise ParametersInvalid(
            f"{name} must be on the device of {reference_name}, {reference.device}, but is on "
            f"{value.device}."
        )


def number(name, value, optional=False):
    """A float from a float, an int, a bool or a 0-dimensional tensor."""
    if value is None and optional:
        return None
    if isinstance(value, torch.Tensor) and value.dim() == 0:
        value = value.item()
    if not isinstance(value, (int, float)):
        kind = type(value).__name__
        if isinstance(value, torch.Tensor):
            kind = f"a tensor of shape {list(value.shape)}"
        raise ParametersInvalid(f"{name} must be a number, but is {kind}.")
    return float(value)


def finite_number(name, value):
    value = number(name, value)
    # A comparison, since torch.compile traces no math.isfinite of a number that may vary.
    if not -math.inf < value < math.inf:
        raise ParametersInvalid(f"{name} must be finite, but is {value}.")
    return value


def promoted(dtype, *tensors):
    """The type of an expression of a ``dtype`` tensor and these; 0-dimensional ones do not widen.
    (torch.result_type says the same, but torch.compile cannot trace it.)"""
    for tensor in tensors:
        if tensor is not None and tensor.dim() > 0:
            dtype = torch.promote_types(dtype, tensor.dtype)
    return dtype


# Whether torch's autocast has a rule for its own operator, by type of device: asked of torch once,
# since its lists differ between devices and versions.
_CASTS = {
    (operator, device_type): torch._C._dispatch_has_kernel_for_dispatch_key(operator, key)
    for operator in (
        "aten::scaled_dot_product_attention", _torch_rms.AUTOCAST_RULE,
        "aten::layer_norm", "aten::softmax.int", "aten::linear",
    )
    for device_type, key in (("cpu", "AutocastCPU"), ("cuda", "AutocastCUDA"))
}


def autocast_type(tensor, operator):
    """The type that autocast asks for, or None: off, or no rule for ``operator`` on this device."""
    device_type = tensor.device.type
    if not _CASTS.get((operator, device_type)) or not torch.is_autocast_enabled(device_type):
        return None
    return torch.get_autocast_dtype(device_type)


def autocast_tensor(tensor, dtype):
    """Autocast's own rule: floating tensors are cast, except float64."""
    if tensor is None or not tensor.is_floating_point() or tensor.dtype == torch.float64:
        return tensor
    return tensor.to(dtype)
