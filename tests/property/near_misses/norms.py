"""Norms, and what looks like one."""
# ruff: noqa

import math

import torch
import torch.nn.functional as F


def eps_outside(x, w):
    return x / (torch.sqrt(x.pow(2).mean(-1, keepdim=True)) + 1e-2) * w


def eps_inside(x, w):
    return x / torch.sqrt(x.pow(2).mean(-1, keepdim=True) + 1e-2) * w


def eps_outside_rsqrt(x, w):
    return x * (torch.rsqrt(x.pow(2).mean(-1, keepdim=True)) + 1e-2) * w


def eps_clamp(x, w):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True).clamp(min=1e-2)) * w


def eps_max(x, w):
    return x * torch.rsqrt(torch.maximum(x.pow(2).mean(-1, keepdim=True), torch.tensor(1e-2))) * w


def two_axes(x, w):
    return x * torch.rsqrt(x.pow(2).mean((-2, -1), keepdim=True) + 1e-2) * w


def axis1(x, w):
    return x * torch.rsqrt(x.pow(2).mean(1, keepdim=True) + 1e-2) * w


def all_axes(x, w):
    return x * torch.rsqrt(x.pow(2).mean() + 1e-2) * w


def sum_form(x, w):
    return x * torch.rsqrt(x.pow(2).sum(-1, keepdim=True) + 1e-2) * w


def sum_over_d(x, w):
    return x * torch.rsqrt(x.pow(2).sum(-1, keepdim=True) / x.shape[-1] + 1e-2) * w


def sum_over_d2(x, w):
    return x * torch.rsqrt(x.pow(2).sum(-1, keepdim=True) / x.shape[1] + 1e-2) * w


def eps_in_sum(x, w):
    return x * torch.rsqrt((x.pow(2).sum(-1, keepdim=True) + 1e-2) / x.shape[-1]) * w


def eps_before_mean(x, w):
    return x * torch.rsqrt((x.pow(2) + 1e-2).mean(-1, keepdim=True)) * w


def abs_mean(x, w):
    return x * torch.rsqrt(x.abs().mean(-1, keepdim=True) + 1e-2) * w


def cube(x, w):
    return x * torch.rsqrt(x.pow(4).mean(-1, keepdim=True) + 1e-2) * w


def xy(x, w):
    y = x + 1
    return x * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + 1e-2) * w


def x_scaled_between(x, w):
    r = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-2)
    x = x * 2
    return x * r * w


def var(x, w):
    return x * torch.rsqrt(x.var(-1, keepdim=True) + 1e-2) * w


def var_unb(x, w):
    return (
        (x - x.mean(-1, keepdim=True))
        * torch.rsqrt(x.var(-1, keepdim=True, unbiased=False) + 1e-2)
        * w
    )


def layer_by_hand(x, w):
    m = x.mean(-1, keepdim=True)
    v = (x - m).pow(2).mean(-1, keepdim=True)
    return (x - m) / torch.sqrt(v + 1e-2) * w


def layer_by_hand_rsqrt(x, w):
    x = x - x.mean(-1, keepdim=True)
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-2) * w


def inplace_between(x, w):
    r = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-2)
    x.mul_(2)
    return x * r * w


def inplace_alias(x, w):
    z = x
    r = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-2)
    z += 1
    return x * r * w


def inplace_view(x, w):
    z = x[..., :4]
    r = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-2)
    z += 1
    return x * r * w


def inplace_mulr(x, w):
    r = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-2)
    x *= r
    return x * w


def inplace_sq(x, w):
    x.pow_(2)
    return x * torch.rsqrt(x.mean(-1, keepdim=True) + 1e-2) * w


def weight_offset(x, w):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-2) * (1 + w)


def weight_div(x, w):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-2) / w


def bias(x, w):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-2) * w + w


def gate(x, w):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-2) * w * F.silu(x)


def normalize(x, w):
    return F.normalize(x, dim=-1) * math.sqrt(x.shape[-1]) * w


def norm2(x, w):
    return x / x.norm(2, dim=-1, keepdim=True) * w


def norm_sqrt(x, w):
    return x / (x.norm(2, dim=-1, keepdim=True) * x.shape[-1] ** -0.5 + 1e-2) * w


def keepdim_missing(x, w):
    return x.transpose(0, -1) * torch.rsqrt(x.transpose(0, -1).pow(2).mean(-1) + 1e-2)[..., None]


def dim2(x, w):
    return x * torch.rsqrt(x.pow(2).mean(2, keepdim=True) + 1e-2) * w


def w_2d(x, w):
    w2 = torch.ones(6, 8) * w
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-2) * w2


def w_col(x, w):
    w2 = w[:6, None]
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-2) * w2


def eps_tensor(x, w):
    e = torch.full((8,), 1e-2)
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + e) * w


def eps_tensor_rows(x, w):
    e = torch.rand(2, 6, 1)
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + e) * w


def neg_eps(x, w):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) - -1e-2) * w


def double(x, w):
    h = x.double()
    return h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + 1e-2) * w


def double_w(x, w):
    h = x.double()
    return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + 1e-2)).to(x.dtype) * w.double()


def abs2(x, w):
    h = torch.complex(x, x)
    return (h * torch.rsqrt(h.abs().pow(2).mean(-1, keepdim=True) + 1e-2)).real * w


def pow_int_neg(x, w):
    return x * (x.pow(2).mean(-1, keepdim=True) + 1e-2) ** -0.5 * w


def pow_neg1(x, w):
    return x * (x.pow(2).mean(-1, keepdim=True) + 1e-2) ** -1 * w


def F_rms_two(x, w):
    return F.rms_norm(x, (6, 8), None, 1e-2)


def F_rms_list(x, w):
    return F.rms_norm(x, [8], w, 1e-2)


def F_rms_shape(x, w):
    return F.rms_norm(x, x.shape[-1:], w, 1e-2)


def F_rms_shape2(x, w):
    return F.rms_norm(x, x.shape[-2:], None, 1e-2)


def F_rms_none(x, w):
    return F.rms_norm(x, (8,), w)


def F_rms_half(x, w):
    return F.rms_norm(x.half(), (8,), w.half())


def F_rms_mixed(x, w):
    return F.rms_norm(x.bfloat16(), (8,), w)


def F_rms_double(x, w):
    return F.rms_norm(x.double(), (8,), w.double())


def transposed(x, w):
    x = x.transpose(1, 2)
    return (x * torch.rsqrt(x.pow(2).mean(1, keepdim=True) + 1e-2)).transpose(1, 2) * w


def gn_eps(x, w):
    return x * torch.rsqrt(torch.mean(x * x.conj(), dim=-1, keepdim=True) + 1e-2) * w


def einsum(x, w):
    return x * torch.rsqrt(torch.einsum("bnd,bnd->bn", x, x)[..., None] / 8 + 1e-2) * w


def const_d(x, w):
    return x * torch.rsqrt(x.pow(2).sum(-1, keepdim=True) / 9 + 1e-2) * w


def const_ok(x, w):
    return x * torch.rsqrt(x.pow(2).sum(-1, keepdim=True) * (1 / 8) + 1e-2) * w


def requires(x, w):
    return (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-2) * w).detach()


def default_arg(x, w):
    def g(y, r=x.pow(2).mean(-1, keepdim=True)):
        return y * torch.rsqrt(r + 1e-2)

    x = x * 3
    return g(x) * w


def early(x, w):
    v = x.pow(2).mean(-1, keepdim=True)
    if v.mean() > 0.1:
        return v * w
    return x * torch.rsqrt(v + 1e-2) * w


def loop(x, w):
    for _ in range(2):
        v = x.pow(2).mean(-1, keepdim=True)
        x = x * torch.rsqrt(v + 1e-2)
    return x * w + v


def loop_stale(x, w):
    v = x.pow(2).mean(-1, keepdim=True)
    for _ in range(2):
        x = x * torch.rsqrt(v + 1e-2)
    return x * w


def closure(x, w):
    v = x.pow(2).mean(-1, keepdim=True)
    f = lambda: x * torch.rsqrt(v + 1e-2)
    x = x * 2
    return f() * w


def nonlocal_(x, w):
    v = x.pow(2).mean(-1, keepdim=True)

    def g():
        nonlocal v
        v = v * 2

    g()
    return x * torch.rsqrt(v + 1e-2) * w


def del_(x, w):
    v = x.pow(2).mean(-1, keepdim=True)
    y = x * torch.rsqrt(v + 1e-2)
    del v
    return y * w


def tryexc(x, w):
    v = x.pow(2).mean(-1, keepdim=True)
    try:
        x = x * 2
        raise ValueError
    except ValueError:
        v = v
    return x * torch.rsqrt(v + 1e-2) * w


def walrus(x, w):
    return x * torch.rsqrt((v := x.pow(2).mean(-1, keepdim=True)) + 1e-2) * w + v


def cond_expr(x, w):
    v = x.pow(2).mean(-1, keepdim=True) if w.sum() > 100 else x.abs().mean(-1, keepdim=True)
    return x * torch.rsqrt(v + 1e-2) * w


def out_arg(x, w):
    o = torch.empty_like(x)
    torch.mul(x, torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-2), out=o)
    return o * w


def mean_dtype(x, w):
    return (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True, dtype=torch.float64) + 1e-2)) * w
