"""``RMSNorm``, ``fast_layernorm``, ``layernorm_scale_shift`` and ``get_activation_layer`` with the
published MindIE-SD signatures."""

import torch
from torch import nn

from . import _ops, ext
from ._checks import expect_choice, expect_tensor
from ._eager import stands_in
from ._refusals import refusing
from .ext.activation import activate
from .ext.blocks import know_norm
from .ext.norm import casting_norm, modulated_norm, module_norm, rows_of
from .utils import ParametersInvalid


class RMSNorm(nn.Module):
    """x / sqrt(mean(x²) + eps) in float32 over the last dimension, rounded to x's type, times weight.

    Args:
        hidden_size: the last dimension of what will be normalised.
        eps: added to the mean square.
    """

    @refusing
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(hidden_size))
        self.variance_epsilon = eps

    @refusing
    def forward(self, hidden_states, if_fused=True):
        """Args:
            hidden_states: two to eight dimensions.
            if_fused: accepted; both paths compute the same.

        Returns:
            A tensor of hidden_states' shape and the promoted type of it and weight.
        """
        if stands_in(hidden_states):
            return ext.rms_norm(hidden_states, self.weight, self.variance_epsilon)
        expect_tensor("hidden_states", hidden_states)
        if not 2 <= hidden_states.dim() <= 8:
            raise ParametersInvalid(
                f"hidden_states must have 2 to 8 dimensions, but has {hidden_states.dim()}."
            )
        return ext.rms_norm(hidden_states, self.weight, self.variance_epsilon)

    def extra_repr(self):
        return f"{tuple(self.weight.shape)}, eps={self.variance_epsilon}"


know_norm(RMSNorm, "promoted")


def _expect_layer_norm(name, norm):
    """A LayerNorm, or what was put in its place (to offload or to quantise it, say)."""
    if isinstance(norm, nn.Module):
        return
    raise ParametersInvalid(f"{name} must be a torch.nn.LayerNorm, but is {type(norm).__name__}.")


@refusing
def fast_layernorm(norm, x, impl_mode=0, fused=True):
    """``norm(x)`` for a ``torch.nn.LayerNorm``.

    Args:
        norm: the module; hooks and a replaced ``forward`` act as they would in ``norm(x)``, and any
            other module that was put in its place is called.
        x: [..., *norm.normalized_shape].
        impl_mode: 0, 1 or 2 (high precision, high performance, float16); 2 needs x, weight and bias in
            float16. All compute alike here.
        fused: accepted; there is one path.

    Returns:
        A contiguous tensor of x's shape and type; under ``torch.autocast`` of the type that torch's
        rule for layer_norm gives.

    Raises:
        ParametersInvalid: wrong type of norm or x, or a mode that does not exist or does not fit.
    """
    _expect_layer_norm("norm", norm)
    if stands_in(x):
        return norm(x)
    expect_tensor("x", x)
    expect_choice("impl_mode", impl_mode, (0, 1, 2))
    if impl_mode == 2:
        for name, tensor in (("x", x), *norm.named_parameters(prefix="norm")):
            if tensor.dtype != torch.float16:
                raise ParametersInvalid(
                    f"impl_mode 2 needs float16 throughout, but {name} is {tensor.dtype}."
                )
    if parts := module_norm(norm):
        weight, bias, eps, kind = parts
        return modulated_norm(x, weight, bias, None, None, eps, kind)
    if parts := casting_norm(norm, x):
        weight, bias, eps, kind = parts
        return modulated_norm(x, weight, bias, None, None, eps, kind, x.dtype)
    return norm(x)


@refusing
def layernorm_scale_shift(layernorm, x, scale, shift=None, fused=True):
    """``layernorm(x) * (1 + scale) + shift``.

    Args:
        layernorm: a ``torch.nn.LayerNorm``; hooks and a replaced ``forward`` act as they would in
            ``layernorm(x)``.
        x: [B, S, H], or any shape that scale and shift broadcast to.
        scale, shift: [B, H], [B, 1, H] or [B, S, H], not necessarily alike; shift may be None.
        fused: accepted; there is one path.

    Returns:
        A contiguous tensor of x's shape and of the type that the expression has in torch.

    Raises:
        ParametersInvalid: wrong type of norm or tensor, or shapes that do not fit.
    """
    _expect_layer_norm("layernorm", layernorm)
    expect_tensor("x", x)
    expect_tensor("scale", scale)
    if parts := module_norm(layernorm):
        weight, bias, eps, kind = parts
        return modulated_norm(x, weight, bias, scale, shift, eps, kind)
    if parts := casting_norm(layernorm, x):
        weight, bias, eps, kind = parts
        return modulated_norm(x, weight, bias, scale, shift, eps, kind, x.dtype)
    scale, shift = rows_of("scale", scale, x), rows_of("shift", shift, x)
    result = layernorm(x) * (1 + scale)
    return result if shift is None else result + shift


def _for_torch(x):
    """Whether torch's own operators compute: a gradient is wanted, or x stands in for a tensor."""
    return stands_in(x) or torch.is_grad_enabled() and x.requires_grad


class _FastGELU(nn.Module):
    """x * sigmoid(1.702 x) (arXiv 1606.08415, section 2)."""

    @refusing
    def forward(self, x):
        return x * torch.sigmoid(1.702 * x) if _for_torch(x) else ext.gelu(x, "fast")


class _Mish(nn.Mish):
    """x * tanh(log(1 + e^x)) (arXiv 1908.08681)."""

    @refusing
    def forward(self, input):
        return super().forward(input) if _for_torch(input) else activate(input, _ops.MISH)


class _ReLU(nn.ReLU):
    """max(x, 0)."""

    @refusing
    def forward(self, input):
        return super().forward(input) if _for_torch(input) else activate(input, _ops.RELU)


_ACTIVATIONS = {
    "swish": ext.SiLU,
    "silu": ext.SiLU,
    "mish": _Mish,
    "gelu": ext.GELU,
    "relu": _ReLU,
    "gelu-tanh": lambda: ext.GELU(approximate="tanh"),
    "gelu-fast": _FastGELU,
}


def get_activation_layer(act_type):
    """A module by name, in any case: swish, silu, mish, gelu, relu, gelu-tanh, gelu-fast. Where a
    gradient is wanted it computes as torch's own module.

    Raises:
        ParametersInvalid: no such activation.
    """
    if not isinstance(act_type, str):
        raise ParametersInvalid(f"act_type must be a str, but is {type(act_type).__name__}.")
    make = _ACTIVATIONS.get(act_type.lower())
    if make is None:
        known = ", ".join(_ACTIVATIONS)
        raise ParametersInvalid(f"act_type must be one of {known}, but is {act_type!r}.")
    return make()
