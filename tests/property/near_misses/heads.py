"""Attention and rotations amid scopes, effects and odd operands."""
# ruff: noqa

import functools
import math

import torch
import torch.nn.functional as F
from torch import nn


def sdpa_walrus(q, k, v):
    return F.scaled_dot_product_attention(q, (t := k * 2), v) + t.sum()


def sdpa_order(q, k, v):
    def grow():
        q.mul_(2)
        return v

    return F.scaled_dot_product_attention(q, k, grow())


def sdpa_keyword_order(q, k, v):
    calls = []

    def take(t, name):
        calls.append(name)
        return t

    out = F.scaled_dot_product_attention(value=take(v, "v"), query=take(q, "q"), key=take(k, "k"))
    return out, torch.tensor([ord(c) for c in calls])


def sdpa_mask_order(q, k, v, m):
    calls = []

    def take(t, name):
        calls.append(name)
        return t

    out = F.scaled_dot_product_attention(
        take(q, "q"), take(k, "k"), take(v, "v"), dropout_p=take(0.0, "d"), attn_mask=take(m, "m")
    )
    return out, torch.tensor([ord(c) for c in calls])


def sdpa_scale_tensor(q, k, v):
    return F.scaled_dot_product_attention(q, k, v, scale=float(q.shape[-1]))


def sdpa_scale_zero(q, k, v):
    return F.scaled_dot_product_attention(q, k, v, scale=0.0)


def sdpa_scale_or(q, k, v):
    scale = None
    return F.scaled_dot_product_attention(q, k, v, scale=scale or 0.3)


def sdpa_dropout_nonzero(q, k, v):
    torch.manual_seed(0)
    return F.scaled_dot_product_attention(q, k, v, dropout_p=0.5)


def sdpa_mask_bool(q, k, v, m):
    return F.scaled_dot_product_attention(q, k, v, attn_mask=m > 0)


def sdpa_mask_bool_empty_row(q, k, v, m):
    mask = (m > 0).clone()
    mask[:, 0] = True
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)


def sdpa_mask_int(q, k, v, m):
    return F.scaled_dot_product_attention(q, k, v, attn_mask=(m > 0).float() * -3)


def sdpa_mask_column(q, k, v, m):
    return F.scaled_dot_product_attention(q, k, v, attn_mask=m[:, :1])


def sdpa_causal_uneven(q, k, v):
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def sdpa_causal_square(q, k, v):
    return F.scaled_dot_product_attention(q, q, q, is_causal=True)


def sdpa_rank_3(q, k, v):
    return F.scaled_dot_product_attention(q[0], k[0], v[0])


def sdpa_rank_2(q, k, v):
    return F.scaled_dot_product_attention(q[0, 0], k[0, 0], v[0, 0])


def sdpa_rank_5(q, k, v):
    return F.scaled_dot_product_attention(q[None], k[None], v[None])


def sdpa_value_width(q, k, v):
    return F.scaled_dot_product_attention(q, k, v[..., :3])


def sdpa_one_head(q, k, v):
    return F.scaled_dot_product_attention(q, k[:, :1], v[:, :1])


def sdpa_one_batch(q, k, v):
    return F.scaled_dot_product_attention(q, k[:1], v[:1])


def sdpa_gqa(q, k, v):
    return F.scaled_dot_product_attention(q, k[:, :2], v[:, :2], enable_gqa=True)


def sdpa_double(q, k, v):
    return F.scaled_dot_product_attention(q.double(), k.double(), v.double())


def sdpa_transposed_view_written(q, k, v):
    q = q.transpose(1, 2).contiguous().transpose(1, 2)
    out = F.scaled_dot_product_attention(q, k, v).transpose(1, 2)
    out[:, 0] = 0
    return out


def sdpa_reshape_after(q, k, v):
    out = F.scaled_dot_product_attention(q, k, v)
    return out.transpose(1, 2).reshape(2, 6, 32)


def sdpa_view_after(q, k, v):
    out = F.scaled_dot_product_attention(q, k, v)
    return out.view(2, 4, 48)


def sdpa_stride_after(q, k, v):
    out = F.scaled_dot_product_attention(q, k, v)
    return out, torch.tensor(out.stride())


def sdpa_is_contiguous(q, k, v):
    q, k, v = (t.transpose(1, 2).contiguous().transpose(1, 2) for t in (q, k, v))
    out = F.scaled_dot_product_attention(q, k, v).transpose(1, 2)
    return out, torch.tensor(out.is_contiguous())


def sdpa_result_aliases(q, k, v):
    out = F.scaled_dot_product_attention(q, k, v)
    keep = out
    out = out.transpose(1, 2)
    out.mul_(2)
    return keep


def sdpa_loop(q, k, v):
    out = q
    for _ in range(2):
        q = q + out
        out = F.scaled_dot_product_attention(q, k, v)
    return out


def hand_plain(q, k, v):
    return torch.softmax(q @ k.transpose(-2, -1) / math.sqrt(q.size(-1)), -1) @ v


def hand_scale_of_k_length(q, k, v):
    return torch.softmax(q @ k.transpose(-2, -1) / math.sqrt(k.size(-2)), -1) @ v


def hand_scale_squared(q, k, v):
    return torch.softmax(q @ k.transpose(-2, -1) / math.sqrt(q.size(-1)) ** 2, -1) @ v


def hand_scale_tensor(q, k, v):
    s = q.abs().mean()
    return torch.softmax(q @ k.transpose(-2, -1) * s, -1) @ v


def hand_scale_per_head(q, k, v):
    s = q.abs().mean(dim=(0, 2, 3))[:, None, None]
    return torch.softmax(q @ k.transpose(-2, -1) * s, -1) @ v


def hand_scale_row(q, k, v):
    s = q.abs().mean(-1, keepdim=True)
    return torch.softmax(q @ k.transpose(-2, -1) * s, -1) @ v


def hand_softmax_other(q, k, v):
    return torch.softmax(q @ k.transpose(-2, -1), -2) @ v


def hand_softmax_twice(q, k, v):
    p = torch.softmax(q @ k.transpose(-2, -1), -1)
    return torch.softmax(p, -1) @ v


def hand_probabilities_read(q, k, v):
    p = torch.softmax(q @ k.transpose(-2, -1), -1)
    return p @ v, p


def hand_probabilities_written(q, k, v):
    p = torch.softmax(q @ k.transpose(-2, -1), -1)
    p[..., 0] = 0
    return p @ v


def hand_scores_written(q, k, v):
    s = q @ k.transpose(-2, -1)
    s[..., 0] = -10
    return torch.softmax(s, -1) @ v


def hand_scores_augmented(q, k, v, m):
    s = q @ k.transpose(-2, -1)
    s += m
    return torch.softmax(s, -1) @ v


def hand_scores_shared_inplace(q, k, v, m):
    s = q @ k.transpose(-2, -1)
    t = s
    s += m
    return torch.softmax(t, -1) @ v + t.sum()


def hand_mask_after(q, k, v, m):
    p = torch.softmax(q @ k.transpose(-2, -1), -1)
    p = p * (m > 0)
    return p @ v


def hand_masked_fill_finite(q, k, v, m):
    s = (q @ k.transpose(-2, -1)).masked_fill(m > 0, -2.0)
    return torch.softmax(s, -1) @ v


def hand_masked_fill_inf(q, k, v, m):
    mask = m > 0
    mask[:, 0] = False
    s = (q @ k.transpose(-2, -1)).masked_fill(mask, float("-inf"))
    return torch.softmax(s, -1) @ v


def hand_masked_then_scaled(q, k, v, m):
    mask = m > 0
    mask[:, 0] = False
    s = (q @ k.transpose(-2, -1)).masked_fill(mask, -1.0) * 0.5
    return torch.softmax(s, -1) @ v


def hand_mask_scaled(q, k, v, m):
    s = (q @ k.transpose(-2, -1) + m) * 0.5
    return torch.softmax(s, -1) @ v


def hand_mask_minus(q, k, v, m):
    s = q @ k.transpose(-2, -1) - m
    return torch.softmax(s, -1) @ v


def hand_mask_times(q, k, v, m):
    s = (q @ k.transpose(-2, -1)) * m
    return torch.softmax(s, -1) @ v


def hand_float(q, k, v):
    s = (q.bfloat16() @ k.bfloat16().transpose(-2, -1)).float()
    return torch.softmax(s, -1).bfloat16() @ v.bfloat16()


def hand_types(q, k, v):
    s = torch.softmax((q @ k.transpose(-2, -1)), -1, dtype=torch.float64)
    return s.to(v.dtype) @ v


def hand_value_other_type(q, k, v):
    s = torch.softmax(q @ k.transpose(-2, -1), -1)
    return s.double() @ v.double()


def hand_k_not_transposed(q, k, v):
    a = q[:, :, :5, :5]
    return torch.softmax(a @ a, -1) @ v[:, :, :5]


def hand_two_matmuls_order(q, k, v):
    return v.transpose(-1, -2) @ torch.softmax(k @ q.transpose(-2, -1), -2)


def hand_sum_of_two(q, k, v):
    s = q @ k.transpose(-2, -1) + q.flip(1) @ k.transpose(-2, -1)
    return torch.softmax(s, -1) @ v


def hand_einsum_other(q, k, v):
    s = torch.einsum("bhid,bhjd->bhji", q, k).transpose(-1, -2)
    return torch.einsum("bhij,bhjd->bhid", s.softmax(-1), v)


def hand_einsum_heads_mixed(q, k, v):
    s = torch.einsum("bhid,bgjd->bhij", q, k)
    return torch.einsum("bhij,bhjd->bhid", s.softmax(-1), v)


def hand_einsum_plain(q, k, v):
    s = torch.einsum("bhid,bhjd->bhij", q, k) * 0.35
    return torch.einsum("bhij,bhjd->bhid", s.softmax(-1), v)


def hand_dropout_functional(q, k, v):
    torch.manual_seed(0)
    p = F.dropout(torch.softmax(q @ k.transpose(-2, -1), -1), 0.5)
    return p @ v


def hand_dropout_off(q, k, v):
    p = F.dropout(torch.softmax(q @ k.transpose(-2, -1), -1), 0.5, training=False)
    return p @ v


def hand_broadcast_k(q, k, v):
    return torch.softmax(q @ k[:1].transpose(-2, -1), -1) @ v


def hand_rank_mixed(q, k, v):
    return torch.softmax(q @ k[0].transpose(-2, -1), -1) @ v


def hand_baddbmm(q, k, v, m):
    q3, k3, v3 = q.flatten(0, 1), k.flatten(0, 1), v.flatten(0, 1)
    s = torch.baddbmm(m.expand(8, 6, 5), q3, k3.transpose(1, 2), beta=0.5, alpha=0.25)
    return s.softmax(-1).bmm(v3)


def hand_baddbmm_empty(q, k, v):
    q3, k3, v3 = q.flatten(0, 1), k.flatten(0, 1), v.flatten(0, 1)
    s = torch.baddbmm(torch.empty(8, 6, 5), q3, k3.transpose(1, 2), beta=0, alpha=0.25)
    return s.softmax(-1).bmm(v3)


def hand_shift_in_between(q, k, v):
    s = q @ k.transpose(-2, -1)
    s = s - s.amax(-2, keepdim=True)
    return s.softmax(-1) @ v


def hand_key_changed_between(q, k, v):
    s = q @ k.transpose(-2, -1)
    k.zero_()
    return s.softmax(-1) @ v


def hand_value_changed_between(q, k, v):
    p = (q @ k.transpose(-2, -1)).softmax(-1)
    v.mul_(2)
    return p @ v


def hand_qkv_same_storage(q, k, v):
    t = q
    p = (t @ t.transpose(-2, -1)).softmax(-1)
    t[:, 0] = 0
    return p @ t


def rotate_half(x):
    a, b = x.chunk(2, dim=-1)
    return torch.cat((-b, a), dim=-1)


def rotate_half_other_sign(x):
    a, b = x.chunk(2, dim=-1)
    return torch.cat((b, -a), dim=-1)


def rotate_half_seq(x):
    a, b = x.chunk(2, dim=-2)
    return torch.cat((-b, a), dim=-2)


def rope_plain(x, cos, sin):
    return x * cos + rotate_half(x) * sin


def rope_other_sign(x, cos, sin):
    return x * cos + rotate_half_other_sign(x) * sin


def rope_minus(x, cos, sin):
    return x * cos - rotate_half(x) * sin


def rope_seq(x, cos, sin):
    return x * cos + rotate_half_seq(x) * sin


def rope_other_x(x, cos, sin):
    return x * cos + rotate_half(x * 2) * sin


def rope_inplace_between(x, cos, sin):
    r = rotate_half(x)
    x.mul_(2)
    return x * cos + r * sin


def rope_swapped(x, cos, sin):
    return x * sin + rotate_half(x) * cos


def rope_partial_last(x, cos, sin):
    r = x[..., :4]
    out = r * cos[..., :4] + rotate_half(r) * sin[..., :4]
    return torch.cat((out, x[..., 4:]), -1)


def rope_store(x, cos, sin):
    x[..., :4] = x[..., :4] * cos[..., :4] + rotate_half(x[..., :4]) * sin[..., :4]
    return x


def rope_store_halves(x, cos, sin):
    a, b = x.chunk(2, -1)
    c, s = cos[..., :4], sin[..., :4]
    x[..., :4] = a * c - b * s
    x[..., 4:] = b * c + a * s
    return x


def rope_store_temp(x, cos, sin):
    a, b = x.chunk(2, -1)
    c, s = cos[..., :4], sin[..., :4]
    t = a * c - b * s
    b2 = b * c + a * s
    x[..., :4] = t
    x[..., 4:] = b2
    return x


def rope_out_views(x, cos, sin):
    out = torch.empty_like(x)
    a, b = x.chunk(2, -1)
    c, s = cos[..., :4], sin[..., :4]
    out[..., :4] = a * c - b * s
    out[..., 4:] = b * c + a * s
    return out


def rope_out_views_partial(x, cos, sin):
    out = x.clone()
    a, b = x.chunk(2, -1)
    c, s = cos[..., :4], sin[..., :4]
    out[..., 0::2] = a * c - b * s
    return out


def rope_interleaved(x, cos, sin):
    c, s = cos[..., ::2], sin[..., ::2]
    a, b = x[..., ::2], x[..., 1::2]
    return torch.stack((a * c - b * s, a * s + b * c), -1).flatten(-2)


def rope_interleaved_cat(x, cos, sin):
    c, s = cos[..., ::2], sin[..., ::2]
    a, b = x[..., ::2], x[..., 1::2]
    return torch.cat((a * c - b * s, a * s + b * c), -1)


def rope_interleaved_wrong_stack(x, cos, sin):
    c, s = cos[..., ::2], sin[..., ::2]
    a, b = x[..., ::2], x[..., 1::2]
    return torch.stack((a * c - b * s, a * s + b * c), -2).flatten(-2)


def rope_reflection(x, cos, sin):
    a, b = x.chunk(2, -1)
    c, s = cos[..., :4], sin[..., :4]
    return torch.cat((a * c + b * s, a * s - b * c), -1)


def rope_two_tables(x, cos, sin):
    a, b = x.chunk(2, -1)
    return torch.cat((a * cos[..., :4] - b * sin[..., :4], b * cos[..., 4:] + a * sin[..., 4:]), -1)


def rope_complex(x, cos, sin):
    z = torch.view_as_complex(x.reshape(2, 4, 6, 4, 2))
    f = torch.complex(cos[..., :4], sin[..., :4])
    return torch.view_as_real(z * f).flatten(3)


def rope_complex_conj(x, cos, sin):
    z = torch.view_as_complex(x.reshape(2, 4, 6, 4, 2))
    f = torch.complex(cos[..., :4], sin[..., :4])
    return torch.view_as_real(z * f.conj()).flatten(3)


def rope_complex_added(x, cos, sin):
    z = torch.view_as_complex(x.reshape(2, 4, 6, 4, 2))
    f = torch.complex(cos[..., :4], sin[..., :4])
    return torch.view_as_real(z + f).flatten(3)


def rope_table_per_row(x, cos, sin):
    c, s = cos[:, :1], sin[:, :1]
    return x * c + rotate_half(x) * s


def rope_table_batch(x, cos, sin):
    c = cos.expand(2, 4, 6, 8) * 1
    return x * c + rotate_half(x) * sin


def rope_table_bigger(x, cos, sin):
    c = cos[None, None, None]
    s = sin[None, None, None]
    return x * c + rotate_half(x) * s


def rope_x_smaller(x, cos, sin):
    y = x[:, :, :1]
    return y * cos + rotate_half(y) * sin
