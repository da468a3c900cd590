"""Images of twice the size by the nearest place. Entry point: ``upsample_nearest2x``."""

import torch
import torch.nn.functional as F

from .. import _forms
from .._eager import eager
from .._refusals import refusing
from .._served import FLOATING

_PLAIN = (torch.Tensor, torch.nn.Parameter)
_BY_KERNELS = ("cpu", "cuda")
"""The types of device whose kernel is the faster one."""


def _layout(x):
    """How x and torch's result lie where kernels take x: planes of channels, or channels last; else None. What counts
    as both, where a dimension has one place, is torch's to decide."""
    _, channels, height, width = x.shape
    last = x.stride() == (height * width * channels, 1, width * channels, channels)
    if x.is_contiguous():
        # What torch takes to be channels last where planes could as well be meant.
        return None if channels == 1 or height == width == 1 else torch.contiguous_format
    return torch.channels_last if last else None


def _is_served(x):
    if type(x) not in _PLAIN or x.dim() != 4 or x.dtype not in FLOATING or x.device.type not in _BY_KERNELS:
        return False
    if x.layout is not torch.strided or x.numel() == 0 or torch.is_autocast_enabled(x.device.type):
        return False
    layout = _layout(x)
    # On the CPU torch copies vectors of channels at the rate of a copy.
    return layout is not None and not (x.device.type == "cpu" and layout is torch.channels_last)


@eager
def _upsample_nearest2x(x):
    return _forms.upsample_nearest2x(x)


@refusing
def upsample_nearest2x(x):
    """``torch.nn.functional.interpolate(x, scale_factor=2, mode="nearest")``, bit for bit (but for those of NaN) and with its strides.

    Args:
        x: [N, C, H, W]; of float32, float16 and bfloat16, dense planes of channels, and on CUDA channels last too, a
            kernel computes. Other operands, and any under autocast, are torch's, among them [N, C, W] and [N, C, D, H, W].

    Returns:
        [N, C, 2 H, 2 W] of x's type.

    Raises:
        ParametersInvalid: what torch refuses.
    """
    if _is_served(x):
        return _upsample_nearest2x(x)
    return F.interpolate(x, scale_factor=2.0, mode="nearest")
