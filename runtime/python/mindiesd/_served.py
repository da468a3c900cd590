"""Whether libmindiesd has kernels for operands. Entry points: ``backend``, ``rotation_backend``."""

import torch

from . import _library

FLOATING = (torch.float32, torch.float16, torch.bfloat16)
_MASKS = (*FLOATING, torch.bool)
_TABLES = (*FLOATING, torch.float64)


def backend(x, *others):
    """``"kernels"`` where libmindiesd has kernels for the device and the types, else ``"math"``."""
    if x.device.type not in _library.DEVICES or x.dtype not in FLOATING:
        return "math"
    if x.dim() > _library.MAX_NDIM:
        return "math"
    for other in others:
        if other is not None and (other.dtype not in _MASKS or other.dim() > _library.MAX_NDIM):
            return "math"
    return "kernels"


def rotation_backend(tables, *tensors):
    """``backend``; the kernels read tables of float64 too, as float32: what that rounds away lies below
    the rounding of results of float32 or less."""
    for table in tables:
        if table is not None and (
            table.dtype not in _TABLES or table.dim() > _library.MAX_NDIM
        ):
            return "math"
    return backend(*tensors)
