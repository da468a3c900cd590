"""Layouts that a careless exchange of two axes would get wrong."""
import torch
import torch.nn.functional as F


def behind_an_ellipsis(q, k, v, h, n):
    """The axis of a subscript is counted from the back."""
    b, _, c = q.shape
    q = q.view(b, -1, h, c // h).transpose(1, 2)
    k = k.view(b, -1, h, c // h).transpose(1, 2)
    v = v.view(b, -1, h, c // h).transpose(1, 2)
    first = k[..., 0, :]
    out = F.scaled_dot_product_attention(q, k[..., -n:, :], v[:, ..., -n:, :])
    return out.transpose(1, 2), first


def new_axis_by_name(q, k, v, h, n):
    """A name that is bound to None makes an axis."""
    b, _, c = q.shape
    q = q.view(b, -1, h, c // h).transpose(1, 2)
    k = k.view(b, -1, h, c // h).transpose(1, 2)
    v = v.view(b, -1, h, c // h).transpose(1, 2)
    fresh = None
    k = k[:, :, fresh, n:]
    k = k[:, :, 0]
    return F.scaled_dot_product_attention(q, k, v[:, :, n:]).transpose(1, 2)


def commented_subscripts(q, k, v, h, n):
    """The comments would be lost."""
    b, _, c = q.shape
    q = q.view(b, -1, h, c // h).transpose(1, 2)
    k = k.view(b, -1, h, c // h).transpose(1, 2)
    v = v.view(b, -1, h, c // h).transpose(1, 2)
    q = q[
        :,  # batch
        :,  # heads
        n:,  # the last tokens
    ]
    return F.scaled_dot_product_attention(q, k, v).transpose(1, 2)


def vector_on_a_moved_axis(q, k, v, h, bias):
    """Where the first channel is taken, the sequence is the last axis."""
    b, _, c = q.shape
    q = q.view(b, -1, h, c // h).transpose(1, 2)
    k = k.view(b, -1, h, c // h).transpose(1, 2)
    v = v.view(b, -1, h, c // h).transpose(1, 2)
    (n,) = bias.shape
    shifted = (q[..., 0] + bias).transpose(1, 2)
    return F.scaled_dot_product_attention(q, k, v).transpose(1, 2), shifted, n


def strides_asked_for(q, k, v, h):
    """channels_last is a wish about strides."""
    b, _, c = q.shape
    q = q.view(b, -1, h, c // h).transpose(1, 2)
    k = k.view(b, -1, h, c // h).transpose(1, 2)
    v = v.view(b, -1, h, c // h).transpose(1, 2)
    q = q.contiguous(memory_format=torch.channels_last)
    return F.scaled_dot_product_attention(q, k, v).transpose(1, 2)


def random_numbers(q, k, v, h):
    """Which elements are dropped depends on the order of the axes."""
    b, _, c = q.shape
    q = q.view(b, -1, h, c // h).transpose(1, 2)
    k = k.view(b, -1, h, c // h).transpose(1, 2)
    v = v.view(b, -1, h, c // h).transpose(1, 2)
    out = F.dropout(F.scaled_dot_product_attention(q, k, v), 0.5)
    return out.transpose(1, 2)


def permutation_between(qkv, h):
    """The permutation's operand and its result would both change."""
    b, _, c = qkv.shape
    packed = qkv.view(b, -1, 3, h, c // 3 // h).permute(2, 0, 3, 1, 4)
    mixed = packed.permute(0, 1, 2, 3, 4)
    q, k, _ = packed.unbind(0)
    v = mixed[2]
    return F.scaled_dot_product_attention(q, k, v).transpose(1, 2)


def two_numbers(q, k, v, h):
    """Two numbers change places."""
    b, _, c = q.shape
    q = q.view(b, -1, h, c // h).transpose(1, 2)
    k = k.view(b, -1, h, c // h).transpose(1, 2)
    v = v.view(b, -1, h, c // h).transpose(1, 2)
    picked = q[:, 1, 2] + q[..., 1, 0, 0].unsqueeze(-1)
    return F.scaled_dot_product_attention(q, k, v).transpose(1, 2), picked


def tuple_of_subscripts(q, k, v, h):
    """What stands between the brackets is a tuple of another line."""
    b, _, c = q.shape
    q = q.view(b, -1, h, c // h).transpose(1, 2)
    k = k.view(b, -1, h, c // h).transpose(1, 2)
    v = v.view(b, -1, h, c // h).transpose(1, 2)
    at = (0, 1)
    picked = q[at]
    return F.scaled_dot_product_attention(q, k, v).transpose(1, 2), picked


def new_axis_beside_a_number(q, k, v, h, n):
    """Where the number takes its axis away, the new one would stand elsewhere."""
    b, _, c = q.shape
    q = q.view(b, -1, h, c // h).transpose(1, 2)
    k = k.view(b, -1, h, c // h).transpose(1, 2)
    v = v.view(b, -1, h, c // h).transpose(1, 2)
    picked = q[:, n:, None, 1]
    return F.scaled_dot_product_attention(q, k, v).transpose(1, 2), picked
