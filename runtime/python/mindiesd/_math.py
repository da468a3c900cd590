"""The plain-math back end: every operation composed of torch operators, for devices and types that
have no kernel. It computes in float32 at least, and in float64 where an operand is float64. For
attention on a GPU torch's own fused function serves where it computes the same.
"""

import torch

# enable_gqa came with 2.5.
_HAS_GQA = torch.__version__ >= (2, 5)


def computing_type(*tensors):
    """float64 if any operand is, else float32."""
    wide = any(t is not None and t.dtype in (torch.float64, torch.complex128) for t in tensors)
    return torch.float64 if wide else torch.float32


def _scores(query, key, mask, scale, causal, left, right, softcap, slopes, dtype):
    """(scores [B, N, Sq, Sk] of ``dtype``, whether some may be hidden), in the order of steps of
    ``kernels/problem.h``; operands are [B, N, S, D]."""
    heads = query.shape[1]
    if key.shape[1] != heads:
        key = key.repeat_interleave(heads // key.shape[1], dim=1)
    scores = torch.matmul(query.to(dtype), key.to(dtype).transpose(-1, -2)) * scale
    if softcap > 0.0:
        scores = softcap * torch.tanh(scores / softcap)
    query_length, key_length = scores.shape[-2:]
    rows = torch.arange(query_length, device=query.device)[:, None]
    columns = torch.arange(key_length, device=query.device)
    aligned = rows + (key_length - query_length)
    if slopes is not None:
        distance = (aligned - columns).abs().to(dtype)
        scores = scores - slopes.to(dtype).reshape(-1, heads, 1, 1) * distance
    allowed = None
    if causal:
        allowed = columns <= (rows if causal == 1 else aligned)
    if left >= 0:
        inside = columns >= aligned - left
        allowed = inside if allowed is None else allowed & inside
    if right >= 0:
        inside = columns <= aligned + right
        allowed = inside if allowed is None else allowed & inside
    if mask is not None:
        if mask.dtype == torch.bool:
            allowed = mask if allowed is None else mask & allowed
        else:
            scores = scores + mask.to(dtype)
    if allowed is not None:
        scores = scores.masked_fill(~allowed, float("-inf"))
    return scores, not (mask is None and allowed is None)


def _weighted(scores, hides, query, value, dtype):
    """softmax(scores) value, of query's type."""
    if value.shape[1] != query.shape[1]:
        value = value.repeat_interleave(query.shape[1] // value.shape[1], dim=1)
    if hides:
        # A query that sees no key gives zeros; one with a NaN among its scores keeps it. Its scores go
        # before the softmax, whose gradient there would be NaN.
        empty = (scores == float("-inf")).all(dim=-1, keepdim=True)
        weights = torch.softmax(scores.masked_fill(empty, 0.0), dim=-1).masked_fill(empty, 0.0)
    else:
        weights = torch.softmax(scores, dim=-1)
    return torch.matmul(weights, value.to(dtype)).to(query.dtype)


def attention(query, key, value, mask, scale, causal, left, right, softcap, slopes):
    """Operands are [B, N, S, D]."""
    dtype = computing_type(query, key, value, mask)
    scores, hides = _scores(query, key, mask, scale, causal, left, right, softcap, slopes, dtype)
    return _weighted(scores, hides, query, value, dtype)


def attention_with_lse(query, key, value, mask, scale, causal, left, right, softcap, slopes):
    """The same, and the logarithm of the sum of each query's exponentials, [B, N, Sq], -infinity where it sees no
    key."""
    dtype = computing_type(query, key, value, mask)
    scores, hides = _scores(query, key, mask, scale, causal, left, right, softcap, slopes, dtype)
    empty = (scores == float("-inf")).all(dim=-1)
    sums = torch.logsumexp(scores.masked_fill(empty[..., None], 0.0), dim=-1)
    return _weighted(scores, hides, query, value, dtype), sums.masked_fill(empty, float("-inf"))


def fused_computes(query, key, mask, causal, left, right, softcap, slopes):
    """Whether ``fused_attention`` is the same function. Operands are [B, N, S, D].

    Not for masks that repeat a column: torch 2.11's fused kernels read those at wrong addresses."""
    if softcap > 0.0 or slopes is not None or left >= 0 or right >= 0:
        return False
    if causal == 2 and query.shape[2] != key.shape[2]:
        return False
    if mask is None:
        return True
    dense = mask.shape[-1] == key.shape[2] and mask.stride(-1) == 1
    return dense and mask.dtype in (torch.bool, query.dtype)


def fused_attention(query, key, value, mask, scale, causal):
    """The same as ``attention`` by torch's scaled_dot_product_attention, which does not hold all scores
    at once, where ``fused_computes``. Operands are [B, N, S, D] of one type."""
    batch, heads = query.shape[:2]
    shared = heads // max(key.shape[1], 1)
    keywords = {}
    if shared != 1:
        if mask is None and _HAS_GQA:
            keywords["enable_gqa"] = True
        else:
            key, value = (t.repeat_interleave(shared, 1) for t in (key, value))
    if key.shape[0] != batch:
        key, value = (t.expand(batch, -1, -1, -1) for t in (key, value))
    if mask is not None and causal:
        inside = torch.ones(
            query.shape[2], key.shape[2], dtype=torch.bool, device=query.device
        ).tril()
        if mask.dtype == torch.bool:
            mask = mask & inside
        else:
            mask = mask.masked_fill(~inside, float("-inf"))
    result = torch.nn.functional.scaled_dot_product_attention(
        query, key, value, mask, scale=scale, is_causal=bool(causal) and mask is None, **keywords
    )
    if mask is None:
        return result
    # A query that sees no key gives zeros; torch's back ends disagree about it.
    sees = mask if mask.dtype == torch.bool else mask != float("-inf")
    return torch.where(sees.any(-1, keepdim=True), result, result.new_zeros(()))


def attention_varlen(
    query, key, value, cu_query, cu_key, scale, causal, left, right, softcap, slopes, output, lse=None
):
    """Operands are [T, N, D]; writes into ``output``, and into ``lse`` [N, T], sequence by sequence."""
    output.zero_()
    if lse is not None:
        lse.fill_(float("-inf"))
    starts, key_starts = cu_query.tolist(), cu_key.tolist()
    for s in range(len(starts) - 1):
        rows, columns = slice(starts[s], starts[s + 1]), slice(key_starts[s], key_starts[s + 1])
        q, k, v = (t.transpose(0, 1)[None] for t in (query[rows], key[columns], value[columns]))
        own = slopes[s] if slopes is not None and slopes.dim() == 2 else slopes
        rest = (None, scale, causal, left, right, softcap, own)
        if lse is None:
            result = attention(q, k, v, *rest)
        else:
            result, sums = attention_with_lse(q, k, v, *rest)
            lse[:, rows] = sums[0]
        output[rows] = result[0].transpose(0, 1)
    return output


def rotary(x, cos, sin, interleaved, dtype):
    """Without sin, cos is a table of matrices [..., D/2, 2, 2] for neighbours."""
    computing = computing_type(x, cos, sin)
    if sin is None:
        table, pairs = cos.to(computing), x.to(computing).unflatten(-1, (x.shape[-1] // 2, 1, 2))
        turned = table[..., 0] * pairs[..., 0] + table[..., 1] * pairs[..., 1]
        return turned.flatten(-2).to(dtype)
    wide, cos, sin = x.to(computing), cos.to(computing), sin.to(computing)
    width = x.shape[-1]
    if cos.shape[-1] != width:  # one value for each pair
        if interleaved:
            cos, sin = (t.repeat_interleave(2, dim=-1) for t in (cos, sin))
        else:
            cos, sin = (torch.cat((t, t), dim=-1) for t in (cos, sin))
    if interleaved:
        first, second = wide[..., 0::2], wide[..., 1::2]
        turned = torch.stack((-second, first), dim=-1).flatten(-2)
    else:
        first, second = wide[..., : width // 2], wide[..., width // 2 :]
        turned = torch.cat((-second, first), dim=-1)
    return (wide * cos + turned * sin).to(dtype)


def rotary_grid(x, table, grid_sizes, frame_pairs, row_pairs):
    """x [B, S, N, D], table [P, D/2, 2], grid_sizes [B, 3]; the result is float32."""
    samples = []
    parts = (frame_pairs, row_pairs, table.shape[1] - frame_pairs - row_pairs)
    for sample, (frames, rows, columns) in zip(x, grid_sizes.tolist(), strict=True):
        cells = frames * rows * columns
        sizes = (frames, rows, columns)
        places = [
            part[: sizes[d]].view(*(sizes[d] if d == e else 1 for e in range(3)), parts[d], 2).expand(*sizes, -1, -1)
            for d, part in enumerate(table.split(parts, 1))
        ]
        turns = torch.cat(places, 3).reshape(cells, 1, table.shape[1], 2)
        computing = computing_type(x, table)
        turned = rotary(sample[:cells], turns[..., 0], turns[..., 1], True, computing)
        samples.append(torch.cat((turned, sample[cells:].to(computing))))
    return torch.stack(samples).float() if samples else x.new_empty(x.shape, dtype=torch.float32)


def rms_norm(x, weight, bias, eps, dtype, normalized, product):
    computing = computing_type(x)
    wide = x.to(computing)
    result = wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + eps)
    if normalized != torch.float32:
        result = result.to(normalized)
    if weight is not None:
        result = result.to(computing_type(x, weight)) * weight
    if bias is not None:
        if product != torch.float32:
            result = result.to(product)
        result = result.to(computing_type(x, weight, bias)) + bias
    return result.to(dtype)


def qk_norm(x, weight, eps, norm, head_dim):
    """norm: 0 none, 1 over the last dimension, 2 over it and the heads together."""
    if norm == 0:
        return x
    computing = computing_type(x, weight)
    wide = x.to(computing)
    dims = (-1,) if norm == 1 else (head_dim, -1)
    wide = wide * torch.rsqrt(wide.square().mean(dims, keepdim=True) + eps)
    if weight is None:
        return wide
    weight = weight.to(computing)
    if norm == 2:
        heads = x.shape[head_dim]
        shape = [1] * x.dim()
        shape[head_dim], shape[-1] = heads, x.shape[-1]
        weight = weight.reshape(heads, x.shape[-1]).reshape(shape)
    return wide * weight


def _head_norm(x, weight, bias, eps, across_heads, kind, head_dim):
    """The norm of a query or key, over the last dimension or over it and the heads together."""
    computing = computing_type(x, weight, bias)
    wide, dims = x.to(computing), (head_dim, -1) if across_heads else (-1,)
    if kind == 0:
        wide = wide - wide.mean(dims, keepdim=True)
    wide = wide * torch.rsqrt(wide.square().mean(dims, keepdim=True) + eps)
    shape = [1] * x.dim()
    shape[-1] = x.shape[-1]
    if across_heads:
        shape[head_dim] = x.shape[head_dim]

    def spread(vector):
        if across_heads:
            vector = vector.unflatten(0, (x.shape[head_dim], x.shape[-1]))
        return vector.to(computing).reshape(shape)

    wide = wide if weight is None else wide * spread(weight)
    return wide if bias is None else wide + spread(bias)


def joint_heads(
    inputs, weights, biases, tables, eps, across_heads, kind, interleaved, head_first, dtypes
):
    """inputs: query, key and value of one stream and of the other, [B, S, N, D] or [B, N, S, D]; weights, biases and
    eps: of query and key of one and of the other, eps None where there is no norm; tables: cos and sin of one and
    of the other. The streams are joined along the sequence."""
    results = []
    for part, dtype in enumerate(dtypes):
        pieces = []
        for stream in range(2):
            x = inputs[3 * stream + part]
            own = 2 * stream + part
            cos, sin = tables[2 * stream : 2 * stream + 2]
            if part < 2 and eps[own] is not None:
                head_dim = -3 if head_first else -2
                x = _head_norm(x, weights[own], biases[own], eps[own], across_heads, kind, head_dim)
            if part < 2 and cos is not None:
                x = rotary(x, cos, sin, interleaved, computing_type(x, cos, sin))
            pieces.append(x.to(dtype))
        results.append(torch.cat(pieces, 2 if head_first else 1))
    return tuple(results)


def residual(x, branch, gate, gate_tanh, branch_weight, branch_eps):
    """x + gate * branch in the computing type. branch_eps: None, or that of the branch's own RMSNorm."""
    operands = (x, branch, gate, branch_weight)
    computing = computing_type(*operands)
    total, branch, gate, branch_weight = (
        None if t is None else t.to(computing) for t in operands
    )
    if branch_eps is not None:
        branch = branch * torch.rsqrt(branch.square().mean(-1, keepdim=True) + branch_eps)
        branch = branch if branch_weight is None else branch * branch_weight
    if gate is not None:
        branch = (gate.tanh() if gate_tanh else gate) * branch
    return total + branch


def fused_norm(total, weight, bias, scale, shift, eps, kind):
    """The norm of ``total`` in the computing type. kind: 0 LayerNorm, 1 RMSNorm."""
    operands = (total, weight, bias, scale, shift)
    computing = computing_type(*operands)
    total, weight, bias, scale, shift = (None if t is None else t.to(computing) for t in operands)
    if kind == 0:
        y = torch.nn.functional.layer_norm(total, total.shape[-1:], eps=eps)
    else:
        y = total * torch.rsqrt(total.square().mean(-1, keepdim=True) + eps)
    y = y if weight is None else y * weight
    y = y if bias is None else y + bias
    y = y if scale is None else y * (1 + scale)
    return y if shift is None else y + shift


_ACTIVATIONS = (
    torch.nn.functional.gelu,
    lambda x: torch.nn.functional.gelu(x, approximate="tanh"),
    lambda x: x * torch.sigmoid(1.702 * x),
    torch.nn.functional.silu,
    torch.nn.functional.mish,
    torch.relu,
)


def activation(x, gate, kind):
    computing = computing_type(x, gate)
    if gate is None:
        return _ACTIVATIONS[kind](x.to(computing))
    return x.to(computing) * _ACTIVATIONS[kind](gate.to(computing))


def group_norm(x, weight, bias, groups, eps, silu):
    """In the computing type; the result lies as torch's."""
    computing = computing_type(x, weight, bias)
    x, weight, bias = (None if t is None else t.to(computing) for t in (x, weight, bias))
    y = torch.nn.functional.group_norm(x, groups, weight, bias, eps)
    return torch.nn.functional.silu(y) if silu else y


def weighted_sum(terms, weights, scale):
    computing = computing_type(*terms)
    total = terms[0].to(computing) * weights[0]
    for term, weight in zip(terms[1:], weights[1:], strict=False):
        total = total + term.to(computing) * weight
    return (total if scale == 1.0 else total * scale).to(terms[0].dtype)


def upsample_nearest2x(x):
    return torch.nn.functional.interpolate(x, scale_factor=2.0, mode="nearest")


def linear_activation(x, weight, bias, kind):
    return activation(torch.nn.functional.linear(x, weight, bias), None, kind).to(x.dtype)


def int8_linear(x, weight, scales, bias):
    """A product with the weight in x's type, each value rounded once."""
    computing = torch.float64 if x.dtype == torch.float64 else torch.float32
    widened = (weight.to(computing) * scales[:, None].to(computing)).to(x.dtype)
    return torch.nn.functional.linear(x, widened, bias)


def softmax(x, dim, scale, bias, subtract, clamp_min, clamp_max, mask, mask_value, dtype):
    wide = x.to(computing_type(x, bias, mask, torch.empty(0, dtype=dtype)))
    if scale != 1.0:
        wide = wide * scale
    if bias is not None:
        wide = wide + bias
    if subtract == 1:
        wide = wide - wide.amax(dim=dim, keepdim=True)
    elif subtract == 2:
        wide = wide - wide.max()
    if clamp_min is not None or clamp_max is not None:
        wide = wide.clamp(clamp_min, clamp_max)
    if mask is not None:
        if mask.dtype == torch.bool:
            wide = wide.masked_fill(~mask, mask_value)
        else:
            wide = wide + mask
    return torch.softmax(wide, dim=dim).to(dtype)
