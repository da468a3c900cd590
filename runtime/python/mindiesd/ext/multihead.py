"""``torch.nn.MultiheadAttention`` by the runtime's attention. Entry points: ``MultiheadAttention``, its stand-in,
and ``multihead_attention``, the result of a module of either class without the weights.

What no kernel is for, such as weights that are asked for, dropout, gradients, biases of keys, nested or unbatched
operands, and shapes or types that torch refuses, is torch's own ``forward`` to compute or to refuse.
"""

import torch
import torch.nn.functional as F
from torch import nn

from .._eager import stands_in
from .._refusals import refusing
from .attention import attention_forward
from .norm import has_hooks

_PLAIN = (torch.Tensor, nn.Parameter)
_TORCH_FORWARD = nn.MultiheadAttention.forward


class MultiheadAttention(nn.MultiheadAttention):
    """``torch.nn.MultiheadAttention`` whose attention is the runtime's where no weights are asked for: same
    constructor, attributes, parameters, ``state_dict`` and ``isinstance`` relations.

    With ``need_weights=False`` at inference the projections are merged as torch merges them, and their result is
    read in place. A query that sees no key gives what zeros give in the last projection, as torch's attention does
    from version 2.5 on. Any other call runs torch's own ``forward``.
    """

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        # torch.fx asks an object for its module, and takes torch's own classes as they are.
        self.__dict__["__module__"] = nn.MultiheadAttention.__module__

    @refusing
    def forward(
        self,
        query,
        key,
        value,
        key_padding_mask=None,
        need_weights=True,
        attn_mask=None,
        average_attn_weights=True,
        is_causal=False,
    ):
        """Operands and results are those of ``torch.nn.MultiheadAttention.forward``."""
        if need_weights is False:
            result = _attended(self, query, key, value, key_padding_mask, attn_mask, is_causal)
            if result is not None:
                return result, None
        return super().forward(
            query, key, value, key_padding_mask=key_padding_mask, need_weights=need_weights,
            attn_mask=attn_mask, average_attn_weights=average_attn_weights, is_causal=is_causal,
        )  # fmt: skip


@refusing
def multihead_attention(attention, query, key, value, *, key_padding_mask=None, attn_mask=None):
    """``attention(query, key, value, …)[0]``, where nobody reads the weights, which are then not computed.

    Args:
        attention: a ``torch.nn.MultiheadAttention``. One with hooks, and any other module that was put in its
            place, is called as the expression says.
        query, key, value: as the module takes them, batch first or second as it was made.
        key_padding_mask, attn_mask: as the module takes them: True hides, numbers are added.

    Returns:
        The module's first result.

    Raises:
        ParametersInvalid: what torch refuses.
    """
    masks = {"key_padding_mask": key_padding_mask, "attn_mask": attn_mask}
    masks = {name: mask for name, mask in masks.items() if mask is not None}
    forward = getattr(type(attention), "forward", None)
    own = forward is MultiheadAttention.forward
    if not (own or forward is _TORCH_FORWARD) or has_hooks(attention) or stands_in(query):
        return attention(query, key, value, **masks)[0]
    result = _attended(attention, query, key, value, key_padding_mask, attn_mask, False)
    if result is not None:
        return result
    if not attention.training:
        masks["need_weights"] = False
    return attention(query, key, value, **masks)[0]


def _attended(module, query, key, value, key_padding_mask, attn_mask, is_causal):
    """The module's result without weights; None where torch's own ``forward`` has to give it."""
    if not _is_usual(module, query, key, value, key_padding_mask, attn_mask):
        return None
    if is_causal is not False:
        # The flag is a hint about attn_mask, which torch's paths follow differently.
        if is_causal is not True or attn_mask is None:
            return None
        if key_padding_mask is None:
            if module.batch_first and query is key and key is value:
                return None
            attn_mask = None
        else:
            is_causal = False
    mask = _merged_mask(attn_mask, key_padding_mask, query.dtype, module.num_heads)
    by_batch = _lies_by_batch(module, query, key, value, key_padding_mask, attn_mask)
    query, key, value = _projected(module, query, key, value)
    if not module.batch_first:
        query, key, value = (t.transpose(0, 1) for t in (query, key, value))
    batch, length, heads, width = query.shape
    # As torch's results lie: by batch where its native function computes, else by position.
    place = None
    if not by_batch:
        place = query.new_empty(length, batch, heads, width).transpose(0, 1)
    result = attention_forward(query, key, value, mask, is_causal=is_causal, out=place)
    if not by_batch:
        result = result.transpose(0, 1)
    result = F.linear(result.flatten(2), module.out_proj.weight, module.out_proj.bias)
    return result if by_batch or not module.batch_first else result.transpose(0, 1)


def _is_usual(module, query, key, value, key_padding_mask, attn_mask):
    """Whether the operands are such as the kernels are for, and the module has no more than projections."""
    operands = (query, key, value)
    weights = _weights(module)
    if module.bias_k is not None or module.bias_v is not None or module.add_zero_attn:
        return False
    if module.training and module.dropout > 0.0:
        return False
    tensors = [t for t in (*operands, *weights, key_padding_mask, attn_mask) if t is not None]
    if not all(type(t) in _PLAIN and not t.is_nested for t in tensors):
        return False
    if any(t.device != query.device for t in tensors):
        return False
    if torch.is_grad_enabled() and any(t.requires_grad for t in tensors):
        return False
    dtype = query.dtype
    if not dtype.is_floating_point or any(t.dtype != dtype for t in (*operands, *weights) if t is not None):
        return False
    if query.dim() != 3 or key.dim() != 3 or value.dim() != 3 or 0 in query.shape or 0 in key.shape:
        return False
    batch, sequence = (0, 1) if module.batch_first else (1, 0)
    if key.shape[:2] != value.shape[:2] or key.shape[batch] != query.shape[batch]:
        return False
    widths = (module.embed_dim, module.kdim, module.vdim)
    if any(t.shape[2] != width for t, width in zip(operands, widths, strict=True)):
        return False
    return _masks_fit(
        key_padding_mask, attn_mask, dtype,
        query.shape[batch], module.num_heads, query.shape[sequence], key.shape[sequence],
    )  # fmt: skip


def _weights(module):
    """The tensors of the projections, None for those that the module does not have."""
    if module._qkv_same_embed_dim:
        own = (module.in_proj_weight,)
    else:
        own = (module.q_proj_weight, module.k_proj_weight, module.v_proj_weight)
    return (*own, module.in_proj_bias, module.out_proj.weight, module.out_proj.bias)


def _masks_fit(key_padding_mask, attn_mask, dtype, batch, heads, queries, keys):
    shapes = (
        (key_padding_mask, ((batch, keys),)),
        (attn_mask, ((queries, keys), (batch * heads, queries, keys))),
    )
    return all(
        mask is None or mask.dtype in (torch.bool, dtype) and tuple(mask.shape) in known
        for mask, known in shapes
    )


def _lies_by_batch(module, query, key, value, key_padding_mask, attn_mask):
    """Whether torch's native function would compute, whose result is dense with the batch first. Elsewhere it is
    dense with the positions first, whatever ``batch_first`` says."""
    return (
        module.batch_first
        and query is key
        and key is value
        and not module.training
        and module.num_heads % 2 == 0
        and module._qkv_same_embed_dim
        and module.in_proj_bias is not None
        and torch.backends.mha.get_fastpath_enabled()
        and not torch.is_autocast_enabled()
        and query.device.type in ("cpu", "cuda")
        and not any(m is not None and m.is_floating_point() for m in (key_padding_mask, attn_mask))
    )


def _merged_mask(attn_mask, key_padding_mask, dtype, heads):
    """One mask for [B, N, Sq, Sk] as ``attention_forward`` has it: boolean where both are, True keeps."""
    masks = []
    if key_padding_mask is not None:
        masks.append(key_padding_mask[:, None, None])
    if attn_mask is not None:
        masks.append(attn_mask if attn_mask.dim() == 2 else attn_mask.unflatten(0, (-1, heads)))
    if not masks:
        return None
    if all(mask.dtype == torch.bool for mask in masks):
        return ~masks[0] if len(masks) == 1 else ~(masks[0] | masks[1])
    added = [
        torch.zeros_like(m, dtype=dtype).masked_fill_(m, float("-inf")) if m.dtype == torch.bool else m
        for m in masks
    ]
    return added[0] if len(added) == 1 else added[0] + added[1]


def _projected(module, query, key, value):
    """Query, key and value of the heads [.., .., N, D], by as few products as the operands allow."""
    heads = (module.num_heads, module.embed_dim // module.num_heads)
    bias = module.in_proj_bias
    if not module._qkv_same_embed_dim:
        weights = (module.q_proj_weight, module.k_proj_weight, module.v_proj_weight)
        parts = [(1, query, weights[0]), (1, key, weights[1]), (1, value, weights[2])]
    elif query is key and key is value:
        parts = [(3, query, module.in_proj_weight)]
    elif key is value:
        first, rest = module.in_proj_weight.split((module.embed_dim, 2 * module.embed_dim))
        parts = [(1, query, first), (2, key, rest)]
    else:
        parts = list(zip((1, 1, 1), (query, key, value), module.in_proj_weight.chunk(3), strict=True))
    biases = [None] * len(parts)
    if bias is not None:
        biases = bias.split([count * module.embed_dim for count, _, _ in parts])
    results = []
    for (count, x, weight), own_bias in zip(parts, biases, strict=True):
        results += F.linear(x, weight, own_bias).unflatten(-1, (count, *heads)).unbind(2)
    return results
