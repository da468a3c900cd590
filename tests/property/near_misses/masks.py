"""Scores that are masked, on one branch perhaps, and what looks like it."""
# ruff: noqa

import math

import torch
import torch.nn.functional as F
from torch import einsum


def lowest(t):
    return -torch.finfo(t.dtype).max


def exists(x):
    return x is not None


def add(x, w=None):
    return x if w is None else x + w


def add_or_none(x, w=None):
    return x if w is not None else x + 1


def add_twice(x, w=None):
    return x if w is None else x + w + w


def given(q, k, v, m):
    s = q @ k.transpose(-2, -1)
    if m is not None:
        s = s.masked_fill(m > 0, float("-inf"))
    return s.softmax(-1).nan_to_num() @ v


def absent(q, k, v, m):
    s = q @ k.transpose(-2, -1)
    if m is None:
        s = s.masked_fill(k[..., 0] > 0, -1e9)
    return s.softmax(-1) @ v


def not_given(q, k, v, m):
    s = q @ k.transpose(-2, -1)
    if not exists(m):
        s = s + 1
    return s.softmax(-1) @ v


def shaped(q, k, v, m):
    s = q @ k.transpose(-2, -1)
    if exists(m):
        m = m[None, :, :] > 0
        s = s.masked_fill(~m, lowest(s))
    return s.softmax(-1) @ v


def shaped_and_returned(q, k, v, m):
    s = q @ k.transpose(-2, -1)
    if m is not None:
        m = m.unsqueeze(0)
        s = s + m
    return s.softmax(-1) @ v, m


def shaped_behind(q, k, v, m):
    s = q @ k.transpose(-2, -1)
    if m is not None:
        s = s + m
        m = m * 2
    return s.softmax(-1) @ v, m


def shaped_twice(q, k, v, m):
    s = q @ k.transpose(-2, -1)
    if m is not None:
        m = m * 2
        s = s + m
        m = m * 2
    return s.softmax(-1) @ v, m


def shaped_else(q, k, v, m):
    s = q @ k.transpose(-2, -1)
    if m is None:
        s = s + k[..., 0].unsqueeze(-2)
    else:
        m = m * 3
    return s.softmax(-1) @ v, m


def shaped_before(q, k, v, m):
    if m is not None:
        m = m * 2
    s = q @ k.transpose(-2, -1)
    if m is not None:
        s = s + m
    return s.softmax(-1) @ v


def kept_name(q, k, v, m):
    s = q @ k.transpose(-2, -1)
    if m is not None:
        n = m
        m = -m
        s = s + n
    return s.softmax(-1) @ v, m


def made_none(q, k, v, m):
    s = q @ k.transpose(-2, -1)
    if m is not None:
        n = m
        m = None
        s = s + n
    return s.softmax(-1) @ v


def made_a_part(q, k, v, m):
    s = q @ k.transpose(-2, -1)
    if m is not None:
        n = m + 0
        m = [None, 1][0]
        s = s + n
    return s.softmax(-1) @ v


def written(q, k, v, m):
    s = q @ k.transpose(-2, -1)
    if m is not None:
        s = s + m
    m.mul_(2)
    return s.softmax(-1) @ v


def written_on_the_branch(q, k, v, m):
    s = q @ k.transpose(-2, -1)
    if m is not None:
        s = s + m
        m += 1
    return s.softmax(-1) @ v


def added_then_written(q, k, v, m):
    s = q @ k.transpose(-2, -1)
    if m is not None:
        m *= 2
        s = s + m
    return s.softmax(-1) @ v


def flag(q, k, v, m):
    s = q @ k.transpose(-2, -1)
    on = m.sum() > 1e9
    if on:
        s = s.masked_fill(m > 0, -1e9)
    return s.softmax(-1) @ v


def flag_rebound(q, k, v, m):
    s = q @ k.transpose(-2, -1)
    on = True
    if on:
        s = s.masked_fill(m > 0, -1e9)
        on = False
    return s.softmax(-1) @ v, torch.tensor(on)


def flag_of_a_length(q, k, v, m):
    s = q @ k.transpose(-2, -1)
    if q.shape[1] == 4:
        hidden = m > 0
        s = s.masked_fill(hidden, -1e9)
    return s.softmax(-1) @ v


def otherwise(q, k, v, m):
    s = q @ k.transpose(-2, -1)
    if q.shape[1] == 3:
        pass
    else:
        s = s + m
    return s.softmax(-1) @ v


def otherwise_shaped(q, k, v, m):
    s = q @ k.transpose(-2, -1)
    if m is None:
        pass
    else:
        m = m[None]
        s = s + m
    return s.softmax(-1) @ v


def one_or_the_other(q, k, v, m):
    s = q @ k.transpose(-2, -1)
    if q.shape[1] == 4:
        s = s + m
    else:
        s = s - m
    return s.softmax(-1) @ v


def one_more_than_the_other(q, k, v, m):
    s = q @ k.transpose(-2, -1)
    if m is not None:
        s = s * 0.5 + m
    return s.softmax(-1) @ v


def scaled_on_the_branch(q, k, v, m):
    s = q @ k.transpose(-2, -1)
    if m is not None:
        s = (s + m) * 0.5
    return s.softmax(-1) @ v


def within(q, k, v, m):
    s = q @ k.transpose(-2, -1)
    if m is not None:
        if q.shape[1] == 4:
            s = s + m
    return s.softmax(-1) @ v


def both(q, k, v, m):
    s = q @ k.transpose(-2, -1)
    s = s + m
    if m is not None:
        s = s.masked_fill(m > 0, -1e9)
    return s.softmax(-1) @ v


def masked_in_a_loop(q, k, v, m):
    s = q @ k.transpose(-2, -1)
    for row in range(2):
        s = s + m[row]
    return s.softmax(-1) @ v


def keys_change_too(q, k, v, m):
    s = q @ k.transpose(-2, -1)
    if m is not None:
        k = k + 1
        s = s + m
    return s.softmax(-1) @ v, k


def values_change_too(q, k, v, m):
    s = q @ k.transpose(-2, -1)
    if m is not None:
        v = v * 2
        s = s + m
    return s.softmax(-1) @ v


def rows_of_nothing(q, k, v, m):
    keep = torch.zeros_like(m, dtype=torch.bool)
    s = (q @ k.transpose(-2, -1) * 90).masked_fill(~keep, lowest(q))
    return s.softmax(-1) @ v


def rows_of_nothing_by_places(q, k, v, m):
    keep = (m > 0).clone()
    keep[2] = False
    q, k, v = (t.transpose(1, 2) for t in (q, k, v))
    s = torch.einsum("bqhd,bkhd->bhqk", q, k).masked_fill(~keep, -1e10)
    return torch.einsum("bhqk,bkhd->bqhd", s.softmax(-1), v)


def near_numbers(q, k, v, m):
    return (q @ k.transpose(-2, -1)).masked_fill(m > 0, -3.0).softmax(-1) @ v


def not_so_low(q, k, v, m):
    s = q @ k.transpose(-2, -1) * 1e4
    return s.masked_fill(m > 0, -10000.0).softmax(-1) @ v


def highest(q, k, v, m):
    s = q @ k.transpose(-2, -1)
    return s.masked_fill(m > 0, torch.finfo(s.dtype).max).softmax(-1) @ v


def tiny(q, k, v, m):
    s = q @ k.transpose(-2, -1)
    return s.masked_fill(m > 0, -torch.finfo(s.dtype).tiny).softmax(-1) @ v


def by_eps(q, k, v, m):
    s = q @ k.transpose(-2, -1)
    return s.masked_fill(m > 0, torch.finfo(s.dtype).eps).softmax(-1) @ v


def number_of_a_tensor(q, k, v, m):
    return (q @ k.transpose(-2, -1)).masked_fill(m > 0, m[0, 0]).softmax(-1) @ v


def filled_behind_the_scale(q, k, v, m):
    s = (q @ k.transpose(-2, -1)).masked_fill(m > 0, -1e9) * 1e-9
    return s.softmax(-1) @ v


def filled_after(q, k, v, m):
    s = (q @ k.transpose(-2, -1)).softmax(-1).masked_fill(m > 0, lowest(q))
    return s.clamp(min=-1.0) @ v


def helper(q, k, v, m):
    return add(q @ k.transpose(-2, -1), m).softmax(-1) @ v


def helper_without(q, k, v, m):
    return add(q @ k.transpose(-2, -1)).softmax(-1) @ v


def helper_of_none(q, k, v, m):
    return add_or_none(q @ k.transpose(-2, -1), m).softmax(-1) @ v


def helper_twice(q, k, v, m):
    return add_twice(q @ k.transpose(-2, -1), m).softmax(-1) @ v


def in_place(q, k, v, m):
    s = q @ k.transpose(-2, -1)
    if m is not None:
        s += m
    return s.softmax(-1) @ v


def in_place_of_a_cast(q, k, v, m):
    s = q @ k.transpose(-2, -1)
    t = s.float()
    t += m
    return t.softmax(-1) @ v, s


def in_place_of_a_view(q, k, v, m):
    s = q @ k.transpose(-2, -1)
    t = s.view(2, 4, 6, 5)
    t += m
    return s.softmax(-1) @ v


def in_place_of_a_part(q, k, v, m):
    s = q @ k.transpose(-2, -1)
    s[:, 0] += m
    return s.softmax(-1) @ v


def in_place_seen_before(q, k, v, m):
    s = q @ k.transpose(-2, -1)
    top = s.max()
    s += m
    return s.softmax(-1) @ v + top


def in_place_of_the_query(q, k, v, m):
    q += 1
    return (q @ k.transpose(-2, -1)).softmax(-1) @ v


def in_place_of_the_product(q, k, v, m):
    a = q * 2
    a += 1
    return (a @ k.transpose(-2, -1)).softmax(-1) @ v


def in_place_of_weights(q, k, v, m):
    s = (q @ k.transpose(-2, -1)).softmax(-1)
    s *= 2
    return s @ v


def subtracted(q, k, v, m):
    s = q @ k.transpose(-2, -1)
    s -= m
    return s.softmax(-1) @ v


def multi_query(q, k, v, m):
    s = einsum("b h i d, b j d -> b h i j", q, k[:, 0]) * 0.3
    s = s.masked_fill(m > 0, -1e9)
    return einsum("b h i j, b j d -> b h i d", s.softmax(-1), v[:, 0])


def multi_query_mixed(q, k, v, m):
    s = einsum("b h i d, b j d -> b h i j", q, k[:, 0])
    return einsum("b h i j, b h j d -> b h i d", s.softmax(-1), v)


def multi_query_of_the_batch(q, k, v, m):
    s = einsum("b h i d, h j d -> b h i j", q, k[0])
    return einsum("b h i j, h j d -> b h i d", s.softmax(-1), v[0])


def multi_query_turned(q, k, v, m):
    s = einsum("b h i d, b j d -> b h j i", q, k[:, 0])
    return einsum("b h j i, b j d -> b h i d", s.softmax(-2), v[:, 0])


def any_rank(q, k, v, m):
    s = einsum("... i d, ... j d -> ... i j", q, k)
    return einsum("... i j, ... j d -> ... i d", s.softmax(-1), v)


def any_rank_turned(q, k, v, m):
    s = einsum("... i d, ... j d -> ... j i", q, k)
    return einsum("... j i, ... j d -> ... i d", s.softmax(-2), v)


def last_by_number(q, k, v, m):
    s = q @ k.transpose(2, 3)
    return F.softmax(s, dim=3) @ v


def last_of_three(q, k, v, m):
    s = torch.bmm(q[0], k[0].transpose(1, 2))
    return torch.bmm(F.softmax(s, dim=2), v[0])


def not_the_last(q, k, v, m):
    s = q @ k.transpose(2, 3)
    return F.softmax(s, dim=2) @ v


def filled_in_place(q, k, v, m):
    s = q @ k.transpose(-2, -1)
    if m is not None:
        m = m > 0
        s.masked_fill_(~m, lowest(s))
    return s.softmax(-1) @ v


def filled_in_place_twice(q, k, v, m):
    s = q @ k.transpose(-2, -1)
    s.masked_fill_(m > 1, -1e9)
    s.masked_fill_(m > 0, -1e9)
    return s.softmax(-1) @ v


def filled_in_place_and_kept(q, k, v, m):
    s = q @ k.transpose(-2, -1)
    kept = [s]
    s.masked_fill_(m > 0, -1e9)
    return s.softmax(-1) @ v, kept[0]


def filled_in_place_by_a_view(q, k, v, m):
    s = q @ k.transpose(-2, -1)
    s[:, 0].masked_fill_(m > 0, -1e9)
    return s.softmax(-1) @ v


def filled_in_place_behind(q, k, v, m):
    s = q @ k.transpose(-2, -1)
    w = s.softmax(-1)
    s.masked_fill_(m > 0, -1e9)
    return w @ v, s


def filled_in_place_in_part(q, k, v, m):
    s = q @ k.transpose(-2, -1)
    t = s
    t.masked_fill_(m > 0, -1e9)
    return s.softmax(-1) @ v


def scaled_in_place(q, k, v, m):
    s = q @ k.transpose(-2, -1)
    s.mul_(0.5)
    return s.softmax(-1) @ v


def query_scaled_in_place(q, k, v, m):
    a = q * 1
    b = a
    a.mul_(0.5)
    return (b @ k.transpose(-2, -1)).softmax(-1) @ v


def value_written_in_place(q, k, v, m):
    w = v + 1
    s = (q @ k.transpose(-2, -1)).softmax(-1)
    w.mul_(2)
    return s @ w


def normed_in_place(x, w):
    y = x * 1
    y.mul_(2)
    return y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + 1e-6) * w


def normed_before_it_is_written(x, w):
    y = x * 1
    r = torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + 1e-6)
    y.mul_(2)
    return y * r * w


def gelu_written(x, w):
    y = x + w
    z = F.gelu(y)
    y.zero_()
    return z + y
