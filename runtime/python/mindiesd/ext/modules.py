"""Modules that stand in for those of other libraries, and modulation as torch broadcasts it."""

import numbers

import torch
from torch import nn
from torch.nn.modules.normalization import LayerNorm

from .. import _ops
from .._checks import expect_choice, expect_tensor, is_either
from .._eager import stands_in
from .._refusals import refusing
from ..utils import ParametersInvalid
from .attention import attention_forward, attention_forward_varlen
from .blocks import know_norm
from .norm import casting_norm, modulated_norm, module_norm, rms_norm


_STRIDES = {
    "dense": _ops.DENSE,
    "scale": _ops.BY_SCALE,
    "shift": _ops.BY_SHIFT,
    "shift_scale": _ops.BY_SHIFT_AND_SCALE,
}


@refusing
def layernorm_scale_shift(
    layernorm, x, scale, shift=None, *, norm_type=None, strides="dense"
):
    """``layernorm(x) * (1 + scale) + shift``, scale and shift broadcast as torch broadcasts them.

    Args:
        layernorm: a ``torch.nn.LayerNorm``; hooks and a replaced ``forward`` act as they would in
            ``layernorm(x)``, and any other module that was put in its place is called.
        x: [..., H].
        scale, shift: what broadcasts against x, numbers too; [S, H] beside x [B, S, H] belongs to the
            positions, where ``mindiesd.layernorm_scale_shift`` takes two dimensions for [B, H].
        norm_type: ``"float32"``: the norm's result counts as of that type in what follows, as in
            ``layernorm(x).float() * (1 + scale) + shift``; None: it has the type that it has.
        strides: what stands first in the expression that this call replaces, whose stride order its
            result has: ``"dense"``: the norm, which is contiguous; ``"scale"``; ``"shift"``;
            ``"shift_scale"``: the shift of the sum and the scale of the product.

    Returns:
        A tensor of the shape and the type that the expression has in torch.

    Raises:
        ParametersInvalid: wrong type of norm or tensor, or shapes that do not fit.
    """
    from ..layers import fast_layernorm

    expect_choice("norm_type", norm_type, (None, "float32"))
    expect_choice("strides", strides, tuple(_STRIDES))
    replaced = isinstance(layernorm, nn.Module) and not isinstance(layernorm, LayerNorm)
    if replaced or stands_in(x):  # as torch has it
        return _modulated(layernorm(x), scale, shift, norm_type, strides)
    expect_tensor("x", x)
    if _one_pass(scale, x) and (shift is None or _one_pass(shift, x)):
        scale, shift = _full_rank(scale, x), _full_rank(shift, x)
        wide = None if norm_type is None else torch.float32
        order = _STRIDES[strides]
        if parts := module_norm(layernorm):
            weight, bias, eps, kind = parts
            return modulated_norm(x, weight, bias, scale, shift, eps, kind, wide, order)
        if parts := casting_norm(layernorm, x):
            weight, bias, eps, kind = parts
            return modulated_norm(x, weight, bias, scale, shift, eps, kind, wide or x.dtype, order)
    for name, value in (("scale", scale), ("shift", shift)):
        if value is not None and not isinstance(value, numbers.Number):
            expect_tensor(name, value)
    return _modulated(fast_layernorm(layernorm, x), scale, shift, norm_type, strides)


def _modulated(normal, scale, shift, norm_type, strides):
    """By torch's operators, in the order that ``strides`` says."""
    normal = normal if norm_type is None else normal.float()
    result = (1 + scale) * normal if strides.endswith("scale") else normal * (1 + scale)
    if shift is None:
        return result
    return shift + result if strides.startswith("shift") else result + shift


def _one_pass(value, x):
    """Whether it is a tensor that leaves the result's shape to x and whose type counts in it."""
    if not isinstance(value, torch.Tensor) or not value.is_floating_point():
        return False
    sizes = zip(reversed(value.shape), reversed(x.shape), strict=False)
    return 0 < value.dim() <= x.dim() and all(is_either(own, 1, other) for own, other in sizes)


def _full_rank(tensor, x):
    if tensor is None or tensor.dim() == x.dim():
        return tensor
    return tensor.reshape((1,) * (x.dim() - tensor.dim()) + tuple(tensor.shape))


class TypedRMSNorm(nn.Module):
    """An RMSNorm whose result has the type that ``result_type`` says, as in ``rms_norm``.

    ``result_type="weight"`` is diffusers' RMSNorm and T5's norm, whose attributes (``dim``,
    ``elementwise_affine``; ``variance_epsilon``) it has, too. Without a weight the result has the
    input's type.

    Args:
        hidden_size: the last dimension of what will be normalised.
        eps: added to the mean square.
        elementwise_affine: whether there is a parameter ``weight``, initially one.
        bias: whether there is a parameter ``bias`` beside it, initially zero.
        result_type: ``"promoted"``, ``"input"``, ``"weight"`` or ``"float32"``.
    """

    @refusing
    def __init__(
        self, hidden_size, eps=1e-6, elementwise_affine=True, bias=False, result_type="promoted"
    ):
        super().__init__()
        expect_choice("result_type", result_type, ("promoted", "input", "weight", "float32"))
        self.dim = torch.Size((hidden_size,))
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        self.result_type = result_type
        self.weight = nn.Parameter(torch.ones(hidden_size)) if elementwise_affine else None
        self.bias = nn.Parameter(torch.zeros(hidden_size)) if elementwise_affine and bias else None

    @property
    def variance_epsilon(self):
        """What T5's norm calls eps."""
        return self.eps

    @refusing
    def forward(self, hidden_states):
        """hidden_states: [..., hidden_size]; the result has its shape."""
        return rms_norm(
            hidden_states, self.weight, self.eps, bias=self.bias, result_type=self.result_type
        )


know_norm(TypedRMSNorm, None)


class _FlashAttention(nn.Module):
    """What flash_attn's two attention modules share: their arguments, inference only."""

    @refusing
    def __init__(self, causal, softmax_scale, attention_dropout, window_size, alibi_slopes):
        super().__init__()
        self.causal = causal
        self.softmax_scale = softmax_scale
        self.drop = nn.Dropout(attention_dropout)
        self.window_size = window_size
        self.register_buffer("alibi_slopes", alibi_slopes, persistent=False)

    def _attend(self, q, k, v, causal, cu_seqlens_q, cu_seqlens_k):
        if self.training and self.drop.p > 0.0:
            raise ParametersInvalid(
                "attention_dropout acts in training only, and this module is for inference: call eval()."
            )
        causal = self.causal if causal is None else causal
        if cu_seqlens_q is not None:
            return attention_forward_varlen(
                q, k, v, cu_seqlens_q, cu_seqlens_k, softmax_scale=self.softmax_scale, causal=causal,
                window_size=self.window_size, alibi_slopes=self.alibi_slopes,
            )  # fmt: skip
        return attention_forward(
            q, k, v, scale=self.softmax_scale, is_causal=causal, causal_alignment="bottom_right",
            window_size=self.window_size, alibi_slopes=self.alibi_slopes,
        )  # fmt: skip


class FlashSelfAttention(_FlashAttention):
    """``flash_attn.modules.mha.FlashSelfAttention``: same constructor, calls and (no) parameters."""

    @refusing
    def __init__(
        self,
        causal=False,
        softmax_scale=None,
        attention_dropout=0.0,
        window_size=(-1, -1),
        alibi_slopes=None,
        deterministic=False,
    ):
        super().__init__(causal, softmax_scale, attention_dropout, window_size, alibi_slopes)
        self.deterministic = deterministic

    @refusing
    def forward(self, qkv, causal=None, cu_seqlens=None, max_seqlen=None):
        """qkv: [B, S, 3, N, D], or with cu_seqlens [T, 3, N, D]; the result lacks the 3."""
        expect_tensor("qkv", qkv)
        q, k, v = qkv.unbind(-3)
        return self._attend(q, k, v, causal, cu_seqlens, cu_seqlens)


class FlashCrossAttention(_FlashAttention):
    """``flash_attn.modules.mha.FlashCrossAttention``: same constructor, calls and (no) parameters."""

    @refusing
    def __init__(
        self,
        causal=False,
        softmax_scale=None,
        attention_dropout=0.0,
        alibi_slopes=None,
        window_size=(-1, -1),
        deterministic=False,
    ):
        super().__init__(causal, softmax_scale, attention_dropout, window_size, alibi_slopes)
        self.deterministic = deterministic

    @refusing
    def forward(
        self,
        q,
        kv,
        causal=None,
        cu_seqlens=None,
        max_seqlen=None,
        cu_seqlens_k=None,
        max_seqlen_k=None,
    ):
        """q: [B, Sq, N, D] and kv: [B, Sk, 2, N, D], or with cu_seqlens [Tq, N, D] and [Tk, 2, N, D]."""
        expect_tensor("kv", kv)
        k, v = kv.unbind(-3)
        return self._attend(q, k, v, causal, cu_seqlens, cu_seqlens_k)
