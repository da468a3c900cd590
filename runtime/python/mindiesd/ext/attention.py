"""Attention in its general form: ``attention_forward`` and ``attention_forward_varlen``."""

import functools
import math

import torch

from .. import _backends, _forms, _ops, _written
from .._checks import (
    autocast_tensor,
    autocast_type,
    expect_bool,
    expect_choice,
    expect_same_device,
    expect_tensor,
    finite_number,
    flag,
    is_either,
    number,
)
from .._eager import eager
from ..utils import ParametersInvalid
from ._by_torch import flex_attention, is_block_mask, nested_attention
from ._hidden_rows import expect_mask_alone, with_means
from ._masks import with_cyclic, with_key_lengths
from .activation import expect_out

_CAUSAL = {"top_left": _ops.CAUSAL_TOP_LEFT, "bottom_right": _ops.CAUSAL_BOTTOM_RIGHT}


def _window(window_size):
    if window_size is None:
        return -1, -1
    if not isinstance(window_size, (tuple, list)) or len(window_size) != 2:
        raise ParametersInvalid(f"window_size must be a pair (left, right), but is {window_size!r}.")
    bounds = []
    for bound in window_size:
        if bound is None:
            bound = -1
        if isinstance(bound, bool) or not isinstance(bound, int):
            raise ParametersInvalid(f"window_size must hold two ints, but is {window_size!r}.")
        bounds.append(bound)
    return tuple(bounds)


def _softcap(softcap):
    softcap = 0.0 if softcap is None else finite_number("softcap", softcap)
    if softcap < 0.0:
        raise ParametersInvalid(f"softcap must be 0 (off) or positive, but is {softcap}.")
    return softcap


def _scale(scale, head_dim):
    if scale is None:
        return head_dim**-0.5 if head_dim > 0 else 1.0
    return number("scale", scale)


def _slopes(alibi_slopes, query, heads, batch):
    if alibi_slopes is None:
        return None
    expect_tensor("alibi_slopes", alibi_slopes)
    expect_same_device("alibi_slopes", alibi_slopes, "query", query)
    if alibi_slopes.shape != (heads,) and alibi_slopes.shape != (batch, heads):
        raise ParametersInvalid(
            f"alibi_slopes must have shape [{heads}] or [{batch}, {heads}], but has "
            f"{list(alibi_slopes.shape)}."
        )
    return alibi_slopes.to(torch.float32)


_FLOAT8 = (torch.float8_e4m3fn, torch.float8_e5m2)


def _checked_operands(query, key, value):
    """The operands, which must be of one type. Float8 becomes bfloat16, which holds every float8 number
    and is the type that FlashAttention 3 gives for such operands."""
    for name, operand in (("query", query), ("key", key), ("value", value)):
        expect_tensor(name, operand)
        if operand.device != query.device:
            expect_same_device(name, operand, "query", query)
    if not query.dtype == key.dtype == value.dtype:
        raise ParametersInvalid(
            "query, key and value must have one type, but have "
            f"{query.dtype}, {key.dtype} and {value.dtype}."
        )
    if not query.is_floating_point():
        raise ParametersInvalid(f"query must be a floating tensor, but is {query.dtype}.")
    if query.dtype in _FLOAT8:
        return query.to(torch.bfloat16), key.to(torch.bfloat16), value.to(torch.bfloat16)
    return query, key, value


def _broadcast_size(name, *sizes):
    """The size that sizes broadcast to."""
    result = 1
    for size in sizes:
        if size != 1:
            if not is_either(result, 1, size):
                raise ParametersInvalid(
                    f"query, key, value and mask must agree in {name}, but have {list(sizes)}."
                )
            result = size
    return result


def _broadcast_heads(query_heads, key_heads, value_heads):
    shared = _broadcast_size("heads", key_heads, value_heads)
    if query_heads == 1:
        return shared, shared
    if query_heads % shared if shared else query_heads:
        raise ParametersInvalid(
            "query's heads must be a multiple of key's and value's, but query has "
            f"{query_heads}, key {key_heads} and value {value_heads}."
        )
    return query_heads, shared


def _check_sizes(query, key, value, sequence):
    if query.shape[-1] != key.shape[-1]:
        raise ParametersInvalid(
            "query and key must have one head_dim, but have "
            f"{query.shape[-1]} and {key.shape[-1]}."
        )
    if key.shape[sequence] != value.shape[sequence]:
        raise ParametersInvalid(
            "key and value must have one length, but have "
            f"{key.shape[sequence]} and {value.shape[sequence]}."
        )


def _as_4d(tensor, batch_shape, heads):
    """[..., heads, rows, columns] as [batch, heads, rows, columns] with leading sizes broadcast."""
    missing = len(batch_shape) + 3 - tensor.dim()
    tensor = tensor.reshape((1,) * missing + tuple(tensor.shape)) if missing else tensor
    tensor = tensor.expand(*batch_shape, heads, *tensor.shape[-2:])
    return tensor if len(batch_shape) == 1 else tensor.reshape(-1, *tensor.shape[-3:])


def _attention_any_rank(query, key, value, mask, call):
    """Leading dimensions broadcast as in torch's scaled_dot_product_attention; heads are third from
    the end."""
    operands = [t for t in (query, key, value, mask) if t is not None]
    rank = max(t.dim() for t in operands)
    padded = [(1,) * (max(rank, 4) - t.dim()) + tuple(t.shape) for t in operands]
    batch_shape = tuple(
        _broadcast_size(f"dimension {d}", *(shape[d] for shape in padded))
        for d in range(max(rank, 4) - 3)
    )
    heads, key_heads = _broadcast_heads(*(shape[-3] for shape in padded[:3]))
    if mask is not None and heads == 1 and padded[3][-3] != 1:
        heads = key_heads = padded[3][-3]
    result = call(
        _as_4d(query, batch_shape, heads),
        _as_4d(key, batch_shape, key_heads),
        _as_4d(value, batch_shape, key_heads),
        None if mask is None else _as_4d(mask, batch_shape, padded[3][-3]),
    )
    if rank == 4:
        return result
    full = (*batch_shape, *result.shape[1:])
    # torch computes other ranks by formulas, whose result is dense, and callers take views of it.
    return result.reshape(full[len(full) - rank :]).contiguous()


@eager
def attention_forward(
    query,
    key,
    value,
    attn_mask=None,
    scale=None,
    *,
    head_first=False,
    is_causal=False,
    causal_alignment="top_left",
    mask_2d="query_key",
    window_size=(-1, -1),
    softcap=0.0,
    alibi_slopes=None,
    key_lengths=None,
    cyclic_mask=None,
    parallel_config=None,
    strides=None,
    without_key="zeros",
    opt_mode="runtime",
    op_type=None,
    out=None,
):
    """softmax(scale * query keyᵀ + bias) value.

    Args:
        query, key, value: [B, S, N, D], or with ``head_first`` [..., N, S, D] of every rank that
            ``torch.nn.functional.scaled_dot_product_attention`` takes, leading dimensions
            broadcasting. Fewer key heads than query heads are shared by groups of query heads. Value
            may have another width than key.
        attn_mask: broadcastable to [B, N, Sq, Sk] in either layout. Boolean: True keeps. Other numbers are
            added to the scores. A ``BlockMask`` hands the call to torch's flex_attention.
        scale: a number or a 0-dimensional tensor; default D ** -0.5. What is not finite gives what it gives
            in torch.
        is_causal: query i sees keys 0 to i (``causal_alignment="top_left"``, torch), or the last query
            sees the last key (``"bottom_right"``, flash-attn). With a mask, both apply.
        mask_2d: what a mask with two dimensions is: ``"query_key"`` [Sq, Sk], or ``"batch_key"``
            [B, Sk] where its shape is that, as diffusers' native back end reads it.
        window_size: (left, right): query i sees keys i + Sk - Sq - left to i + Sk - Sq + right;
            negative or None: unbounded (flash-attn).
        softcap: where positive, scores become softcap * tanh(score / softcap) (flash-attn).
        alibi_slopes: [N] or [B, N]; -slope * |i + Sk - Sq - j| is added (flash-attn).
        key_lengths: [B] integers: in batch b, keys from key_lengths[b] on are masked.
        cyclic_mask: [W, Sq, Sk], numbers that are added to the scores of batch b for b % W, beside the mask: the
            windows of an image, each of which has its mask in all images (Swin).
        parallel_config: must be None; there is no context parallelism here.
        strides: ``"BNSD"``: the result lies in memory as [B, N, S, D], without gaps, in either layout, as
            a product of matrices gives it.
        without_key: what a query gives that a boolean mask shows no key: ``"zeros"``, or ``"mean"``: the mean
            of all values, as where hidden scores are filled with one finite number. Takes no other
            restriction than the mask, and no ``out``.
        opt_mode, op_type: which back end computes it (docs/runtime.md); they change no result.
        out: None, or a floating tensor of the result's shape, such as a slice of a wider one, in which the
            result is written and which is returned.

    Returns:
        A tensor of query's type (bfloat16 for float8): [B, Sq, N, Dv], dense; with ``head_first``, four dimensions and
        nothing but heads to share in the stride order of the query, else dense, as torch's result is; unless
        ``strides`` says otherwise. A query that sees no key gives what ``without_key`` says.
        Nested tensors go to torch's own function. Under ``torch.autocast`` operands are cast as
        torch casts those of scaled_dot_product_attention.

    Raises:
        ParametersInvalid: an argument has the wrong type, shape, device or value.
    """
    if parallel_config is not None:
        raise ParametersInvalid(
            "parallel_config must be None: mindiesd has no context parallelism, so this call cannot "
            "stand in for one that is split over devices."
        )
    expect_choice("strides", strides, (None, "BNSD"))
    by_heads = strides == "BNSD"
    expect_choice("without_key", without_key, ("zeros", "mean"))
    if without_key == "mean":
        beyond = _beyond_torch(window_size, softcap, alibi_slopes, key_lengths, cyclic_mask)
        expect_mask_alone(attn_mask, is_causal or beyond or mask_2d != "query_key" or out is not None)
        attend = functools.partial(
            attention_forward, head_first=head_first, strides=strides, opt_mode=opt_mode, op_type=op_type
        )
        return with_means(attend, query, key, value, attn_mask, scale, head_first)
    if isinstance(attn_mask, (int, float)) and isinstance(query, torch.Tensor):
        # The same number added to every score changes no weight.
        attn_mask = None if math.isfinite(attn_mask) else query.new_tensor(attn_mask)
    if not (attn_mask is None or isinstance(attn_mask, torch.Tensor)) and is_block_mask(attn_mask):
        if is_causal or _beyond_torch(window_size, softcap, alibi_slopes, key_lengths, cyclic_mask):
            raise ParametersInvalid(
                "a BlockMask goes through torch's flex_attention, which gets no causality, windows, "
                "softcap, slopes or key lengths beside it."
            )
        return _placed(
            flex_attention(query, key, value, attn_mask, scale, head_first, by_heads), query, out
        )
    for name, operand in (("query", query), ("key", key), ("value", value)):
        expect_tensor(name, operand)
    expect_tensor("attn_mask", attn_mask, optional=True)
    if query.is_nested:
        beyond = _beyond_torch(window_size, softcap, alibi_slopes, key_lengths, cyclic_mask)
        if beyond or is_causal and causal_alignment != "top_left":
            raise ParametersInvalid(
                "nested tensors go through torch's scaled_dot_product_attention, which has no windows, "
                "softcap, slopes, key lengths or bottom-right causality."
            )
        return _placed(
            nested_attention(query, key, value, attn_mask, scale, head_first, is_causal), query, out
        )
    cast = autocast_type(query, "aten::scaled_dot_product_attention")
    if cast is not None:
        query, key, value, attn_mask = (
            autocast_tensor(t, cast) for t in (query, key, value, attn_mask)
        )
    query, key, value = _checked_operands(query, key, value)
    expect_bool("head_first", head_first)
    expect_choice("causal_alignment", causal_alignment, ("top_left", "bottom_right"))
    expect_choice("mask_2d", mask_2d, ("query_key", "batch_key"))
    causal = _CAUSAL[causal_alignment] if flag("is_causal", is_causal) else _ops.CAUSAL_NONE
    left, right = _window(window_size)
    softcap = _softcap(softcap)
    rank = query.dim()
    same_rank = key.dim() == rank and value.dim() == rank
    if not head_first and not (same_rank and rank == 4):
        raise ParametersInvalid(
            "query, key and value must have 4 dimensions [batch, sequence, heads, head_dim], but have "
            f"{rank}, {key.dim()} and {value.dim()}; other ranks need head_first=True."
        )
    if head_first and min(rank, value.dim()) == 1 < key.dim():
        beyond = _beyond_torch(window_size, softcap, alibi_slopes, key_lengths, cyclic_mask)
        if not (causal or beyond):  # torch's products take a vector, its attention does not
            factor = _scale(scale, query.shape[-1])
            return _placed(_written.attention(query, key, value, attn_mask, factor), query, out)
    if rank < 2 or key.dim() < 2 or value.dim() < 2:
        raise ParametersInvalid(
            "query, key and value must have at least 2 dimensions [sequence, head_dim], but have "
            f"{rank}, {key.dim()} and {value.dim()}."
        )
    sequence = -2 if head_first else -3
    _check_sizes(query, key, value, sequence)
    scale = _scale(scale, query.shape[-1])
    if attn_mask is not None:
        attn_mask = _mask(attn_mask, query, key, sequence, mask_2d)
    if cyclic_mask is not None:
        attn_mask = with_cyclic(cyclic_mask, attn_mask, query, key, sequence)
    if key_lengths is not None:
        attn_mask = with_key_lengths(key_lengths, attn_mask, query, key, sequence)
    choice = _backends.CHOICES.index(_backends.choice_of(opt_mode, op_type))

    slopes = None
    if alibi_slopes is not None:
        if rank != 4:
            raise ParametersInvalid(f"alibi_slopes need a query of 4 dimensions, but it has {rank}.")
        heads = query.shape[1] if head_first else query.shape[2]
        slopes = _slopes(alibi_slopes, query, heads, query.shape[0])

    direct = rank == 4 and same_rank and _plain_4d(query, key, value, attn_mask, head_first)
    if head_first and not (direct and key.shape[0] == value.shape[0] == query.shape[0]):
        by_heads = True  # torch's attention broadcasts nothing but goes by formulas, whose result is dense
    if direct and out is not None:
        expect_out(out, (*query.shape[:-1], value.shape[-1]), query)
        if out.dtype == query.dtype and out.stride(-1) == 1:
            return _forms.attention_into(
                query, key, value, attn_mask, scale, head_first, causal, left, right, softcap, slopes,
                choice, by_heads, out,
            )  # fmt: skip

    def call(q, k, v, mask):
        return _forms.attention(
            q, k, v, mask, scale, head_first, causal, left, right, softcap, slopes, choice, by_heads
        )

    if direct:
        return _placed(call(query, key, value, attn_mask), query, out)
    if head_first:
        return _placed(_attention_any_rank(query, key, value, attn_mask, call), query, out)

    def call_swapped(q, k, v, mask):
        return call(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), mask).transpose(1, 2)

    swapped = (t.transpose(1, 2) for t in (query, key, value))
    result = _attention_any_rank(*swapped, attn_mask, call_swapped).transpose(1, 2)
    return _placed(result, query, out)


def _placed(result, query, out):
    """The result, in ``out`` where that is given."""
    if out is None:
        return result
    expect_out(out, result.shape, query)
    return out.copy_(result)


def _beyond_torch(window_size, softcap, alibi_slopes, key_lengths, cyclic_mask):
    """Whether a call asks for what torch's own functions do not take."""
    given = any(value is not None for value in (alibi_slopes, key_lengths, cyclic_mask))
    return given or _window(window_size) != _window((-1, -1)) or _softcap(softcap) != 0.0


def _mask(mask, query, key, sequence, mask_2d):
    """The mask as boolean or floating, [.., Sq, Sk], its shape checked."""
    if mask.is_complex():
        raise ParametersInvalid(
            f"attn_mask must be boolean (True keeps) or numbers (added), but is {mask.dtype}."
        )
    if mask.dtype != torch.bool and not mask.is_floating_point():
        mask = mask.to(torch.float32)
    if mask.device != query.device:
        expect_same_device("attn_mask", mask, "query", query)
    if mask.dtype == torch.float64 and query.dtype != torch.float64:
        mask = mask.to(torch.float32)
    lengths = (query.shape[sequence], key.shape[sequence])
    if mask_2d == "batch_key" and tuple(mask.shape) == (query.shape[0], lengths[1]):
        return mask[:, None, None, :]
    if mask.dim() < 2:
        mask = mask.reshape((1,) * (2 - mask.dim()) + tuple(mask.shape))
    for size, wanted in zip(mask.shape[-2:], lengths):
        if not is_either(size, 1, wanted):
            raise ParametersInvalid(
                f"attn_mask must broadcast to [..., {lengths[0]}, {lengths[1]}] (query length, key "
                f"length), but has shape {list(mask.shape)}."
            )
    return mask


def _plain_4d(query, key, value, mask, head_first):
    """Whether the operator takes the operands as they are: batch and heads need no broadcasting
    beyond what the kernels do."""
    head = 1 if head_first else 2
    batch, heads, key_heads = query.shape[0], query.shape[head], key.shape[head]
    if not (is_either(key.shape[0], 1, batch) and is_either(value.shape[0], 1, batch)):
        return False
    if value.shape[head] != key_heads or key_heads == 0 or heads % key_heads:
        return False  # _broadcast_heads decides, or refuses
    if mask is None:
        return True
    if mask.dim() > 4:
        return False
    outer = (1,) * (4 - mask.dim()) + tuple(mask.shape[:-2])
    return is_either(outer[0], 1, batch) and is_either(outer[1], 1, heads)


def _cu_seqlens(name, values, device):
    if isinstance(values, (list, tuple)):
        if not all(isinstance(v, int) and not isinstance(v, bool) for v in values):
            raise ParametersInvalid(f"{name} must hold ints, but is {values!r}.")
        return torch.tensor(values, dtype=torch.int32, device=device)
    if not isinstance(values, torch.Tensor):
        raise ParametersInvalid(
            f"{name} must be a tensor or a list of ints, but is {type(values).__name__}."
        )
    if values.dtype not in (torch.int32, torch.int64, torch.int16, torch.int8, torch.uint8):
        raise ParametersInvalid(f"{name} must be an integer tensor, but is {values.dtype}.")
    if values.dim() != 1 or values.shape[0] == 0:
        raise ParametersInvalid(
            f"{name} must have shape [sequences + 1], but has {list(values.shape)}."
        )
    return values.to(device=device, dtype=torch.int32).contiguous()


@eager
def attention_forward_varlen(
    q,
    k,
    v,
    cu_seqlens_q,
    cu_seqlens_k,
    *,
    softmax_scale=None,
    causal=False,
    window_size=(-1, -1),
    softcap=0.0,
    alibi_slopes=None,
):
    """Attention over packed sequences, as ``flash_attn.flash_attn_varlen_func``.

    Args:
        q, k, v: [T, N, D]; fewer key heads than query heads are shared by groups.
        cu_seqlens_q, cu_seqlens_k: [sequences + 1], a list of ints or an integer tensor: sequence s owns
            tokens cu_seqlens[s] to cu_seqlens[s + 1].
        causal: in each sequence the last query sees the last key.
        alibi_slopes: [N] or [sequences, N].
        softmax_scale, window_size, softcap: as ``attention_forward``, with each sequence's lengths.

    Returns:
        [Tq, N, Dv], dense; rows of no sequence are zeros.

    Raises:
        ParametersInvalid: an argument has the wrong type, shape, device or value.
    """
    arguments = varlen_arguments(
        q, k, v, cu_seqlens_q, cu_seqlens_k, softmax_scale, causal, window_size, softcap, alibi_slopes
    )
    return _forms.attention_varlen(*arguments)


def varlen_arguments(
    q, k, v, cu_seqlens_q, cu_seqlens_k, softmax_scale, causal, window_size, softcap, alibi_slopes
):
    """What the operators over packed sequences take, checked."""
    for name, operand in (("q", q), ("k", k), ("v", v)):
        expect_tensor(name, operand)
        if operand.dim() != 3:
            raise ParametersInvalid(f"Expected {name} to be 3D, but got {operand.dim()}D.")
    q, k, v = _checked_operands(q, k, v)
    _check_sizes(q, k, v, 0)
    heads, shared = _broadcast_heads(q.shape[1], k.shape[1], v.shape[1])
    q = q.expand(-1, heads, -1)
    k, v = k.expand(-1, shared, -1), v.expand(-1, shared, -1)
    cu_seqlens_q = _cu_seqlens("cu_seqlens_q", cu_seqlens_q, q.device)
    cu_seqlens_k = _cu_seqlens("cu_seqlens_k", cu_seqlens_k, q.device)
    if cu_seqlens_q.shape != cu_seqlens_k.shape:
        raise ParametersInvalid(
            "cu_seqlens_q and cu_seqlens_k must have one length, but have "
            f"{cu_seqlens_q.shape[0]} and {cu_seqlens_k.shape[0]}."
        )
    left, right = _window(window_size)
    return (
        q,
        k,
        v,
        cu_seqlens_q,
        cu_seqlens_k,
        _scale(softmax_scale, q.shape[-1]),
        _ops.CAUSAL_BOTTOM_RIGHT if flag("causal", causal) else _ops.CAUSAL_NONE,
        left,
        right,
        _softcap(softcap),
        _slopes(alibi_slopes, q, heads, cu_seqlens_q.shape[0] - 1),
    )
