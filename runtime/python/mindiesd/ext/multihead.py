"""``torch.nn.MultiheadAttention`` by the runtime's attention. Entry points: ``MultiheadAttention``, its stand-in,
``multihead_attention``, the result of a module of either class without the weights, and
``multi_head_attention_forward``, torch's function of that name.

What no kernel is for, such as weights that are asked for, dropout, gradients, biases of keys, nested or unbatched
operands, and shapes or types that torch refuses, is torch's own ``forward`` to compute or to refuse.
"""

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import nn
from torch._C._functorch import peek_interpreter_stack
from torch.compiler import is_compiling

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
        if need_weights is False and nn.MultiheadAttention.forward is _TORCH_FORWARD:
            result = _attended(_of_module(self), query, key, value, key_padding_mask, attn_mask, is_causal)
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
    if not _is_plain(attention) or stands_in(query):
        return attention(query, key, value, **masks)[0]
    result = _attended(_of_module(attention), query, key, value, key_padding_mask, attn_mask, False)
    if result is not None:
        return result
    if not attention.training:
        masks["need_weights"] = False
    return attention(query, key, value, **masks)[0]


def _is_plain(attention):
    """Whether calling the module is torch's ``forward`` or the stand-in's, and nothing else."""
    forward = getattr(type(attention), "forward", None)
    if forward is MultiheadAttention.forward:
        forward = nn.MultiheadAttention.forward
    return forward is _TORCH_FORWARD and not has_hooks(attention)


@refusing
def multi_head_attention_forward(
    query,
    key,
    value,
    embed_dim_to_check,
    num_heads,
    in_proj_weight,
    in_proj_bias,
    bias_k,
    bias_v,
    add_zero_attn,
    dropout_p,
    out_proj_weight,
    out_proj_bias,
    training=True,
    key_padding_mask=None,
    need_weights=True,
    attn_mask=None,
    use_separate_proj_weight=False,
    q_proj_weight=None,
    k_proj_weight=None,
    v_proj_weight=None,
    static_k=None,
    static_v=None,
    average_attn_weights=True,
    is_causal=False,
):
    """``torch.nn.functional.multi_head_attention_forward``, with the runtime's attention where the weights are not
    asked for. Operands and results are torch's, positions first."""
    if need_weights is False and static_k is None and static_v is None:
        separate = (q_proj_weight, k_proj_weight, v_proj_weight)
        layer = _Layer(
            embed_dim_to_check, num_heads, separate if use_separate_proj_weight else (in_proj_weight,),
            in_proj_bias, out_proj_weight, out_proj_bias, False,
            bias_k is None and bias_v is None and not add_zero_attn and not (training and dropout_p > 0.0),
            False,
        )  # fmt: skip
        result = _attended(layer, query, key, value, key_padding_mask, attn_mask, is_causal)
        if result is not None:
            return result, None
    return F.multi_head_attention_forward(
        query, key, value, embed_dim_to_check, num_heads, in_proj_weight, in_proj_bias, bias_k, bias_v,
        add_zero_attn, dropout_p, out_proj_weight, out_proj_bias, training, key_padding_mask, need_weights,
        attn_mask, use_separate_proj_weight, q_proj_weight, k_proj_weight, v_proj_weight, static_k, static_v,
        average_attn_weights, is_causal,
    )  # fmt: skip


class _Layer(NamedTuple):
    """What a call is computed with; ``weights`` are three, or one of the three below each other."""

    embed_dim: int
    num_heads: int
    weights: tuple
    bias: torch.Tensor | None
    out_weight: torch.Tensor
    out_bias: torch.Tensor | None
    batch_first: bool
    plain: bool  # projections and attention are all of it
    may_be_native: bool  # torch has a function of its own for self-attention


def _of_module(module):
    plain = module.bias_k is None and module.bias_v is None and not module.add_zero_attn
    if module._qkv_same_embed_dim:
        weights = (module.in_proj_weight,)
    else:
        weights = (module.q_proj_weight, module.k_proj_weight, module.v_proj_weight)
    return _Layer(
        module.embed_dim, module.num_heads, weights, module.in_proj_bias,
        module.out_proj.weight, module.out_proj.bias, module.batch_first,
        plain and not (module.training and module.dropout > 0.0), not module.training,
    )  # fmt: skip


def _attended(layer, query, key, value, key_padding_mask, attn_mask, is_causal):
    """The layer's result without weights; None where torch's own code has to give it."""
    if not _is_usual(layer, query, key, value, key_padding_mask, attn_mask):
        return None
    if is_causal is not False:
        # The flag is a hint about attn_mask, which torch's paths follow differently.
        if is_causal is not True or attn_mask is None:
            return None
        if key_padding_mask is None:
            if layer.batch_first and query is key and key is value:
                return None
            attn_mask = None
        else:
            is_causal = False
    mask = _merged_mask(attn_mask, key_padding_mask, query.dtype, layer.num_heads)
    by_batch = _lies_by_batch(layer, query, key, value, key_padding_mask, attn_mask)
    if by_batch and torch.is_autocast_enabled(query.device.type):
        return None  # torch's native function, where it runs at all then, casts nothing
    query, key, value = _projected(layer, query, key, value)
    if not layer.batch_first:
        query, key, value = (t.transpose(0, 1) for t in (query, key, value))
    batch, length, heads, width = query.shape
    # As torch's results lie: by batch where its native function computes, else by position.
    place = None
    if not by_batch and not (is_compiling() or peek_interpreter_stack()):
        place = query.new_empty(length, batch, heads, width).transpose(0, 1)
    result = attention_forward(query, key, value, mask, is_causal=is_causal, out=place)
    if not by_batch:
        result = result.transpose(0, 1).contiguous()
    result = F.linear(result.flatten(2), layer.out_weight, layer.out_bias)
    return result if by_batch or not layer.batch_first else result.transpose(0, 1)


def _is_usual(layer, query, key, value, key_padding_mask, attn_mask):
    """Whether the operands are such as the kernels are for, and the layer has no more than projections. Of shapes
    only those are asked that torch would refuse, and the products would not."""
    if not layer.plain or type(query) not in _PLAIN or query.is_nested or query.dim() != 3:
        return False
    dtype, device, width, heads = query.dtype, query.device, layer.embed_dim, layer.num_heads
    operands = (query,) if query is key and key is value else (query, key, value)
    recorded = torch.is_grad_enabled()
    for t in (*operands, *layer.weights, layer.bias, layer.out_weight, layer.out_bias):
        if t is None:
            continue
        if type(t) not in _PLAIN or t.dtype != dtype or t.device != device or recorded and t.requires_grad:
            return False
    for mask in (key_padding_mask, attn_mask):
        if mask is None:
            continue
        if type(mask) not in _PLAIN or mask.device != device or recorded and mask.requires_grad:
            return False
    batch, sequence = (0, 1) if layer.batch_first else (1, 0)
    if key.is_nested or value.is_nested:
        return False
    shape, keys = query.shape, key.shape
    if not dtype.is_floating_point or shape[2] != width or heads <= 0 or width % heads or 0 in shape:
        return False
    for t in operands:
        if t.dim() != 3 or len(layer.weights) == 1 and t.shape[2] != width:
            return False
    if keys[:2] != value.shape[:2] or keys[batch] != shape[batch] or 0 in keys:
        return False
    if key_padding_mask is None and attn_mask is None:
        return True
    return _masks_fit(
        key_padding_mask, attn_mask, dtype, shape[batch], heads, shape[sequence], keys[sequence]
    )


def _masks_fit(key_padding_mask, attn_mask, dtype, batch, heads, queries, keys):
    shapes = (
        (key_padding_mask, ((batch, keys),)),
        (attn_mask, ((queries, keys), (batch * heads, queries, keys))),
    )
    return all(
        mask is None or mask.dtype in (torch.bool, dtype) and tuple(mask.shape) in known
        for mask, known in shapes
    )


def _lies_by_batch(layer, query, key, value, key_padding_mask, attn_mask):
    """Whether torch's native function would compute, whose result is dense with the batch first. Elsewhere it is
    dense with the positions first, whatever ``batch_first`` says."""
    return (
        layer.may_be_native
        and layer.batch_first
        and query is key
        and key is value
        and layer.num_heads % 2 == 0
        and len(layer.weights) == 1
        and layer.bias is not None
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


def _projected(layer, query, key, value):
    """Query, key and value of the heads [.., .., N, D], by as few products as the operands allow."""
    width = layer.embed_dim
    heads = (layer.num_heads, width // layer.num_heads)
    if len(layer.weights) == 3:
        parts = list(zip((1, 1, 1), (query, key, value), layer.weights, strict=True))
    elif query is key and key is value:
        parts = [(3, query, layer.weights[0])]
    elif key is value:
        first, rest = layer.weights[0].split((width, 2 * width))
        parts = [(1, query, first), (2, key, rest)]
    else:
        parts = list(zip((1, 1, 1), (query, key, value), layer.weights[0].chunk(3), strict=True))
    biases = [None] * len(parts)
    if layer.bias is not None:
        biases = layer.bias.split([count * width for count, _, _ in parts])
    results = []
    for (count, x, weight), own_bias in zip(parts, biases, strict=True):
        product = F.linear(x, weight, own_bias)
        results += product.view(*x.shape[:2], count, *heads).unbind(2)
    return results
