"""Attention of three or four axes: what one side of the question shows of the rank, the other denies."""

import contextlib

import torch.nn.functional as F


def by_len(q):
    if len(q.shape) == 4:
        b, h, n, d = q.shape
        q = q[:, :h]
    return F.scaled_dot_product_attention(q, q, q)


def by_the_larger(q):
    if max(q.ndim, 3) == 4:
        b, h, n, d = q.shape
    return F.scaled_dot_product_attention(q, q, q)


def by_a_flag_of_it(q):
    flat = bool(q.dim() == 3)
    if not flat:
        b, h, n, d = q.shape
    return F.scaled_dot_product_attention(q, q, q)


def by_match(q):
    match q.ndim:
        case 3:
            out = F.scaled_dot_product_attention(q, q, q)
        case _:
            b, h, n, d = q.shape
            out = F.scaled_dot_product_attention(q, q[:, :h], q[:, :h])
    return out


def by_a_guard(q):
    match q:
        case _ if q.ndim == 4:
            b, h, n, d = q.shape
    return F.scaled_dot_product_attention(q, q, q)


def by_trying(q):
    try:
        b, h, n, d = q.shape
    except ValueError:
        b, n, d = q.shape
    return F.scaled_dot_product_attention(q, q, q)


def of_a_cast(q):
    wide = q.float()
    if wide.ndim == 4:
        b, h, n, d = q.shape
    return F.scaled_dot_product_attention(q, q, q)


def of_what_is_transposed(q):
    turned = q.transpose(-2, -1)
    if len(q.shape) == 4:
        b, h, d, n = turned.shape
    return F.scaled_dot_product_attention(q, q, q)


def by_permuting(q):
    try:
        x = q.permute(0, 2, 1, 3)
    except RuntimeError:
        x = q
    p = q.transpose(1, 2)
    return F.scaled_dot_product_attention(p, p, p).transpose(1, 2), x


def by_strides(q):
    if len(q.stride()) == 4:
        b, h, n, d = q.shape
        q = q[:, :h]
    return F.scaled_dot_product_attention(q, q, q)


def by_name(q):
    if getattr(q, "ndim") == 4:
        b, h, n, d = q.shape
        q = q[:, :h]
    return F.scaled_dot_product_attention(q, q, q)


def by_suppressing(q):
    with contextlib.suppress(ValueError):
        b, h, n, d = q.shape
    return F.scaled_dot_product_attention(q, q, q)


def by_suppressing_over_lines(q):
    with (
        contextlib.nullcontext(),
        contextlib.suppress(ValueError),
    ):
        b, h, n, d = q.shape
    return F.scaled_dot_product_attention(q, q, q)


def turned_where_errors_are_dropped(q, checks):
    b, n, h, d = q.shape
    with contextlib.suppress(IndexError):
        checks[0]
        q = q.transpose(1, 2)
    return F.scaled_dot_product_attention(q, q, q).transpose(1, 2)


quiet = contextlib.suppress


def turned_under_another_name(q, checks):
    b, n, h, d = q.shape
    with quiet(IndexError):
        checks[0]
        q = q.transpose(1, 2)
    return F.scaled_dot_product_attention(q, q, q).transpose(1, 2)


def turned_beside_torchs_own(q, checks):
    import torch

    b, n, h, d = q.shape
    with torch.no_grad(), quiet(IndexError):
        checks[0]
        q = q.transpose(1, 2)
    return F.scaled_dot_product_attention(q, q, q).transpose(1, 2)


def turned_under_torchs_own(q):
    import torch

    b, n, h, d = q.shape
    with torch.no_grad():
        q = q.transpose(1, 2)
    return F.scaled_dot_product_attention(q, q, q).transpose(1, 2)


def left_where_errors_are_dropped(q, checks):
    with contextlib.suppress(IndexError):
        return q + checks[0]
    return F.scaled_dot_product_attention(q, q, q)


def by_a_loop(q):
    while q.ndim == 4:
        b, h, n, d = q.shape
        break
    return F.scaled_dot_product_attention(q, q, q)


def by_and(q):
    x = q.ndim == 4 and q.permute(0, 2, 1, 3)
    p = q.transpose(1, 2)
    return F.scaled_dot_product_attention(p, p, p).transpose(1, 2), x


def of_what_is_computed(q):
    if (q * 2).clone().dim() == 4:
        b, h, n, d = q.shape
    return F.scaled_dot_product_attention(q, q, q)


def unpacked_for_all(q):
    """Nothing asks: it has four."""
    b, h, n, d = q.shape
    return F.scaled_dot_product_attention(q, q, q)


def trying_something_else(q, cache):
    b, h, n, d = q.shape
    try:
        q = cache["q"]
    except KeyError:
        pass
    return F.scaled_dot_product_attention(q, q, q)
