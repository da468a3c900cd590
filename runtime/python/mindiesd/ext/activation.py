"""Activations and gated products, as functions and as stand-ins for ``torch.nn``'s modules."""

import torch

from .. import _forms, _math, _ops, _written
from .._checks import expect_choice, expect_same_device, expect_tensor
from .._eager import eager, stands_in
from ..utils import ParametersInvalid

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
        x: a floating tensor; with ``"fast"`` whole numbers count in torch's default type, as they do in
            the product that this call replaces.
            Of what is not floating torch's own function has the say.
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
    if approximate == "fast":
        x = _counted(x)
    expect_tensor("x", x)
    if out is None and not x.is_floating_point():
        return _written.activation(x, GELU_NAMES[approximate])
    _expect_floating("x", x)
    return _compute(x, None, _GELUS[approximate], x.dtype, out)


@eager
def silu(x, *, out=None):
    """x * sigmoid(x), of x's shape, type and stride order; whole numbers count in torch's default type.

    Args:
        x: a tensor of numbers.
        out: as in ``gelu``.

    Raises:
        ParametersInvalid: x is no tensor of numbers, or out does not fit.
    """
    x = _counted(x)
    expect_tensor("x", x)
    if out is None and not x.is_floating_point():
        return _written.activation(x, "silu")
    _expect_floating("x", x)
    return _compute(x, None, _ops.SILU, x.dtype, out)


@eager
def gated(x, gate, activation, *, out=None):
    """x * activation(gate).

    Args:
        x, gate: floating tensors of one shape.
        activation: ``"gelu"``, ``"gelu-tanh"``, ``"gelu-fast"`` or ``"silu"``.
        out: as in ``gelu``.

    Returns:
        A tensor of that shape and the promoted type, in the stride order of x, or out.

    Raises:
        ParametersInvalid: an argument has the wrong type, shape, device or value.
    """
    expect_choice("activation", activation, tuple(GATES))
    _expect_floating("x", x)
    _expect_floating("gate", gate)
    expect_same_device("gate", gate, "x", x)
    if x.shape != gate.shape:
        raise ParametersInvalid(
            f"gate must have the shape of x, {list(x.shape)}, but has {list(gate.shape)}."
        )
    return _compute(x, gate, GATES[activation], torch.promote_types(x.dtype, gate.dtype), out)


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

    def forward(self, input):
        """input: a floating tensor; the result has its shape and type."""
        if stands_in(input) or torch.is_grad_enabled() and input.requires_grad:
            return super().forward(input)
        return gelu(input, self.approximate)


class SiLU(torch.nn.SiLU):
    """``torch.nn.SiLU`` with the runtime's kernel; with ``inplace``, and where a gradient is wanted,
    torch's forward runs."""

    def forward(self, input):
        """input: a floating tensor; the result has its shape and type."""
        if self.inplace or stands_in(input) or (torch.is_grad_enabled() and input.requires_grad):
            return super().forward(input)
        return silu(input)


SILU_FORWARDS = (torch.nn.SiLU.forward, SiLU.forward)
"""Of modules that compute SiLU, where they have no hooks."""
