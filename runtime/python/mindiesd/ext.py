"""What goes beyond the published API: the general forms that migrated code calls.

Inference only. Bad arguments raise ``mindiesd.utils.ParametersInvalid``. Arithmetic is float32 at
least, whatever the operands' types.
"""

import torch

from . import _ops
from ._checks import (
    autocast_tensor,
    autocast_type,
    expect_bool,
    expect_choice,
    expect_inference,
    expect_same_device,
    expect_tensor,
    finite_number,
    number,
)
from .utils import ParametersInvalid

__all__ = [
    "attention_forward",
    "attention_forward_varlen",
    "rms_norm",
    "rotary_complex",
    "rotary_position_embedding",
    "softmax",
]

_CAUSAL = {"top_left": _ops.CAUSAL_TOP_LEFT, "bottom_right": _ops.CAUSAL_BOTTOM_RIGHT}
_SUBTRACT = {None: _ops.SUBTRACT_NONE, "row": _ops.SUBTRACT_ROW, "global": _ops.SUBTRACT_GLOBAL}
_HALF = (torch.float16, torch.bfloat16)


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
    return finite_number("scale", scale)


def _flag(name, value):
    if isinstance(value, torch.Tensor) and value.dim() == 0:
        return bool(value)
    expect_bool(name, value)
    return value


def _slopes(alibi_slopes, query, heads, batch):
    if alibi_slopes is None:
        return None
    expect_tensor("alibi_slopes", alibi_slopes)
    expect_same_device("alibi_slopes", alibi_slopes, "query", query)
    if tuple(alibi_slopes.shape) not in ((heads,), (batch, heads)):
        raise ParametersInvalid(
            f"alibi_slopes must have shape [{heads}] or [{batch}, {heads}], but has "
            f"{list(alibi_slopes.shape)}."
        )
    return alibi_slopes.to(torch.float32)


def _check_operands(query, key, value):
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


def _broadcast_size(name, *sizes):
    """The size that sizes broadcast to."""
    result = 1
    for size in sizes:
        if size != 1:
            if result not in (1, size):
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
    full = (*batch_shape, *result.shape[1:])
    return result if rank == 4 else result.reshape(full[len(full) - rank :])


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
    parallel_config=None,
):
    """softmax(scale * query keyᵀ + bias) value.

    Args:
        query, key, value: [B, S, N, D], or with ``head_first`` [..., N, S, D] of every rank that
            ``torch.nn.functional.scaled_dot_product_attention`` takes, leading dimensions
            broadcasting. Fewer key heads than query heads are shared by groups of query heads. Value
            may have another width than key.
        attn_mask: broadcastable to [B, N, Sq, Sk] in either layout. Boolean: True keeps. Floating: added
            to the scores.
        scale: a float, an int or a 0-dimensional tensor; default D ** -0.5.
        is_causal: query i sees keys 0 to i (``causal_alignment="top_left"``, torch), or the last query
            sees the last key (``"bottom_right"``, flash-attn). With a mask, both apply.
        mask_2d: what a mask with two dimensions is: ``"query_key"`` [Sq, Sk], or ``"batch_key"``
            [B, Sk] where its shape is that, as diffusers' native back end reads it.
        window_size: (left, right): query i sees keys i + Sk - Sq - left to i + Sk - Sq + right;
            negative or None: unbounded (flash-attn).
        softcap: where positive, scores become softcap * tanh(score / softcap) (flash-attn).
        alibi_slopes: [N] or [B, N]; -slope * |i + Sk - Sq - j| is added (flash-attn).
        parallel_config: must be None; there is no context parallelism here.

    Returns:
        A tensor of query's type: [B, Sq, N, Dv], dense; with ``head_first`` in the stride order of the
        query. A query that sees no key gives zeros. Under ``torch.autocast`` operands are cast as
        torch casts those of scaled_dot_product_attention.

    Raises:
        ParametersInvalid: an argument has the wrong type, shape, device or value.
    """
    if parallel_config is not None:
        raise ParametersInvalid(
            "parallel_config must be None: mindiesd has no context parallelism, so this call cannot "
            "stand in for one that is split over devices."
        )
    _check_tensors_only(query, key, value, attn_mask)
    expect_inference(query, key, value, attn_mask)
    cast = autocast_type(query, "aten::scaled_dot_product_attention")
    if cast is not None:
        query, key, value, attn_mask = (
            autocast_tensor(t, cast) for t in (query, key, value, attn_mask)
        )
    _check_operands(query, key, value)
    expect_bool("head_first", head_first)
    expect_choice("causal_alignment", causal_alignment, ("top_left", "bottom_right"))
    expect_choice("mask_2d", mask_2d, ("query_key", "batch_key"))
    causal = _CAUSAL[causal_alignment] if _flag("is_causal", is_causal) else _ops.CAUSAL_NONE
    left, right = _window(window_size)
    softcap = _softcap(softcap)
    rank = query.dim()
    same_rank = key.dim() == rank and value.dim() == rank
    if not head_first and not (same_rank and rank == 4):
        raise ParametersInvalid(
            "query, key and value must have 4 dimensions [batch, sequence, heads, head_dim], but have "
            f"{rank}, {key.dim()} and {value.dim()}; other ranks need head_first=True."
        )
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

    slopes = None
    if alibi_slopes is not None:
        if rank != 4:
            raise ParametersInvalid(f"alibi_slopes need a query of 4 dimensions, but it has {rank}.")
        heads = query.shape[1] if head_first else query.shape[2]
        slopes = _slopes(alibi_slopes, query, heads, query.shape[0])

    def call(q, k, v, mask):
        return _ops.attention_forward(
            q, k, v, mask, scale, head_first, causal, left, right, softcap, slopes
        )

    if rank == 4 and same_rank and _plain_4d(query, key, value, attn_mask, head_first):
        return call(query, key, value, attn_mask)
    if head_first:
        return _attention_any_rank(query, key, value, attn_mask, call)

    def call_swapped(q, k, v, mask):
        return call(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), mask).transpose(1, 2)

    swapped = (t.transpose(1, 2) for t in (query, key, value))
    return _attention_any_rank(*swapped, attn_mask, call_swapped).transpose(1, 2)


def _check_tensors_only(query, key, value, attn_mask):
    expect_tensor("query", query)
    expect_tensor("key", key)
    expect_tensor("value", value)
    expect_tensor("attn_mask", attn_mask, optional=True)


def _mask(mask, query, key, sequence, mask_2d):
    """The mask as boolean or floating, [.., Sq, Sk], its shape checked."""
    if mask.dtype != torch.bool and not mask.is_floating_point():
        raise ParametersInvalid(
            f"attn_mask must be boolean (True keeps) or floating (added), but is {mask.dtype}."
        )
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
        if size not in (1, wanted):
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
    if key.shape[0] not in (1, batch) or value.shape[0] not in (1, batch):
        return False
    if value.shape[head] != key_heads or key_heads == 0 or heads % key_heads:
        return False  # _broadcast_heads decides, or refuses
    if mask is None:
        return True
    if mask.dim() > 4:
        return False
    outer = (1,) * (4 - mask.dim()) + tuple(mask.shape[:-2])
    return outer[0] in (1, batch) and outer[1] in (1, heads)


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
    for name, operand in (("q", q), ("k", k), ("v", v)):
        expect_tensor(name, operand)
        if operand.dim() != 3:
            raise ParametersInvalid(f"Expected {name} to be 3D, but got {operand.dim()}D.")
    expect_inference(q, k, v)
    _check_operands(q, k, v)
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
    return _ops.attention_forward_varlen(
        q,
        k,
        v,
        cu_seqlens_q,
        cu_seqlens_k,
        _scale(softmax_scale, q.shape[-1]),
        _ops.CAUSAL_BOTTOM_RIGHT if _flag("causal", causal) else _ops.CAUSAL_NONE,
        left,
        right,
        _softcap(softcap),
        _slopes(alibi_slopes, q, heads, cu_seqlens_q.shape[0] - 1),
    )


def _rotary_type(result_type, x, cos, sin):
    if result_type == "input":
        return x.dtype
    if result_type == "promoted":
        return torch.promote_types(torch.promote_types(x.dtype, cos.dtype), sin.dtype)
    return torch.float32


def _rotary(x, cos, sin, interleaved, result_type):
    width = x.shape[-1]
    if width % 2:
        raise ParametersInvalid(
            f"x must have an even last dimension, but has shape {list(x.shape)}."
        )
    if cos.device != x.device:
        cos = cos.to(x.device)
    if sin.device != x.device:
        sin = sin.to(x.device)
    if cos.shape[-1] == 1 and sin.shape[-1] == 1 and width > 2:  # one angle for the whole row
        cos, sin = cos.expand(*cos.shape[:-1], width), sin.expand(*sin.shape[:-1], width)
    if cos.shape[-1] != sin.shape[-1] or cos.shape[-1] not in (width, width // 2):
        raise ParametersInvalid(
            f"cos and sin must both have {width} or both {width // 2} columns for x of shape "
            f"{list(x.shape)}, but have shapes {list(cos.shape)} and {list(sin.shape)}."
        )
    try:
        rows = torch.broadcast_shapes(x.shape[:-1], cos.shape[:-1], sin.shape[:-1])
    except RuntimeError:
        raise ParametersInvalid(
            f"cos and sin must broadcast against x by trailing dimensions, but x has shape "
            f"{list(x.shape)}, cos {list(cos.shape)} and sin {list(sin.shape)}."
        ) from None
    if rows != x.shape[:-1]:
        x = x.expand(*rows, width)
    return _ops.rotary_position_embedding(
        x, cos, sin, interleaved, _rotary_type(result_type, x, cos, sin)
    )


def rotary_position_embedding(
    x, cos, sin, rotated_mode="rotated_half", *, result_type="input"
):
    """x * cos + rotate(x) * sin along the last dimension.

    Args:
        x: [..., D], D even.
        cos, sin: broadcast against x by trailing dimensions; the last is D, or D/2 with one value for
            each pair. Tables on another device are moved.
        rotated_mode: ``"rotated_half"``: pairs (x[j], x[j + D/2]); ``"rotated_interleaved"``: pairs
            (x[2j], x[2j + 1]). A pair (a, b) turns into (-b, a).
        result_type: ``"input"``: x's type; ``"promoted"``: that of x, cos and sin; ``"float32"``.

    Returns:
        A tensor of the broadcast shape, in the stride order of x.

    Raises:
        ParametersInvalid: an argument has the wrong type, shape or value.
    """
    expect_tensor("x", x)
    expect_tensor("cos", cos)
    expect_tensor("sin", sin)
    expect_inference(x, cos, sin)
    expect_choice("rotated_mode", rotated_mode, ("rotated_half", "rotated_interleaved"))
    expect_choice("result_type", result_type, ("input", "promoted", "float32"))
    for name, tensor in (("x", x), ("cos", cos), ("sin", sin)):
        if tensor.dim() == 0 or not tensor.is_floating_point():
            raise ParametersInvalid(
                f"{name} must be a floating tensor with at least one dimension, but is "
                f"{tensor.dtype} of shape {list(tensor.shape)}."
            )
    return _rotary(x, cos, sin, rotated_mode == "rotated_interleaved", result_type)


def rotary_complex(x, freqs_cis, *, result_type="input"):
    """Neighbours (x[2j], x[2j + 1]) as complex numbers, times ``freqs_cis``.

    Args:
        x: [..., D], D even, real.
        freqs_cis: complex, broadcasting against [..., D/2]; moved where it lies on another device.
        result_type: ``"input"``: x's type; ``"promoted"``: that of x and the parts of freqs_cis;
            ``"float32"``.

    Returns:
        A real tensor [..., D].

    Raises:
        ParametersInvalid: an argument has the wrong type, shape or value.
    """
    expect_tensor("x", x)
    expect_tensor("freqs_cis", freqs_cis)
    expect_inference(x, freqs_cis)
    expect_choice("result_type", result_type, ("input", "promoted", "float32"))
    if x.dim() == 0 or not x.is_floating_point():
        raise ParametersInvalid(
            f"x must be a floating tensor with at least one dimension, but is {x.dtype} of shape "
            f"{list(x.shape)}."
        )
    if freqs_cis.dim() == 0 or not freqs_cis.is_complex():
        raise ParametersInvalid(
            "freqs_cis must be a complex tensor with at least one dimension, but is "
            f"{freqs_cis.dtype} of shape {list(freqs_cis.shape)}."
        )
    parts = torch.view_as_real(freqs_cis.resolve_conj())
    cos, sin = parts[..., 0], parts[..., 1]
    half = x.shape[-1] // 2
    if cos.shape[-1] == 1 and half != 1:
        cos, sin = cos.expand(*cos.shape[:-1], half), sin.expand(*sin.shape[:-1], half)
    if cos.shape[-1] != half:
        raise ParametersInvalid(
            f"freqs_cis must have {half} columns, half of x's, but has shape "
            f"{list(freqs_cis.shape)}."
        )
    return _rotary(x, cos, sin, True, result_type)


def _norm_types(result_type, x, weight, bias):
    """(result, type that y is rounded to, type that weight * y is rounded to); float32: no rounding.

    With a bias the sum has the type that torch's promotion gives it, as in diffusers' RMSNorm.
    """
    unrounded = torch.float64 if x == torch.float64 else torch.float32
    if result_type == "float32":
        return unrounded, unrounded, unrounded
    if result_type == "input" or weight is None and bias is None:
        return x, torch.float32, torch.float32
    if result_type == "promoted" or weight is None:
        normalized = x
        product = x if weight is None else torch.promote_types(x, weight)
    else:
        normalized = weight if weight in _HALF else unrounded
        product = torch.promote_types(normalized, weight) if weight in _HALF else weight
    result = product if bias is None else torch.promote_types(product, bias)
    return result, normalized, product


def _norm_vector(name, vector, x):
    """weight or bias as [D] where it is that, possibly under leading ones or as one value."""
    if vector is None:
        return None
    expect_tensor(name, vector)
    expect_same_device(name, vector, "hidden_states", x)
    width = x.shape[-1]
    if vector.shape == (width,):
        return vector
    if vector.numel() == width and vector.dim() > 1 and vector.shape[-1] == width:
        return vector.reshape(width)
    try:
        fits = torch.broadcast_shapes(vector.shape, x.shape) == x.shape
    except RuntimeError:
        fits = False
    if not fits:
        raise ParametersInvalid(
            f"{name} must have shape [{width}], or broadcast against hidden_states of shape "
            f"{list(x.shape)}, but has {list(vector.shape)}."
        )
    return vector.expand(width) if vector.numel() == 1 else vector


def rms_norm(hidden_states, weight=None, eps=1e-6, *, bias=None, result_type="promoted"):
    """y = x / sqrt(mean(x²) + eps) over the last dimension, then weight * y + bias.

    Args:
        hidden_states: [..., D].
        weight, bias: None, or [D] of a type of their own.
        eps: a finite number, or None: the machine epsilon of the computing type (float32 for half
            precisions), as ``torch.nn.RMSNorm(eps=None)``.
        result_type: how the steps are rounded and what the result's type is.
            ``"promoted"``: y rounded to x's type, times weight in the promoted type (Llama, Wan).
            ``"input"``: weight * y + bias in float32, rounded once to x's type (F.rms_norm, Mochi).
            ``"weight"``: y rounded to weight's type where that is half precision and kept in float32
            otherwise; the result has weight's type (T5, diffusers' RMSNorm).
            ``"float32"``: never rounded.
            Without weight the first three give x's type.
            In ``"promoted"`` and ``"weight"`` weight * y is rounded before bias is added, and the sum
            has the type of torch's promotion, as in diffusers.models.normalization.RMSNorm.

    Returns:
        A tensor of x's shape: contiguous for ``"input"``, as torch's rms_norm gives it, else in the
        stride order of x. Under ``torch.autocast``, ``"input"`` follows torch's rule for rms_norm.

    Raises:
        ParametersInvalid: an argument has the wrong type, shape, device or value.
    """
    x = hidden_states
    expect_tensor("hidden_states", x)
    expect_choice("result_type", result_type, ("promoted", "input", "weight", "float32"))
    if x.dim() == 0 or not x.is_floating_point():
        raise ParametersInvalid(
            "hidden_states must be a floating tensor with at least one dimension, but is "
            f"{x.dtype} of shape {list(x.shape)}."
        )
    weight = _norm_vector("weight", weight, x)
    bias = _norm_vector("bias", bias, x)
    expect_inference(x, weight, bias)
    if result_type == "input" and autocast_type(x, "aten::rms_norm") is not None:
        x, weight, bias = (autocast_tensor(t, torch.float32) for t in (x, weight, bias))
    if eps is None:
        eps = torch.finfo(torch.float64 if x.dtype == torch.float64 else torch.float32).eps
    else:
        eps = finite_number("eps", eps)
        if eps < 0.0:
            raise ParametersInvalid(f"eps must not be negative, but is {eps}.")
    types = _norm_types(
        result_type, x.dtype, weight.dtype if weight is not None else None,
        bias.dtype if bias is not None else None,
    )  # fmt: skip
    return _ops.rms_norm(x, weight, bias, eps, *types, result_type == "input")


def softmax(
    input,
    dim=-1,
    *,
    subtract=None,
    clamp_min=None,
    clamp_max=None,
    mask=None,
    mask_value=None,
    dtype=None,
):
    """Softmax along ``dim`` after guards, in this order: subtract, clamp, mask, softmax.

    Args:
        input: a floating tensor.
        subtract: None, ``"row"`` (the maximum along dim) or ``"global"`` (the maximum of all).
        clamp_min, clamp_max: numbers or None.
        mask: None or broadcastable to input. Boolean: where False, mask_value. Floating: added.
        mask_value: a number; default -inf. Only with a boolean mask.
        dtype: the result's type; default that of input, or of input + mask for a floating mask.

    Returns:
        A contiguous tensor of input's shape, computed in float32 at least. A row that is -inf
        throughout gives NaN, as in torch. Under ``torch.autocast`` the type follows torch's rule for
        softmax.

    Raises:
        ParametersInvalid: an argument has the wrong type, shape, device or value.
    """
    expect_tensor("input", input)
    expect_tensor("mask", mask, optional=True)
    expect_inference(input, mask)
    if not input.is_floating_point():
        raise ParametersInvalid(f"input must be a floating tensor, but is {input.dtype}.")
    expect_choice("subtract", subtract, tuple(_SUBTRACT))
    clamp_min = number("clamp_min", clamp_min, optional=True)
    clamp_max = number("clamp_max", clamp_max, optional=True)
    if isinstance(dim, bool) or not isinstance(dim, int):
        raise ParametersInvalid(f"dim must be an int, but is {dim!r}.")
    if not -max(input.dim(), 1) <= dim < max(input.dim(), 1):
        raise ParametersInvalid(
            f"dim must lie in {-max(input.dim(), 1)} to {max(input.dim(), 1) - 1}, but is {dim}."
        )
    if mask is not None:
        expect_same_device("mask", mask, "input", input)
        if mask.dtype != torch.bool and not mask.is_floating_point():
            raise ParametersInvalid(
                f"mask must be boolean (True keeps) or floating (added), but is {mask.dtype}."
            )
        try:
            fits = torch.broadcast_shapes(mask.shape, input.shape) == input.shape
        except RuntimeError:
            fits = False
        if not fits:
            raise ParametersInvalid(
                f"mask must broadcast to input's shape {list(input.shape)}, but has "
                f"{list(mask.shape)}."
            )
    if mask_value is not None and (mask is None or mask.dtype != torch.bool):
        raise ParametersInvalid("mask_value needs a boolean mask.")
    mask_value = float("-inf") if mask_value is None else number("mask_value", mask_value)
    if dtype is None:
        dtype = input.dtype
        if mask is not None and mask.dtype != torch.bool:
            dtype = torch.result_type(input, mask)
        if dtype != torch.float64 and autocast_type(input, "aten::softmax.int") is not None:
            dtype = torch.float32
    elif not isinstance(dtype, torch.dtype) or not dtype.is_floating_point:
        raise ParametersInvalid(f"dtype must be a floating torch.dtype, but is {dtype!r}.")
    if input.dim() == 0:
        one = softmax(
            input.reshape(1), subtract=subtract, clamp_min=clamp_min, clamp_max=clamp_max, dtype=dtype,
            mask=None if mask is None else mask.reshape(1),
            mask_value=None if mask is None or mask.dtype != torch.bool else mask_value,
        )  # fmt: skip
        return one.reshape(())
    return _ops.softmax(
        input, dim, _SUBTRACT[subtract], clamp_min, clamp_max, mask, mask_value, dtype
    )


from ._drop_in import RMSNorm, rotary_angles  # noqa: E402, F401  (they call back into this module)
