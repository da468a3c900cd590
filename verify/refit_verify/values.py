"""Values of arguments and results: their tensors, copies of them in other types, and their words.

Entry points: `tensors`, `replaced`, `cast`, `described`, and `wide`, under which code that asks for
a narrow type computes in float64.
"""

from __future__ import annotations

import contextlib
import copy
import dataclasses

import torch
from torch.overrides import TorchFunctionMode

_DEPTH = 6
_WIDE = {
    torch.float16: torch.float64,
    torch.bfloat16: torch.float64,
    torch.float32: torch.float64,
    torch.complex32: torch.complex128,
    torch.complex64: torch.complex128,
}
_CASTS = {"float", "half", "bfloat16"}


def tensors(value, depth: int = _DEPTH) -> list[torch.Tensor]:
    """Every tensor in a value, in order, as far as containers and data classes hold it."""
    if isinstance(value, torch.Tensor):
        return [value]
    if depth == 0:
        return []
    return [tensor for part in _parts(value) for tensor in tensors(part, depth - 1)]


def _parts(value) -> list:
    if isinstance(value, dict):
        return list(value.values())
    if isinstance(value, (list, tuple)):
        return list(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return [getattr(value, field.name, None) for field in dataclasses.fields(value)]
    return []


def modules(value, depth: int = _DEPTH) -> list[torch.nn.Module]:
    """Every module in a value, in order, without those inside of one."""
    if isinstance(value, torch.nn.Module):
        return [value]
    if depth == 0:
        return []
    return [module for part in _parts(value) for module in modules(part, depth - 1)]


def replaced(value, make, depth: int = _DEPTH):
    """The value with another tensor in the place of each, made by `make`."""
    if isinstance(value, torch.Tensor):
        return make(value)
    if depth == 0:
        return value
    if isinstance(value, dict) and type(value) is dict:
        return {name: replaced(part, make, depth - 1) for name, part in value.items()}
    if isinstance(value, list) and type(value) is list:
        return [replaced(part, make, depth - 1) for part in value]
    if isinstance(value, tuple):
        parts = [replaced(part, make, depth - 1) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return value


def copied(value):
    """The value with tensors of its own, so that what code writes into them stays there."""
    return replaced(value, lambda tensor: tensor.detach().clone())


def finite(results) -> bool:
    return all(bool(t.isfinite().all()) for t in results if t.is_floating_point() or t.is_complex())


def widened(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.detach().to(_WIDE.get(tensor.dtype, tensor.dtype), copy=True)


def wide_copy(value):
    """A copy in float64: tensors, and the parameters and buffers of modules."""
    if isinstance(value, torch.nn.Module):
        with torch.no_grad():
            return copy.deepcopy(value)._apply(widened)
    if isinstance(value, (list, tuple)) and any(modules(part) for part in value):
        return type(value)([wide_copy(part) for part in value])
    if isinstance(value, dict) and modules(value):
        return {name: wide_copy(part) for name, part in value.items()}
    return replaced(value, widened)


class _Wide(TorchFunctionMode):
    """Puts float64 where a call of torch names a narrower type."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if getattr(function, "__name__", "") in _CASTS and args and isinstance(args[0], torch.Tensor):
            return args[0].to(torch.float64) if args[0].is_floating_point() else args[0].double()
        args = tuple(_WIDE.get(part, part) if isinstance(part, torch.dtype) else part for part in args)
        kwargs = {
            name: _WIDE.get(part, part) if isinstance(part, torch.dtype) else part
            for name, part in kwargs.items()
        }
        return function(*args, **kwargs)


@contextlib.contextmanager
def wide():
    """Code inside computes in float64, also where it asks for float32."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        with _Wide():
            yield
    finally:
        torch.set_default_dtype(before)


def described(arguments) -> str:
    """The arguments of a call, `(args, kwargs)`, for a reader."""
    args, kwargs = arguments
    named = [("", value) for value in args] + list(kwargs.items())
    shown = [f"{name}{': ' if name else ''}{_one(value)}" for name, value in named]
    text = ", ".join(shown)
    return text if len(text) <= 300 else text[:297] + "..."


def _one(value) -> str:
    if isinstance(value, torch.Tensor):
        return f"{str(value.dtype).removeprefix('torch.')} {list(value.shape)}"
    if isinstance(value, (list, tuple)) and tensors(value):
        return f"({', '.join(_one(part) for part in value)})"
    if value is None or isinstance(value, (bool, int, float, str)):
        return repr(value)
    return type(value).__name__
