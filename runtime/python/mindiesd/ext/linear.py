"""A linear layer and the activation behind it. Entry point: ``linear_activation``."""

import torch
from torch import nn

from .. import _forms
from .._checks import expect_choice, expect_tensor
from .._eager import eager
from .._refusals import refusing
from ..utils import ParametersInvalid
from . import activation as _activations
from .norm import has_hooks

_LINEAR_FORWARD = nn.Linear.forward
_PLAIN = (torch.Tensor, nn.Parameter)
# Numbers of a product below which torch.cat of its activation is the cheaper way: launches cost more than copies.
_JOINED_FROM = 2**20


def _linear_parts(linear, x):
    """(weight, bias) where calling the module is nothing but ``torch.nn.functional.linear`` of plain tensors of
    x's type; None where it is something else: another class's ``forward``, hooks, a weight that is a subclass
    of Tensor or lies elsewhere, autocast."""
    if not isinstance(linear, nn.Linear) or type(linear).forward is not _LINEAR_FORWARD:
        return None
    if has_hooks(linear) or x.is_nested or torch.is_autocast_enabled(x.device.type):
        return None
    weight, bias = linear.weight, linear.bias
    for tensor in (weight, bias):
        if tensor is None:
            continue
        if type(tensor) not in _PLAIN or tensor.dtype != x.dtype or tensor.device != x.device:
            return None
    fits = x.is_floating_point() and x.dim() > 0 and x.shape[-1] == weight.shape[1]
    if x.is_cuda and (bias is None or weight.shape[0] % 8):
        return None
    return (weight, bias) if fits else None


def _may_be_one_product(x):
    """Whether x is what a product with an epilogue may take. On a GPU that is a matrix of half precision whose rows
    have one step, in vectors of 16 bytes; with another, calling the module costs the host less."""
    if not x.is_cuda:
        return True
    sizes, strides = x.shape, x.stride()
    if x.element_size() != 2 or not sizes or sizes[-1] % 8 or strides[-1] != 1:
        return False
    return not any(
        sizes[d] > 1 and strides[d] != strides[d + 1] * sizes[d + 1] for d in range(len(sizes) - 2)
    )


def _name_of(activation, approximate):
    """The activation's name as ``gated`` has it; None where it is a module that has to be called."""
    name = _activations.name_of(activation)
    if isinstance(activation, str):
        expect_choice("approximate", approximate, tuple(_activations.GELU_NAMES))
    return _activations.GELU_NAMES[approximate] if activation == "gelu" else name


@eager
def _linear_activation(x, weight, bias, kind):
    return _forms.linear_activation(x, weight, bias, kind)


@eager
def _linear_activation_into(x, weight, bias, kind, out):
    return _forms.linear_activation_into(x, weight, bias, kind, out)


def _stands_before(after, result):
    """Whether a tensor joined with a result that has these leading sizes has its type and is dense as it is."""
    return (
        after is not None
        and after.dtype == result.dtype
        and after.device == result.device
        and after.shape[:-1] == result.shape[:-1]
        and after.is_contiguous()
    )


def _behind(after, product, name, gate):
    """What is computed from the linear layer's result, behind ``after``."""

    def compute(out=None):
        if gate is not None:
            return _activations.glu(product, name, gate=gate, out=out)
        return _activations.activate(product, _activations.GATES[name], out)

    width = product.shape[-1] // 2 if gate is not None else product.shape[-1]
    if product.numel() < _JOINED_FROM or not _stands_before(after, product):
        return torch.cat((after, compute()), -1)
    return _joined(after, (*product.shape[:-1], width), compute)


def _joined(after, result_shape, write):
    """``torch.cat((after, result), -1)``, where ``write(out)`` writes the result into a tensor."""
    width = after.shape[-1]
    joined = after.new_empty((*result_shape[:-1], width + result_shape[-1]))
    joined.narrow(-1, 0, width).copy_(after)
    write(joined.narrow(-1, width, result_shape[-1]))
    return joined


@refusing
def linear_activation(
    linear, x, activation, *, approximate="none", gate=None, after=None, out=None
):
    """``activation(linear(x))``, or a product of the two halves of ``linear(x)`` one of which is activated.

    Where the module is a plain ``torch.nn.Linear`` and the activation is gelu's tanh form, one matrix product
    with its epilogue computes it on a GPU; the sums are not rounded before the activation. Every other
    activation is a pass over what the module gives. A module that is something else is called: an adapter's, a
    quantised, hooked, offloaded or replaced one, and one under autocast.

    Args:
        linear: the module.
        x: [..., K].
        activation: ``"gelu"``, ``"gelu-tanh"``, ``"gelu-fast"`` or ``"silu"``, or a module: ``torch.nn.GELU``
            and ``torch.nn.SiLU`` count as what they compute, any other is called.
        approximate: with ``"gelu"``: which of its forms, as in ``gelu``.
        gate: None, or as in ``glu``: which half of the linear layer's result is activated, ``"first"`` or
            ``"second"``. Not with a module that has to be called.
        after: None, or a tensor behind which the result stands along the last dimension, as
            ``torch.cat((after, result), -1)`` has it: the product is written there, not copied.
        out: None, or a tensor of the result's shape, such as a slice of a wider one, in which the result is
            written. Not with ``after``.

    Returns:
        A tensor [..., N], or with a gate [..., N / 2], of the type of ``linear(x)``; with ``after`` wider by
        that; or out.

    Raises:
        ParametersInvalid: an argument has the wrong type, shape, device or value.
    """
    expect_tensor("x", x)
    if gate is not None:
        expect_choice("gate", gate, ("first", "second"))
    name = _name_of(activation, approximate)
    if name is None and gate is not None:
        raise ParametersInvalid(
            f"gate needs an activation that is known by name, but activation is {type(activation).__name__}."
        )
    if after is not None:
        expect_tensor("after", after)
        if out is not None:
            raise ParametersInvalid("after and out must not both be given.")
    if name == "gelu-tanh" and gate is None and _may_be_one_product(x):
        parts = _linear_parts(linear, x)
        if parts:
            weight, bias = parts
            kind = _activations.GATES[name]
            rows = x.numel() // max(x.shape[-1], 1)
            if _stands_before(after, x) and rows * weight.shape[0] >= _JOINED_FROM:
                return _joined(
                    after,
                    (*x.shape[:-1], weight.shape[0]),
                    lambda place: _linear_activation_into(x, weight, bias, kind, place),
                )
            if after is not None:
                return torch.cat((after, _linear_activation(x, weight, bias, kind)), -1)
            if out is None:
                return _linear_activation(x, weight, bias, kind)
            _activations.expect_out(out, (*x.shape[:-1], weight.shape[0]), x)
            return _linear_activation_into(x, weight, bias, kind, out)
    product = linear(x)
    if name is None:
        result = activation(product)
        if after is not None:
            return torch.cat((after, result), -1)
        return result if out is None else out.copy_(result)
    if after is not None:
        return _behind(after, product, name, gate)
    if gate is not None:
        return _activations.glu(product, name, gate=gate, out=out)
    return _activations.activate(product, _activations.GATES[name], out)
