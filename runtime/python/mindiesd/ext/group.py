"""GroupNorm, with or without an activation behind it. Entry point: ``group_norm``."""

import math

import torch
from torch import nn

from .. import _block_ops, _forms
from .._checks import expect_callable, expect_choice, expect_tensor
from .._eager import eager
from .._refusals import refusing
from ..utils import ParametersInvalid
from . import activation as _activations
from .norm import has_hooks

_GROUP_NORM_FORWARD = nn.GroupNorm.forward
_FORMATS = {4: torch.channels_last, 5: torch.channels_last_3d}


def _norm_parts(norm, x):
    """(weight, bias, groups, eps) where calling the module is nothing but ``torch.nn.functional.group_norm`` of
    plain tensors; None where it is something else."""
    if not isinstance(norm, nn.GroupNorm) or type(norm).forward is not _GROUP_NORM_FORWARD:
        return None
    if has_hooks(norm) or x.is_nested or not x.is_floating_point() or x.dim() < 2:
        return None
    if torch.is_autocast_enabled(x.device.type):
        return None
    weight, bias = norm.weight, norm.bias
    for tensor in (weight, bias):
        if tensor is None:
            continue
        # torch takes parameters of float32 beside an operand of half precision, on some devices only.
        if type(tensor) not in (torch.Tensor, nn.Parameter) or tensor.device != x.device:
            return None
        if tensor.dtype != x.dtype or tensor.shape != x.shape[1:2]:
            return None
    if x.shape[1] != norm.num_channels or x.numel() == 0 or not 0.0 <= norm.eps < math.inf:
        return None
    if x.shape[1] == x.numel() // x.shape[0] == norm.num_groups:
        return None  # one value in each group, which torch refuses
    return weight, bias, norm.num_groups, norm.eps


def _silu_follows(activation):
    """Whether SiLU follows; None where the activation is a module that has to be called."""
    if activation is None:
        return False
    if isinstance(activation, str):
        expect_choice("activation", activation, ("silu",))
        return True
    if not isinstance(activation, nn.Module):
        raise ParametersInvalid(
            f"activation must be None, 'silu' or a module, but is {type(activation).__name__}."
        )
    if type(activation).forward is nn.Identity.forward and not has_hooks(activation):
        return False
    return True if _activations.name_of(activation) == "silu" else None


def _lies_last(x):
    """Whether torch takes x's channels to lie behind each other, as it does for the layout of results."""
    suggested = torch._prims_common.suggest_memory_format(x) if x.dim() in _FORMATS else None
    return suggested is not None and suggested == _FORMATS[x.dim()]


def _is_torchs(x, silu, channels_last):
    """Whether torch's norm is the faster one: on the CPU it takes all channels of a position together, and has one
    call less to make where no activation follows."""
    return x.device.type == "cpu" and (channels_last or not silu and x.dtype != torch.float16)


@eager
def _group_norm(x, weight, bias, groups, eps, silu, dtype, channels_last):
    return _forms.group_norm(x, weight, bias, groups, eps, silu, dtype, channels_last)


@refusing
def group_norm(norm, x, activation=None, *, strides="torch"):
    """``activation(norm(x))`` for a ``torch.nn.GroupNorm``, in float32 and not rounded between the two.

    Args:
        norm: the module. One with hooks, a replaced ``forward``, weights of a type of their own or a subclass with
            a ``forward`` of its own is called, as is any other module, and any under autocast.
        x: [N, C, ...].
        activation: None, ``"silu"``, or a module: ``torch.nn.SiLU`` and ``torch.nn.Identity`` count as what they
            compute, any other is called.
        strides: ``"torch"``: the result lies as that of torch's group_norm: dense, but on the CPU channels last
            where x lies so. ``"x"``: channels last where x lies so, on every device: what follows must not be able
            to tell.

    Returns:
        A tensor of x's shape and of the type of ``activation(norm(x))``.

    Raises:
        ParametersInvalid: an argument has the wrong type or value.
    """
    expect_tensor("x", x)
    expect_choice("strides", strides, ("torch", "x"))
    silu = _silu_follows(activation)
    parts = _norm_parts(norm, x)
    last = parts is not None and _lies_last(x) and (strides == "x" or not x.is_cuda)
    if parts is None or _is_torchs(x, silu, last):
        expect_callable("norm", norm)
        result = norm(x)
        if silu is None:
            return activation(result)
        return _activations.silu(result) if silu else result
    weight, bias, groups, eps = parts
    # A call that copies cannot be repeated as it is: the copy is made before it.
    lying = x if torch.compiler.is_compiling() else _block_ops.group_operand(x, last)
    result = _group_norm(lying, weight, bias, groups, float(eps), bool(silu), x.dtype, last)
    return activation(result) if silu is None else result
