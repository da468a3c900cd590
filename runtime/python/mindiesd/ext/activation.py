"""Activations and gated products, as functions and as stand-ins for ``torch.nn``'s modules."""

import torch

from .. import _forms, _math, _ops, _strides, _written
from .._checks import expect_choice, expect_same_device, expect_tensor
from .._eager import eager, overridable, stands_in
from .._refusals import refusing
from ..utils import ParametersInvalid
from ._casting import is_wide_silu
from .norm import has_hooks

_GELUS = {"none": _ops.GELU, "tanh": _ops.GELU_TANH, "fast": _ops.GELU_FAST}
GELU_NAMES = {"none": "gelu", "tanh": "gelu-tanh", "fast": "gelu-fast"}
"""The names of gelu's forms in ``gated``, by those in ``gelu``."""
GATES = {
    "gelu": _ops.GELU,
    "gelu-tanh": _ops.GELU_TANH,
    "gelu-fast": _ops.GELU_FAST,
    "silu": _ops.SILU,
}


def _expect_floating(name, tensor):
    expect_tensor(name, tensor)
    if not tensor.is_floating_point():
        raise ParametersInvalid(f"{name} must be a floating tensor, but is {tensor.dtype}.")


def _counted(x):
    """x, whole numbers in the type that a product with a float gives them."""
    whole = isinstance(x, torch.Tensor) and not (x.is_floating_point() or x.is_complex())
    return x.to(torch.get_default_dtype()) if whole else x


def expect_out(out, shape, x):
    """That a result of this shape, computed from x, can be written into ``out``."""
    _expect_floating("out", out)
    expect_same_device("out", out, "x", x)
    if out.shape != shape:
        raise ParametersInvalid(
            f"out must have the result's shape, {list(shape)}, but has {list(out.shape)}."
        )


def _compute(x, gate, kind, dtype, out=None):
    if out is not None:
        expect_out(out, x.shape, x)
        return _forms.activation_into(x, gate, kind, out)
    if x.is_nested:  # no kernel, and no operator of ours, takes these
        return _math.activation(x, gate, kind).to(dtype)
    return _forms.activation(x, gate, kind, dtype)


@eager
def activate(x, kind, out=None):
    """The activation of number ``kind`` (``_ops.GELU`` …), in x's type and stride order, or in ``out``."""
    _expect_floating("x", x)
    return _compute(x, None, kind, x.dtype, out)


@eager
def gelu(x, approximate="none", *, out=None):
    """x times the standard normal distribution function of x (arXiv 1606.08415).

    Args:
        x: a tensor; whole numbers count in torch's default type, as they do in the products that this call
            replaces. Of what is not floating torch's operators have the say.
        approximate: ``"none"``: with erf; ``"tanh"``: its approximation with tanh, as in torch;
            ``"fast"``: x * sigmoid(1.702 x), which is quick gelu.
        out: None, or a floating tensor of the result's shape, such as a slice of a wider one, in which the
            result is written.

    Returns:
        A tensor of x's shape, type and stride order, or out.

    Raises:
        ParametersInvalid: an argument has the wrong type or value.
    """
    expect_choice("approximate", approximate, tuple(_GELUS))
    x = _counted(x)
    expect_tensor("x", x)
    if out is None and not x.is_floating_point():
        return _written.activation(x, GELU_NAMES[approximate])
    _expect_floating("x", x)
    return _compute(x, None, _GELUS[approximate], x.dtype, out)


@eager
def silu(x, *, result_type="promoted", out=None):
    """x * sigmoid(x), of x's shape, type and stride order; whole numbers count in torch's default type.

    Args:
        x: a tensor of numbers.
        result_type: ``"promoted"``, or ``"input"``: the result has x's type also where that is whole numbers, as
            behind ``F.silu(x.float()).to(x.dtype)``.
        out: as in ``gelu``.

    Raises:
        ParametersInvalid: x is no tensor of numbers, or out does not fit.
    """
    expect_choice("result_type", result_type, ("promoted", "input"))
    if result_type == "input" and isinstance(x, torch.Tensor) and not x.is_floating_point():
        return torch.nn.functional.silu(x.float()).to(x.dtype)
    x = _counted(x)
    expect_tensor("x", x)
    if out is None and not x.is_floating_point():
        return _written.activation(x, "silu")
    _expect_floating("x", x)
    return _compute(x, None, _ops.SILU, x.dtype, out)


@eager
def _gated(x, gate, kind, out=None):
    return _compute(x, gate, kind, torch.promote_types(x.dtype, gate.dtype), out)


@overridable
def gated(x, gate, activation, *, strides="x", out=None):
    """x * activation(gate).

    Args:
        x, gate: floating tensors of one shape, x of no wider type; of others, and of a number x, torch computes the
            product, the activation in the type of gate.
        activation: ``"gelu"``, ``"gelu-tanh"``, ``"gelu-fast"`` or ``"silu"``, or a module: ``torch.nn.GELU``,
            ``torch.nn.SiLU`` and modules that compute SiLU in float32 count as what they compute, any other is
            called, and so is one with hooks.
        strides: ``"x"`` or ``"gate"``, the operand that stands first in the product.
        out: None, or as in ``gelu``; not with a module that has to be called.

    Returns:
        A tensor of that shape and the promoted type, in the stride order of the first operand, or out.

    Raises:
        ParametersInvalid: an option has another value, the activation cannot be called, or out does not fit.
    """
    expect_choice("strides", strides, ("x", "gate"))
    expect_tensor("gate", gate)
    if not _written.is_factor(x):
        raise ParametersInvalid(f"x must be a tensor or a number, but is {type(x).__name__}.")
    # A module that writes over its operand is called to do so.
    name = None if getattr(activation, "inplace", False) else name_of(activation)
    if name is not None and _is_one_pass(x, gate):
        result = _gated(x, gate, GATES[name], out)
        if out is not None or x.stride() == gate.stride():
            return result
        # The order of the product of x and what the activation gives, which has no gaps.
        active = _strides.elementwise(gate.shape, gate)
        operands = (x, active) if strides == "x" else (active, x)
        return _strides.moved(result, _strides.elementwise(x.shape, *operands))
    if out is not None:
        raise ParametersInvalid("out needs an activation known by name and operands of one shape.")
    _expect_product(x, gate)
    active = activation(gate) if name is None else _written.activation(gate, name)
    return x * active if strides == "x" else active * x


def _expect_product(x, gate):
    if not isinstance(x, torch.Tensor) or x.is_nested or gate.is_nested:
        return
    if x.dim() and gate.dim():
        expect_same_device("gate", gate, "x", x)
    try:
        torch.broadcast_shapes(x.shape, gate.shape)
    except RuntimeError:
        raise ParametersInvalid(
            f"gate must have a shape that broadcasts with that of x, {list(x.shape)}, but has {list(gate.shape)}."
        ) from None


def _is_one_pass(x, gate):
    return (
        _written.is_usual(x, gate)
        and not (x.is_nested or gate.is_nested)
        and x.shape == gate.shape
        # A gate of a narrower type has its activation rounded to that.
        and torch.promote_types(x.dtype, gate.dtype) == gate.dtype
        and x.device == gate.device
    )


@eager
def glu(x, activation, *, gate="second", dim=-1, out=None):
    """The product of one half of x and the activation of the other, halves taken along ``dim``.

    Args:
        x: a floating tensor, even in that dimension; what torch makes of another one, torch computes.
        activation: as in ``gated``.
        gate: which half is activated: ``"second"``: first * activation(second) (GEGLU as diffusers
            has it); ``"first"``: activation(first) * second (SwiGLU).

    Returns:
        A tensor with half of the dimension, of x's type.

    Raises:
        ParametersInvalid: an argument has the wrong type, shape or value.
    """
    expect_choice("gate", gate, ("first", "second"))
    expect_choice("activation", activation, tuple(GATES))
    expect_tensor("x", x)
    if isinstance(dim, bool) or not isinstance(dim, int) or not -x.dim() <= dim < x.dim():
        raise ParametersInvalid(
            f"dim must be an int in {-x.dim()} to {x.dim() - 1}, but is {dim!r}."
        )
    if x.shape[dim] % 2 or not x.is_floating_point():
        if out is None:
            return _written.glu(x, activation, gate, dim)
        raise ParametersInvalid(
            f"x must be a floating tensor with an even size in dimension {dim} to be computed into out, "
            f"but is {x.dtype} of shape {list(x.shape)}."
        )
    first, second = x.chunk(2, dim) if x.shape[dim] else (x, x)
    value, gating = (first, second) if gate == "second" else (second, first)
    return _compute(value, gating, GATES[activation], x.dtype, out)


class GELU(torch.nn.GELU):
    """``torch.nn.GELU`` with the runtime's kernel; where a gradient is wanted, torch's forward runs."""

    @refusing
    def forward(self, input):
        """input: a floating tensor; the result has its shape and type."""
        if stands_in(input) or torch.is_grad_enabled() and input.requires_grad:
            return super().forward(input)
        return gelu(input, self.approximate)


class SiLU(torch.nn.SiLU):
    """``torch.nn.SiLU`` with the runtime's kernel; with ``inplace``, and where a gradient is wanted,
    torch's forward runs."""

    @refusing
    def forward(self, input):
        """input: a floating tensor; the result has its shape and type."""
        if self.inplace or stands_in(input) or (torch.is_grad_enabled() and input.requires_grad):
            return super().forward(input)
        return silu(input)


_SILU_FORWARDS = (torch.nn.SiLU.forward, SiLU.forward)
_GELU_FORWARDS = (torch.nn.GELU.forward, GELU.forward)


def name_of(activation):
    """The name in ``gated`` of what an activation computes, which is a name itself or a module; None where it is
    a module that has to be called."""
    if isinstance(activation, str):
        expect_choice("activation", activation, tuple(GATES))
        return activation
    if not isinstance(activation, torch.nn.Module):
        raise ParametersInvalid(
            "activation must be the name of an activation or a module, but is "
            f"{type(activation).__name__}."
        )
    if has_hooks(activation):
        return None
    kind = type(activation)
    if kind.forward in _GELU_FORWARDS:
        return GELU_NAMES[activation.approximate]
    if kind.forward in _SILU_FORWARDS:
        return "silu"
    return "silu" if is_wide_silu(kind) else None
