"""The operations as the replaced code writes them, in any type: in float64 the reference, in a model's
type the original."""

import torch


def attention(
    q, k, v, mask=None, scale=None, causal=None, window=(-1, -1), softcap=0.0, slopes=None
):
    """[B, N, S, D] operands; every step as flash-attn's and torch's documentation give it."""
    group = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    scores = q @ k.transpose(-1, -2) * scale
    if softcap:
        scores = softcap * torch.tanh(scores / softcap)
    i = torch.arange(q.shape[2])[:, None] + (0 if causal == "top_left" else k.shape[2] - q.shape[2])
    aligned = torch.arange(q.shape[2])[:, None] + k.shape[2] - q.shape[2]
    j = torch.arange(k.shape[2])
    if slopes is not None:
        scores = scores - slopes.to(q.dtype).reshape(-1, q.shape[1], 1, 1) * (aligned - j).abs()
    keep = torch.ones(q.shape[2], k.shape[2], dtype=torch.bool)
    if causal:
        keep &= j <= i
    if window[0] >= 0:
        keep &= j >= aligned - window[0]
    if window[1] >= 0:
        keep &= j <= aligned + window[1]
    if mask is not None and mask.dtype == torch.bool:
        keep = keep & mask
    elif mask is not None:
        scores = scores + mask.to(q.dtype)
    scores = scores.masked_fill(~keep, float("-inf"))
    empty = (scores == float("-inf")).all(-1, keepdim=True)
    weights = torch.softmax(scores, -1).masked_fill(empty, 0.0)
    return weights @ v


def magnitude(q, k, v, *args, **kwargs):
    """The sums of magnitudes that attention's sums are measured against."""
    return attention(q.double(), k.double(), v.double().abs(), *args, **kwargs)


def rotate(x, interleaved):
    if interleaved:
        first, second = x.unflatten(-1, (x.shape[-1] // 2, 2)).unbind(-1)
        return torch.stack([-second, first], -1).flatten(-2)
    first, second = x.chunk(2, -1)
    return torch.cat([-second, first], -1)


def full_width(table, width, interleaved):
    if table.shape[-1] == width:
        return table
    return table.repeat_interleave(2, -1) if interleaved else torch.cat([table, table], -1)


def rotary(x, cos, sin, interleaved):
    cos, sin = (full_width(t, x.shape[-1], interleaved) for t in (cos, sin))
    return x * cos + rotate(x, interleaved) * sin


def pair_norm(x, cos, sin, interleaved):
    """The norm of what each rotated pair is made of."""
    x, cos, sin = x.double(), cos.double(), sin.double()
    cos, sin = (full_width(t, x.shape[-1], interleaved) for t in (cos, sin))
    return torch.hypot(x * cos, rotate(x, interleaved) * sin)


def rms(x, eps):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps)
