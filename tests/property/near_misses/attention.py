"""Attention written by hand, and what looks like it."""
# ruff: noqa

import math

import torch
import torch.nn.functional as F


def scale_twice(q, k, v, m):
    q = q * 0.5
    return (q @ k.transpose(-2, -1) * 0.5).softmax(-1) @ v


def scale_iadd(q, k, v, m):
    q *= 0.5
    return (q @ k.transpose(-2, -1)).softmax(-1) @ v


def scores_imul(q, k, v, m):
    a = q @ k.transpose(-2, -1)
    a *= 0.5
    return a.softmax(-1) @ v


def scores_imul_alias(q, k, v, m):
    a = q @ k.transpose(-2, -1)
    b = a
    a *= 0.5
    return a.softmax(-1) @ v + b.sum()


def scores_iadd_mask(q, k, v, m):
    a = q @ k.transpose(-2, -1)
    a += m
    return a.softmax(-1) @ v


def scale_after_softmax(q, k, v, m):
    return ((q @ k.transpose(-2, -1)).softmax(-1) * 0.5) @ v


def dim(q, k, v, m):
    return (q @ k.transpose(-2, -1)).softmax(-2) @ v


def dim1(q, k, v, m):
    return (q @ k.transpose(-2, -1)).softmax(1) @ v


def dim3(q, k, v, m):
    return (q @ k.transpose(-2, -1)).softmax(3) @ v


def fill0(q, k, v, m):
    return (q @ k.transpose(-2, -1)).masked_fill(m > 0, 0).softmax(-1) @ v


def fillinf(q, k, v, m):
    return (q @ k.transpose(-2, -1)).masked_fill(m > 0, float("-inf")).softmax(-1) @ v


def fillfin(q, k, v, m):
    return (q @ k.transpose(-2, -1)).masked_fill(m > 0, -1.0).softmax(-1) @ v


def fill_after(q, k, v, m):
    return (q @ k.transpose(-2, -1)).softmax(-1).masked_fill(m > 0, 0) @ v


def where(q, k, v, m):
    return torch.where(m > 0, q @ k.transpose(-2, -1), torch.tensor(-1e4)).softmax(-1) @ v


def mask_mul(q, k, v, m):
    return ((q @ k.transpose(-2, -1)) * m).softmax(-1) @ v


def mask_then_scale(q, k, v, m):
    return ((q @ k.transpose(-2, -1) + m) * 0.5).softmax(-1) @ v


def scale_tensor(q, k, v, m):
    t = torch.rand(4, 1, 1)
    return (q @ k.transpose(-2, -1) * t).softmax(-1) @ v


def scale_lk(q, k, v, m):
    t = torch.rand(5)
    return (q @ k.transpose(-2, -1) * t).softmax(-1) @ v


def div_sqrt(q, k, v, m):
    return (q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))).softmax(-1) @ v


def div_sqrt_k(q, k, v, m):
    return (q @ k.transpose(-2, -1) / math.sqrt(k.size(-2))).softmax(-1) @ v


def qscaled_div(q, k, v, m):
    return ((q / 3.0) @ k.transpose(-2, -1)).softmax(-1) @ v


def kscaled(q, k, v, m):
    return (q @ (k * 0.5).transpose(-2, -1)).softmax(-1) @ v


def vT(q, k, v, m):
    return ((q @ k.transpose(-2, -1)).softmax(-1).transpose(-2, -1)).transpose(-2, -1) @ v


def pT(q, k, v, m):
    p = (q @ q.transpose(-2, -1)).softmax(-1)
    return p.transpose(-2, -1) @ q


def kv_swapped(q, k, v, m):
    return (k @ q.transpose(-2, -1)).softmax(-1) @ q


def probs_returned(q, k, v, m):
    p = (q @ k.transpose(-2, -1)).softmax(-1)
    return p @ v, p


def probs_saved(q, k, v, m):
    p = (q @ k.transpose(-2, -1)).softmax(-1)
    globals()["saved"] = p
    return p @ v


def dropout0(q, k, v, m):
    p = F.dropout((q @ k.transpose(-2, -1)).softmax(-1), 0.0)
    return p @ v


def dropout_tr(q, k, v, m):
    p = F.dropout((q @ k.transpose(-2, -1)).softmax(-1), 0.5, training=False)
    return p @ v


def dropout_on(q, k, v, m):
    torch.manual_seed(0)
    p = F.dropout((q @ k.transpose(-2, -1)).softmax(-1), 0.5)
    return p @ v


def softmax_f32(q, k, v, m):
    return (q.bfloat16() @ k.bfloat16().transpose(-2, -1)).softmax(-1, dtype=torch.float32).to(
        torch.bfloat16
    ) @ v.bfloat16()


def double(q, k, v, m):
    return (q.double() @ k.double().transpose(-2, -1)).softmax(-1) @ v.double()


def mixed(q, k, v, m):
    return (q @ k.transpose(-2, -1)).softmax(-1).double() @ v.double()


def einsum(q, k, v, m):
    a = torch.einsum("bhid,bhjd->bhij", q, k) * 0.3
    return torch.einsum("bhij,bhjd->bhid", a.softmax(-1), v)


def einsum_T(q, k, v, m):
    a = torch.einsum("bhid,bhjd->bhij", q, q) * 0.3
    return torch.einsum("bhji,bhjd->bhid", a.softmax(-1), q)


def rank_3d(q, k, v, m):
    q, k, v = q.flatten(0, 1), k.flatten(0, 1), v.flatten(0, 1)
    return torch.bmm((torch.bmm(q, k.transpose(1, 2)) * 0.3).softmax(-1), v)


def baddbmm(q, k, v, m):
    q, k, v = q.flatten(0, 1), k.flatten(0, 1), v.flatten(0, 1)
    a = torch.baddbmm(m, q, k.transpose(1, 2), beta=0.5, alpha=0.3)
    return torch.bmm(a.softmax(-1), v)


def baddbmm1(q, k, v, m):
    q, k, v = q.flatten(0, 1), k.flatten(0, 1), v.flatten(0, 1)
    a = torch.baddbmm(torch.empty(8, 6, 5), q, k.transpose(1, 2), beta=0, alpha=0.3)
    return torch.bmm(a.softmax(-1), v)


def rank_5d(q, k, v, m):
    q, k, v = q[None], k[None], v[None]
    return (q @ k.transpose(-2, -1)).softmax(-1) @ v


def rank_2d(q, k, v, m):
    q, k, v = q[0, 0], k[0, 0], v[0, 0]
    return (q @ k.T).softmax(-1) @ v


def t23(q, k, v, m):
    return (q @ k.transpose(2, 3)).softmax(-1) @ v


def t12(q, k, v, m):
    return (q @ k[:, :, :4].transpose(1, 2)[..., :8].reshape(2, 4, 8, 4)).softmax(-1) @ v[:, :, :4]


def kT_view(q, k, v, m):
    kt = k.permute(0, 1, 3, 2)
    kt *= 2
    return (q @ kt).softmax(-1) @ v + k.sum()


def v_changed(q, k, v, m):
    p = (q @ k.transpose(-2, -1)).softmax(-1)
    v += 1
    return p @ v


def q_changed(q, k, v, m):
    a = q @ k.transpose(-2, -1)
    q += 1
    return a.softmax(-1) @ v


def q_rebound(q, k, v, m):
    a = q @ k.transpose(-2, -1)
    q = q + 1
    return a.softmax(-1) @ v + q.sum()


def k_through_alias(q, k, v, m):
    a = q @ k.transpose(-2, -1)
    z = k[0]
    z.zero_()
    return a.softmax(-1) @ v


def broadcast(q, k, v, m):
    k1, v1 = k[:, :1], v[:, :1]
    return (q @ k1.transpose(-2, -1)).softmax(-1) @ v1


def bcast_batch(q, k, v, m):
    k1, v1 = k[:1], v[:1]
    return (q @ k1.transpose(-2, -1)).softmax(-1) @ v1


def kb_vfull(q, k, v, m):
    k1 = k[:1]
    return (q @ k1.transpose(-2, -1)).softmax(-1) @ v


def q_bcast(q, k, v, m):
    q1 = q[:1]
    return (q1 @ k.transpose(-2, -1)).softmax(-1) @ v


def v_wider(q, k, v, m):
    v1 = torch.cat([v, v], -1)
    return (q @ k.transpose(-2, -1)).softmax(-1) @ v1


def sigmoid(q, k, v, m):
    return (q @ k.transpose(-2, -1)).sigmoid() @ v


def relu(q, k, v, m):
    return (q @ k.transpose(-2, -1)).softmax(-1).relu() @ v


def clamp(q, k, v, m):
    return (q @ k.transpose(-2, -1)).clamp(-1, 1).softmax(-1) @ v


def tanh(q, k, v, m):
    return (torch.tanh(q @ k.transpose(-2, -1) / 5.0) * 5.0).softmax(-1) @ v


def tril(q, k, v, m):
    a = q @ k.transpose(-2, -1)
    c = torch.ones(6, 5).tril().bool()
    return a.masked_fill(~c, float("-inf")).softmax(-1) @ v


def softmax1(q, k, v, m):
    e = (q @ k.transpose(-2, -1)).exp()
    return (e / (1 + e.sum(-1, keepdim=True))) @ v


def neg(q, k, v, m):
    return (-(q @ k.transpose(-2, -1))).softmax(-1) @ v


def plus_id(q, k, v, m):
    return ((q @ k.transpose(-2, -1)).softmax(-1) + 1) @ v


def linear(q, k, v, m):
    return q.softmax(-1) @ (k.transpose(-2, -1).softmax(-1) @ v)


def assoc(q, k, v, m):
    return q @ (k.transpose(-2, -1) @ v)


def topk(q, k, v, m):
    a = q @ k.transpose(-2, -1)
    t = a.topk(2, -1).values[..., -1:]
    return a.masked_fill(a < t, float("-inf")).softmax(-1) @ v


def mean_center(q, k, v, m):
    a = q @ k.transpose(-2, -1)
    a = a - a.mean(-1, keepdim=True)
    return a.softmax(-1) @ v


def max_(q, k, v, m):
    a = q @ k.transpose(-2, -1)
    a = a - a.amax(-1, keepdim=True)
    return a.softmax(-1) @ v


def loop(q, k, v, m):
    for _ in range(2):
        q = (q @ k.transpose(-2, -1)).softmax(-1) @ v
    return q


def try_(q, k, v, m):
    try:
        a = (q @ k.transpose(-2, -1)).softmax(-1)
        raise ValueError
    except ValueError:
        a = a * 2
    return a @ v


def scale_zero_dim(q, k, v, m):
    t = torch.tensor(0.3)
    return (q @ k.transpose(-2, -1) * t).softmax(-1) @ v


def scale_var(q, k, v, m):
    s = 0.3 if q.shape[0] > 1 else 0.5
    return (q @ k.transpose(-2, -1) * s).softmax(-1) @ v


def scale_rebound(q, k, v, m):
    s = 0.3
    a = q @ k.transpose(-2, -1) * s
    s = 0.7
    return a.softmax(-1) @ v * s


def mask_bool_add(q, k, v, m):
    return (q @ k.transpose(-2, -1) + (m > 0)).softmax(-1) @ v


def mask_sub(q, k, v, m):
    return (q @ k.transpose(-2, -1) - m).softmax(-1) @ v


def mask_bigger(q, k, v, m):
    mm = torch.randn(3, 1, 1, 1, 5)
    return (q @ k.transpose(-2, -1) + mm).softmax(-1) @ v


def mask_double(q, k, v, m):
    return (q @ k.transpose(-2, -1) + m.double()).softmax(-1) @ v.double()


def scores_to(q, k, v, m):
    a = (q @ k.transpose(-2, -1)).to(torch.float16)
    return a.softmax(-1).float() @ v
