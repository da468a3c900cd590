"""Norms: RMSNorm with every way of rounding, LayerNorm, both modulated or of a sum, and which modules are
such norms."""

import torch
from torch.nn.modules import module as module_hooks
from torch.nn.modules.normalization import LayerNorm
from torch.nn.modules.normalization import RMSNorm as TorchRMSNorm

from .. import _forms, _math, _ops, _torch_rms, _written
from .._checks import (
    autocast_tensor,
    autocast_type,
    expect_choice,
    expect_same_device,
    expect_tensor,
    is_either,
    number,
    promoted,
)
from .._eager import eager, stands_in
from .._refusals import refusing
from ..utils import ParametersInvalid
from ._casting import merely_casts

_HALF = (torch.float16, torch.bfloat16)
_RESULTS = ("promoted", "input", "weight", "float32", "torch")
_STRIDES = {"hidden_states": _ops.BY_OPERAND, "root": _ops.BY_ROOT, "dense": _ops.DENSE}


def _norm_types(result_type, x, weight, bias):
    """(result, type that y is rounded to, type that weight * y is rounded to); float32: no rounding.

    With a bias the sum has the type that torch's promotion gives it, as in diffusers' RMSNorm.
    """
    unrounded = torch.float64 if x == torch.float64 else torch.float32
    if result_type == "float32":
        return unrounded, unrounded, unrounded
    if result_type == "torch" and _torch_rms.PROMOTES:
        result = x if weight is None else torch.promote_types(x, weight)
        return result, torch.float32, torch.float32
    if result_type in ("input", "torch") or weight is None and bias is None:
        return x, torch.float32, torch.float32
    if result_type == "promoted" or weight is None:
        normalized = x
        product = x if weight is None else torch.promote_types(x, weight)
    else:
        normalized = weight if weight in _HALF else unrounded
        product = torch.promote_types(normalized, weight)
    result = product if bias is None else torch.promote_types(product, bias)
    return result, normalized, product


def _eps(eps, x):
    """eps as a float; None is what torch's rms_norm takes then. A negative one, or none that is finite,
    gives what it gives in torch: ``_forms`` has torch compute."""
    if eps is None:
        wide = x.dtype == torch.float64 or _torch_rms.OWN_EPS
        return torch.finfo(x.dtype if wide else torch.float32).eps
    return number("eps", eps)


def _expect_rows(name, x):
    expect_tensor(name, x)
    if x.dim() == 0 or not x.is_floating_point():
        raise ParametersInvalid(
            f"{name} must be a floating tensor with at least one dimension, but is "
            f"{x.dtype} of shape {list(x.shape)}."
        )


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


@eager
def rms_norm(
    hidden_states,
    weight=None,
    eps=1e-6,
    *,
    bias=None,
    result_type="promoted",
    strides="hidden_states",
):
    """y = x / sqrt(mean(x²) + eps) over the last dimension, then weight * y + bias.

    Args:
        hidden_states: [..., D]; torch's operators compute for whole numbers.
        weight, bias: None, or [D] of a type of their own.
        eps: a number, or None: the machine epsilon that ``torch.nn.RMSNorm(eps=None)`` takes
            (that of float32 for half precisions; of the operand's own type before torch 2.8).
        result_type: how the steps are rounded and what the result's type is.
            ``"promoted"``: y rounded to x's type, times weight in the promoted type (Llama, Wan).
            ``"input"``: weight * y + bias in float32, rounded once to x's type (Mochi).
            ``"weight"``: y rounded to weight's type where that is half precision and kept in float32
            otherwise; the result has weight's type (T5, diffusers' RMSNorm).
            ``"float32"``: never rounded: float32, or float64 where hidden_states is float64.
            ``"torch"``: as ``"input"``, but type, strides and what ``torch.autocast`` does are those
            of the torch in use (F.rms_norm, torch.nn.RMSNorm). Before torch 2.8 that is the promoted
            type.
            Without weight the first three give x's type.
            In ``"promoted"`` and ``"weight"`` weight * y is rounded before bias is added, and the sum
            has the type of torch's promotion, as in diffusers.models.normalization.RMSNorm.
        strides: what stands first in the product that this call replaces, whose stride order its result
            has: ``"hidden_states"``, or ``"root"``, which orders all dimensions but the last as a
            contiguous tensor has them (``torch.rsqrt(…) * x``); or ``"dense"``: contiguous. ``"torch"``
            does not read it.

    Returns:
        A tensor of x's shape; contiguous for ``"torch"`` where the torch in use gives it so.

    Raises:
        ParametersInvalid: an argument has the wrong type, shape, device or value.
    """
    x = hidden_states
    expect_tensor("hidden_states", x)
    expect_choice("result_type", result_type, _RESULTS)
    expect_choice("strides", strides, tuple(_STRIDES))
    number_alone = not isinstance(eps, torch.Tensor) or eps.dim() == 0
    if not (_written.is_usual(x) and number_alone) and not x.is_complex():
        return _written.rms_norm(x, weight, bias, eps, result_type, strides)
    _expect_rows("hidden_states", x)
    weight = _norm_vector("weight", weight, x)
    bias = _norm_vector("bias", bias, x)
    if result_type == "torch":
        strides = "dense" if _torch_rms.CONTIGUOUS else "hidden_states"
        if autocast_type(x, _torch_rms.AUTOCAST_RULE) is not None:
            x, weight, bias = (autocast_tensor(t, torch.float32) for t in (x, weight, bias))
    eps = _eps(eps, x)
    types = _norm_types(
        result_type, x.dtype, weight.dtype if weight is not None else None,
        bias.dtype if bias is not None else None,
    )  # fmt: skip
    if x.is_nested:  # no kernel, and no operator of ours, takes these
        return _math.rms_norm(x, weight, bias, eps, *types)
    return _forms.rms_norm(x, weight, bias, eps, *types, _STRIDES[strides])


@eager
def add_rms_norm(x, residual, weight=None, eps=1e-6, *, result_type="promoted"):
    """sum = x + residual, then ``rms_norm`` of the sum, in one pass.

    Args:
        x, residual: floating tensors of one shape [..., D].
        weight: None or [D] of a type of its own.
        eps: as in ``rms_norm``.
        result_type: the type of the norm's result, as in ``rms_norm``. The sum is not rounded before it
            is normalised, nor is the norm before the weight.

    Returns:
        (sum, normalised): the sum in the promoted type of x and residual.

    Raises:
        ParametersInvalid: an argument has the wrong type, shape, device or value.
    """
    _expect_rows("x", x)
    _expect_rows("residual", residual)
    expect_choice("result_type", result_type, _RESULTS)
    expect_same_device("residual", residual, "x", x)
    if x.shape != residual.shape:
        raise ParametersInvalid(
            f"residual must have the shape of x, {list(x.shape)}, but has {list(residual.shape)}."
        )
    weight = _width_vector("weight", weight, x)
    sum_dtype = torch.promote_types(x.dtype, residual.dtype)
    normed = sum_dtype
    if result_type == "torch" and autocast_type(x, _torch_rms.AUTOCAST_RULE) is not None:
        normed, weight = torch.float32, autocast_tensor(weight, torch.float32)
    dtype, _, _ = _norm_types(result_type, normed, None if weight is None else weight.dtype, None)
    return _forms.residual_norm(
        x, residual, None, weight, None, None, None, _eps(eps, x), _ops.RMS_NORM, sum_dtype, dtype,
        False, None, None,
    )  # fmt: skip


def _width_vector(name, vector, x):
    """None, or [D] as it is."""
    if vector is None:
        return None
    expect_tensor(name, vector)
    expect_same_device(name, vector, "x", x)
    if vector.shape != x.shape[-1:] or not vector.is_floating_point():
        raise ParametersInvalid(
            f"{name} must be a floating tensor of shape [{x.shape[-1]}], but is {vector.dtype} of "
            f"shape {list(vector.shape)}."
        )
    return vector


def rows_of(name, tensor, x):
    """A gate, scale or shift that broadcasts to x: [B, H] beside [B, S, H] means [B, 1, H]."""
    if tensor is None:
        return None
    expect_tensor(name, tensor)
    expect_same_device(name, tensor, "x", x)
    if not tensor.is_floating_point():
        raise ParametersInvalid(f"{name} must be a floating tensor, but is {tensor.dtype}.")
    if x.dim() == 3 and tensor.dim() == 2 and is_either(tensor.shape[0], 1, x.shape[0]):
        tensor = tensor[:, None, :]
    try:
        fits = torch.broadcast_shapes(tensor.shape, x.shape) == x.shape
    except RuntimeError:
        fits = False
    if not fits:
        raise ParametersInvalid(
            f"{name} must have shape [B, H], [B, 1, H] or [B, S, H] for x of shape {list(x.shape)}, "
            f"but has {list(tensor.shape)}."
        )
    return tensor


def _torch_norm_type(x, weight, dtype, kind):
    """The type of torch's own norm of a ``dtype`` tensor on x's device."""
    rule = "aten::layer_norm" if kind == _ops.LAYER_NORM else _torch_rms.AUTOCAST_RULE
    if kind == _ops.RMS_NORM and _torch_rms.PROMOTES:
        dtype = promoted(dtype, weight)
    return torch.float32 if dtype != torch.float64 and autocast_type(x, rule) is not None else dtype


@eager
def modulated_norm(
    x, weight, bias, scale, shift, eps, kind, normed=None, strides=_ops.DENSE
):
    """norm(x) * (1 + scale) + shift over the last dimension, ``kind`` and ``strides`` as in ``_ops``:
    the operator behind ``layer_norm``, ``fast_layernorm`` and ``layernorm_scale_shift``. ``normed`` is
    the norm's own type where that is not what torch's norm of x has."""
    _expect_rows("x", x)
    weight, bias = _width_vector("weight", weight, x), _width_vector("bias", bias, x)
    scale, shift = rows_of("scale", scale, x), rows_of("shift", shift, x)
    dtype = promoted(normed or _torch_norm_type(x, weight, x.dtype, kind), scale, shift)
    if x.is_nested:
        return _math.fused_norm(x, weight, bias, scale, shift, _eps(eps, x), kind).to(dtype)
    return _forms.norm_scale_shift(
        x, weight, bias, scale, shift, _eps(eps, x), kind, dtype, strides
    )


@refusing
def layer_norm(x, normalized_shape, weight=None, bias=None, eps=1e-5):
    """LayerNorm (arXiv 1607.06450) over the dimensions of ``normalized_shape``, as
    ``torch.nn.functional.layer_norm`` with the same arguments.

    Args:
        x: [..., *normalized_shape].
        normalized_shape: an int, or a list, tuple or torch.Size of ints.
        weight, bias: None, or of shape normalized_shape and a type of their own.
        eps: added to the variance.

    Returns:
        A contiguous tensor of x's shape and type. Under ``torch.autocast`` the type follows torch's
        rule for layer_norm.

    Raises:
        ParametersInvalid: an argument has the wrong type, shape, device or value.
    """
    _expect_rows("x", x)
    shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
    if not shape or tuple(x.shape[-len(shape) :]) != shape:
        raise ParametersInvalid(
            f"normalized_shape must be x's last sizes, but is {list(shape)} for x of shape "
            f"{list(x.shape)}."
        )
    if len(shape) == 1:
        return modulated_norm(x, weight, bias, None, None, eps, _ops.LAYER_NORM)
    for name, tensor in (("weight", weight), ("bias", bias)):
        expect_tensor(name, tensor, optional=True)
        if tensor is not None and tuple(tensor.shape) != shape:
            raise ParametersInvalid(
                f"{name} must have shape {list(shape)}, but has {list(tensor.shape)}."
            )
    flat = (None if t is None else t.flatten() for t in (weight, bias))
    rows = x.flatten(x.dim() - len(shape))
    return modulated_norm(rows, *flat, None, None, eps, _ops.LAYER_NORM).reshape(x.shape)


# Other code may have replaced torch's classes, or their forward, before or since.
_TORCH_FORWARD = {
    f"{cls.__name__}.forward": cls.forward
    for cls in (LayerNorm, TorchRMSNorm)
    if cls.forward.__module__ == cls.__module__
}


def module_norm(norm):
    """(weight, bias, eps, kind) of a module whose call is nothing but the norm over the last dimension;
    None where it is something else: hooks, a ``forward`` of the instance or of a subclass, several
    dimensions."""
    forward = getattr(type(norm), "forward", None)
    if forward is None:  # a traced module
        return None
    if forward is _TORCH_FORWARD.get("LayerNorm.forward"):
        shape, eps, kind, bias = norm.normalized_shape, norm.eps, _ops.LAYER_NORM, norm.bias
    elif forward is RMSNorm.forward or forward is _TORCH_FORWARD.get("RMSNorm.forward"):
        shape, eps, kind, bias = norm.normalized_shape, norm.eps, _ops.RMS_NORM, None
    else:
        return None
    if len(shape) != 1 or has_hooks(norm):
        return None
    return norm.weight, bias, eps, kind


def casting_norm(norm, x):
    """What ``module_norm`` gives, of a LayerNorm whose class merely casts around it: the result has
    the type of ``x``, whatever autocast says. None where it is something else."""
    if LayerNorm.forward is not _TORCH_FORWARD.get("LayerNorm.forward"):
        return None
    if not x.is_floating_point() or not merely_casts(type(norm)):
        return None
    if len(norm.normalized_shape) != 1 or has_hooks(norm):
        return None
    return norm.weight, norm.bias, norm.eps, _ops.LAYER_NORM


_MODULE_CALL = module_hooks.Module.__call__
# torch's own question, _has_any_global_hook, came after 2.4. torch changes these in place.
_hooks_of_all_modules = tuple(
    getattr(module_hooks, f"_global_{kind}_hooks")
    for kind in ("forward", "forward_pre", "backward", "backward_pre")
)


def has_hooks(module):
    """Whether calling the module does more, or other, than its class's ``forward``."""
    return bool(
        "forward" in module.__dict__
        or type(module).__call__ is not _MODULE_CALL
        or module._forward_hooks
        or module._forward_pre_hooks
        or module._backward_hooks
        or module._backward_pre_hooks
        or any(_hooks_of_all_modules)
    )


class RMSNorm(TorchRMSNorm):
    """``torch.nn.RMSNorm`` with the runtime's kernel: same constructor, attributes, parameters and
    ``isinstance`` relations.

    Over more than one dimension, and where a gradient is wanted, torch's own forward runs.
    """

    @refusing
    def forward(self, x):
        """x: [..., *normalized_shape]; the result has x's shape and type."""
        if stands_in(x):
            return super().forward(x)
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
        return rms_norm(x, self.weight, self.eps, result_type="torch")
