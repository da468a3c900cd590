"""``RMSNorm``, ``fast_layernorm``, ``layernorm_scale_shift`` and ``get_activation_layer`` with the
published MindIE-SD signatures."""

import torch
from torch import nn

from . import ext
from ._checks import expect_choice, expect_inference, expect_tensor
from .utils import ParametersInvalid


class RMSNorm(nn.Module):
    """x / sqrt(mean(x²) + eps) in float32 over the last dimension, rounded to x's type, times weight.

    Args:
        hidden_size: the last dimension of what will be normalised.
        eps: added to the mean square.
    """

    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(hidden_size))
        self.variance_epsilon = eps

    def forward(self, hidden_states, if_fused=True):
        """Args:
            hidden_states: two to eight dimensions.
            if_fused: accepted; both paths compute the same.

        Returns:
            A tensor of hidden_states' shape and the promoted type of it and weight.
        """
        expect_tensor("hidden_states", hidden_states)
        if not 2 <= hidden_states.dim() <= 8:
            raise ParametersInvalid(
                f"hidden_states must have 2 to 8 dimensions, but has {hidden_states.dim()}."
            )
        return ext.rms_norm(hidden_states, self.weight, self.variance_epsilon)

    def extra_repr(self):
        return f"{tuple(self.weight.shape)}, eps={self.variance_epsilon}"


def _expect_layer_norm(name, norm):
    if not isinstance(norm, nn.LayerNorm):
        raise ParametersInvalid(f"{name} must be a torch.nn.LayerNorm, but is {type(norm).__name__}.")


def fast_layernorm(norm, x, impl_mode=0, fused=True):
    """``norm(x)`` for a ``torch.nn.LayerNorm``.

    Args:
        norm: the module; hooks and a replaced ``forward`` act as they would in ``norm(x)``.
        x: [..., *norm.normalized_shape].
        impl_mode: 0, 1 or 2 (high precision, high performance, float16); 2 needs x, weight and bias in
            float16. All compute alike here.
        fused: accepted; there is one path.

    Raises:
        ParametersInvalid: wrong type of norm or x, or a mode that does not exist or does not fit.
    """
    _expect_layer_norm("norm", norm)
    expect_tensor("x", x)
    expect_choice("impl_mode", impl_mode, (0, 1, 2))
    if impl_mode == 2:
        for name, tensor in (("x", x), ("norm.weight", norm.weight), ("norm.bias", norm.bias)):
            if tensor is not None and tensor.dtype != torch.float16:
                raise ParametersInvalid(
                    f"impl_mode 2 needs float16 throughout, but {name} is {tensor.dtype}."
                )
    expect_inference(x, norm.weight, norm.bias)
    return norm(x)


def _rows(name, tensor, x):
    """[B, H] as [B, 1, H] beside x [B, S, H]; anything else as torch broadcasts it."""
    expect_tensor(name, tensor)
    if x.dim() == 3 and tensor.dim() == 2 and tensor.shape[0] in (1, x.shape[0]):
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


def layernorm_scale_shift(layernorm, x, scale, shift=None, fused=True):
    """``layernorm(x) * (1 + scale) + shift``.

    Args:
        layernorm: a ``torch.nn.LayerNorm``; hooks and a replaced ``forward`` act as they would in
            ``layernorm(x)``.
        x: [B, S, H], or any shape that scale and shift broadcast to.
        scale, shift: [B, H], [B, 1, H] or [B, S, H], not necessarily alike; shift may be None.
        fused: accepted; there is one path.

    Returns:
        A tensor of x's shape and of the type that the expression has in torch.

    Raises:
        ParametersInvalid: wrong type of norm or tensor, or shapes that do not fit.
    """
    _expect_layer_norm("layernorm", layernorm)
    expect_tensor("x", x)
    scale = _rows("scale", scale, x)
    shift = None if shift is None else _rows("shift", shift, x)
    expect_inference(x, scale, shift, layernorm.weight, layernorm.bias)
    result = layernorm(x) * (1 + scale)
    return result if shift is None else result + shift


class _FastGELU(nn.Module):
    """x * sigmoid(1.702 x) (arXiv 1606.08415, section 2)."""

    def forward(self, x):
        return x * torch.sigmoid(1.702 * x)


_ACTIVATIONS = {
    "swish": nn.SiLU,
    "silu": nn.SiLU,
    "mish": nn.Mish,
    "gelu": nn.GELU,
    "relu": nn.ReLU,
    "gelu-tanh": lambda: nn.GELU(approximate="tanh"),
    "gelu-fast": _FastGELU,
}


def get_activation_layer(act_type):
    """A module by name, in any case: swish, silu, mish, gelu, relu, gelu-tanh, gelu-fast.

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
