"""Modules that stand in for those of other libraries, and modulation as torch broadcasts it."""

import torch
from torch import nn

from .._checks import expect_choice, expect_tensor
from ..utils import ParametersInvalid
from .attention import attention_forward, attention_forward_varlen
from .norm import rms_norm


def layernorm_scale_shift(layernorm, x, scale, shift=None):
    """``layernorm(x) * (1 + scale) + shift``, scale and shift broadcast as torch broadcasts them.

    Args:
        layernorm: a ``torch.nn.LayerNorm``; hooks and a replaced ``forward`` act as they would in
            ``layernorm(x)``.
        x: [..., H].
        scale, shift: what broadcasts against x; [S, H] beside x [B, S, H] belongs to the positions,
            where ``mindiesd.layernorm_scale_shift`` takes two dimensions for [B, H].

    Returns:
        A tensor of x's shape and of the type that the expression has in torch.

    Raises:
        ParametersInvalid: wrong type of norm or tensor, or shapes that do not fit.
    """
    from ..layers import layernorm_scale_shift as published

    expect_tensor("x", x)
    return published(layernorm, x, _full_rank("scale", scale, x), _full_rank("shift", shift, x))


def _full_rank(name, tensor, x):
    if tensor is None and name == "shift":
        return None
    expect_tensor(name, tensor)
    missing = x.dim() - tensor.dim()
    return tensor if missing <= 0 else tensor.reshape((1,) * missing + tuple(tensor.shape))


class TypedRMSNorm(nn.Module):
    """An RMSNorm whose result has the type that ``result_type`` says, as in ``rms_norm``.

    ``result_type="weight"`` is diffusers' RMSNorm and T5's norm. Without a weight the result has the
    input's type.

    Args:
        hidden_size: the last dimension of what will be normalised.
        eps: added to the mean square.
        elementwise_affine: whether there is a parameter ``weight``, initially one.
        bias: whether there is a parameter ``bias`` beside it, initially zero.
        result_type: ``"promoted"``, ``"input"``, ``"weight"`` or ``"float32"``.
    """

    def __init__(
        self, hidden_size, eps=1e-6, elementwise_affine=True, bias=False, result_type="promoted"
    ):
        super().__init__()
        expect_choice("result_type", result_type, ("promoted", "input", "weight", "float32"))
        self.eps = eps
        self.result_type = result_type
        self.weight = nn.Parameter(torch.ones(hidden_size)) if elementwise_affine else None
        self.bias = nn.Parameter(torch.zeros(hidden_size)) if elementwise_affine and bias else None

    def forward(self, hidden_states):
        """hidden_states: [..., hidden_size]; the result has its shape."""
        return rms_norm(
            hidden_states, self.weight, self.eps, bias=self.bias, result_type=self.result_type
        )


class _FlashAttention(nn.Module):
    """What flash_attn's two attention modules share: their arguments, inference only."""

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

    def forward(self, qkv, causal=None, cu_seqlens=None, max_seqlen=None):
        """qkv: [B, S, 3, N, D], or with cu_seqlens [T, 3, N, D]; the result lacks the 3."""
        expect_tensor("qkv", qkv)
        q, k, v = qkv.unbind(-3)
        return self._attend(q, k, v, causal, cu_seqlens, cu_seqlens)


class FlashCrossAttention(_FlashAttention):
    """``flash_attn.modules.mha.FlashCrossAttention``: same constructor, calls and (no) parameters."""

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
