"""Calls of attention among closures, views, generators and writes in place."""
# ruff: noqa

import torch
import torch.nn.functional as F
from einops import repeat


def bool_(q, k, v, m):
    return F.scaled_dot_product_attention(q, k, v, attn_mask=m > 0)


def boolinv(q, k, v, m):
    return F.scaled_dot_product_attention(q, k, v, attn_mask=~(m > 0))


def float01(q, k, v, m):
    return F.scaled_dot_product_attention(q, k, v, attn_mask=(m > 0).float())


def int_(q, k, v, m):
    return F.scaled_dot_product_attention(q, k, v, attn_mask=(m > 0).to(q.dtype))


def mask1d(q, k, v, m):
    return F.scaled_dot_product_attention(q, k, v, attn_mask=m[0][None])


def causal(q, k, v, m):
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def causal_var(q, k, v, m):
    c = q.shape[-2] > 1
    return F.scaled_dot_product_attention(q, k, v, is_causal=c)


def causal_mask_none(q, k, v, m):
    return F.scaled_dot_product_attention(q, k, v, None, 0.0, True)


def scale0(q, k, v, m):
    return F.scaled_dot_product_attention(q, k, v, scale=0.0)


def scaleneg(q, k, v, m):
    return F.scaled_dot_product_attention(q, k, v, scale=-0.5)


def scale_twice(q, k, v, m):
    return F.scaled_dot_product_attention(q * 0.5, k, v, scale=0.5)


def gqa(q, k, v, m):
    return F.scaled_dot_product_attention(q, k[:, :2], v[:, :2], enable_gqa=True)


def gqa_rep(q, k, v, m):
    k2, v2 = k[:, :2].repeat_interleave(2, 1), v[:, :2].repeat_interleave(2, 1)
    return F.scaled_dot_product_attention(q, k2, v2)


def gqa_repeat(q, k, v, m):
    k2, v2 = k[:, :2].repeat(1, 2, 1, 1), v[:, :2].repeat(1, 2, 1, 1)
    return F.scaled_dot_product_attention(q, k2, v2)


def gqa_expand(q, k, v, m):
    k2 = k[:, :2, None].expand(-1, -1, 2, -1, -1).reshape(2, 4, 5, 8)
    v2 = v[:, :2, None].expand(-1, -1, 2, -1, -1).reshape(2, 4, 5, 8)
    return F.scaled_dot_product_attention(q, k2, v2)


def gqa_einops(q, k, v, m):
    k2 = repeat(k[:, :2], "b h n d -> b (g h) n d", g=2)
    return F.scaled_dot_product_attention(q, k2, v)


def double(q, k, v, m):
    return F.scaled_dot_product_attention(q.double(), k.double(), v.double())


def rank_3d(q, k, v, m):
    return F.scaled_dot_product_attention(q[0], k[0], v[0])


def rank_2d(q, k, v, m):
    return F.scaled_dot_product_attention(q[0, 0], k[0, 0], v[0, 0])


def rank_5d(q, k, v, m):
    return F.scaled_dot_product_attention(q[None], k[None], v[None])


def bcast_batch(q, k, v, m):
    return F.scaled_dot_product_attention(q, k[:1], v[:1])


def bcast_q(q, k, v, m):
    return F.scaled_dot_product_attention(q[:1], k, v)


def out_written(q, k, v, m):
    o = F.scaled_dot_product_attention(q, k, v)
    o[..., 0] = 0
    o.mul_(2)
    return o


def out_view(q, k, v, m):
    o = F.scaled_dot_product_attention(q.transpose(1, 2).contiguous().transpose(1, 2), k, v)
    return o.transpose(1, 2).view(2, 6, 32)


def out_stride(q, k, v, m):
    o = F.scaled_dot_product_attention(q, k, v)
    return o.view(8, 6, 8)


def nested_call(q, k, v, m):
    return F.scaled_dot_product_attention(F.scaled_dot_product_attention(q, k, v), k, v)


def closure(q, k, v, m):
    def g():
        return F.scaled_dot_product_attention(q, k, v)

    q = q * 2
    return g()


def lambda_(q, k, v, m):
    g = lambda: F.scaled_dot_product_attention(q.transpose(1, 2).transpose(1, 2), k, v)
    q = q * 2
    return g()


def lambda_layout(q, k, v, m):
    a, b, c = q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)
    a, b, c = a.transpose(1, 2), b.transpose(1, 2), c.transpose(1, 2)
    g = lambda: F.scaled_dot_product_attention(a, b, c).transpose(1, 2)
    a = a * 2
    return g()


def gen_lazy(q, k, v, m):
    g = (F.scaled_dot_product_attention(q, k, v) for _ in range(1))
    q = q * 2
    return next(g)


def gen_lazy_gate(q, k, v, m):
    a, b = q.chunk(2, -1)
    g = (F.silu(a) * b for _ in range(1))
    a = a * 2
    return next(g)


def listcomp_gate(q, k, v, m):
    a, b = q.chunk(2, -1)
    g = [F.silu(a) * b for _ in range(1)]
    a = a * 2
    return g[0]


def comp_shadow(q, k, v, m):
    a, b = q.chunk(2, -1)
    return [F.silu(a) * b for a in (b, b)][0]


def gen_layout(q, k, v, m):
    a = q.transpose(1, 2)
    g = (t.transpose(1, 2) for t in (a, k.transpose(1, 2), v.transpose(1, 2)))
    a = a * 2
    x, y, z = g
    return F.scaled_dot_product_attention(x, y, z).transpose(1, 2)


def partial_(q, k, v, m):
    import functools

    g = functools.partial(F.scaled_dot_product_attention, q)
    return g(k, v)


def star(q, k, v, m):
    a = (q, k, v)
    return F.scaled_dot_product_attention(*a)


def star_mut(q, k, v, m):
    a = [q, k, v]
    a[0] = q * 2
    return F.scaled_dot_product_attention(*a)


def starkw(q, k, v, m):
    kw = dict(scale=0.3)
    kw["scale"] = 0.5
    return F.scaled_dot_product_attention(q, k, v, **kw)


def starkw_cond(q, k, v, m):
    kw = {"scale": 0.3}
    if q.shape[0] == 2:
        kw = {"scale": 0.9, "is_causal": True}
    return F.scaled_dot_product_attention(q, k, v, **kw)


def order_eval(q, k, v, m):
    l = []

    def g(x):
        l.append(len(l))
        return x * len(l)

    return F.scaled_dot_product_attention(value=g(v), query=g(q), key=g(k))


def except_as(q, k, v, m):
    try:
        q = q.transpose(1, 2)
        raise ValueError
    except ValueError as k:
        pass
    return F.scaled_dot_product_attention(q.transpose(1, 2), v, v)


def qview_iadd(q, k, v, m):
    w = q.view(2, 4, 48)
    w += 1
    return F.scaled_dot_product_attention(q, k, v)


def layout_qview(q, k, v, m):
    q, k, v = (
        q.transpose(1, 2).contiguous(),
        k.transpose(1, 2).contiguous(),
        v.transpose(1, 2).contiguous(),
    )
    w = q[:, :3]
    q, k, v = q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)
    w += 1
    return F.scaled_dot_product_attention(q, k, v).transpose(1, 2)


def layout_alias_T(q, k, v, m):
    a = q.transpose(1, 2).clone()
    t = a.transpose(1, 2)
    t[:, 0] += 1
    o = F.scaled_dot_product_attention(t, k.transpose(1, 2).transpose(1, 2), v).transpose(1, 2)
    return o, a


def layout_del(q, k, v, m):
    a = q.transpose(1, 2).clone().transpose(1, 2)
    b, c = k, v
    del k, v
    return F.scaled_dot_product_attention(a, b, c).transpose(1, 2)


def layout_global(q, k, v, m):
    global GQ
    GQ = q.transpose(1, 2).clone().transpose(1, 2)
    o = F.scaled_dot_product_attention(GQ, k, v).transpose(1, 2)
    return o, GQ


def layout_match(q, k, v, m):
    a = q.transpose(1, 2).clone()
    match a.shape:
        case (x, y, z, w):
            a = a.view(x, y, z, w)
    return F.scaled_dot_product_attention(a.transpose(1, 2), k, v).transpose(1, 2), y


def layout_assert(q, k, v, m):
    a = q.transpose(1, 2).clone().transpose(1, 2)
    assert a.shape[1] == 4
    return F.scaled_dot_product_attention(a, k, v).transpose(1, 2)


def layout_print(q, k, v, m):
    a = q.transpose(1, 2).clone().transpose(1, 2)
    s = f"{a.shape}"
    return F.scaled_dot_product_attention(a, k, v).transpose(1, 2), torch.tensor(
        [ord(c) for c in s]
    )


def layout_iter(q, k, v, m):
    a = q.transpose(1, 2).clone().transpose(1, 2)
    t = sum(x.sum() * i for i, x in enumerate(a[0]))
    return F.scaled_dot_product_attention(a, k, v).transpose(1, 2), t


def layout_len(q, k, v, m):
    a = q.clone().transpose(1, 2).transpose(1, 2)
    t = len(a[0])
    return F.scaled_dot_product_attention(a, k, v).transpose(1, 2) * t


def layout_isinst(q, k, v, m):
    a = q.transpose(1, 2).clone().transpose(1, 2)
    if isinstance(a, torch.Tensor) and a.size(1) == 4:
        a = a * 2
    return F.scaled_dot_product_attention(a, k, v).transpose(1, 2)


def layout_norm_dims(q, k, v, m):
    a = q.transpose(1, 2).clone().transpose(1, 2)
    a = a / a.norm(dim=(1, 3), keepdim=True)
    return F.scaled_dot_product_attention(a, k, v).transpose(1, 2)


def layout_sum_nokeep(q, k, v, m):
    a = q.transpose(1, 2).clone().transpose(1, 2)
    a = a * a.sum(1)[:, None]
    return F.scaled_dot_product_attention(a, k, v).transpose(1, 2)


def layout_pos(q, k, v, m):
    a = q.transpose(1, 2).clone().transpose(1, 2)
    a = a + torch.arange(a.shape[-2])[:, None]
    return F.scaled_dot_product_attention(a, k, v).transpose(1, 2)


def layout_pos_h(q, k, v, m):
    a = q.transpose(1, 2).clone().transpose(1, 2)
    a = a + torch.arange(a.shape[1])[:, None, None]
    return F.scaled_dot_product_attention(a, k, v).transpose(1, 2)


def layout_roll(q, k, v, m):
    a = q.transpose(1, 2).clone().transpose(1, 2)
    a = a.roll(1, 2)
    return F.scaled_dot_product_attention(a, k, v).transpose(1, 2)


def layout_flip(q, k, v, m):
    a = q.transpose(1, 2).clone().transpose(1, 2)
    a = a.flip(1)
    return F.scaled_dot_product_attention(a, k, v).transpose(1, 2)


def layout_index(q, k, v, m):
    a = q.transpose(1, 2).clone().transpose(1, 2)
    a = a[:, [3, 2, 1, 0]]
    return F.scaled_dot_product_attention(a, k, v).transpose(1, 2)


def layout_boolidx(q, k, v, m):
    a = q.transpose(1, 2).clone().transpose(1, 2)
    a[a > 0] = 0
    return F.scaled_dot_product_attention(a, k, v).transpose(1, 2)


def layout_gather(q, k, v, m):
    a = q.transpose(1, 2).clone().transpose(1, 2)
    i = torch.zeros(2, 4, 6, 8, dtype=torch.long)
    a = a.gather(2, i)
    return F.scaled_dot_product_attention(a, k, v).transpose(1, 2)


def layout_cumsum(q, k, v, m):
    a = q.transpose(1, 2).clone().transpose(1, 2)
    a = a.cumsum(2)
    return F.scaled_dot_product_attention(a, k, v).transpose(1, 2)


def layout_matmul(q, k, v, m):
    a = q.transpose(1, 2).clone().transpose(1, 2)
    a = a @ torch.ones(8, 8) @ torch.eye(8)
    return F.scaled_dot_product_attention(a, k, v).transpose(1, 2)


def layout_lmatmul(q, k, v, m):
    a = q.transpose(1, 2).clone().transpose(1, 2)
    a = torch.ones(6, 6) @ a
    return F.scaled_dot_product_attention(a, k, v).transpose(1, 2)


def layout_where(q, k, v, m):
    a = q.transpose(1, 2).clone().transpose(1, 2)
    a = torch.where(torch.arange(6)[:, None] > 2, a, -a)
    return F.scaled_dot_product_attention(a, k, v).transpose(1, 2)


def layout_randn(q, k, v, m):
    torch.manual_seed(0)
    a = q.transpose(1, 2).clone().transpose(1, 2)
    a = a + torch.randn_like(a)
    return F.scaled_dot_product_attention(a, k, v).transpose(1, 2)


def layout_dropout(q, k, v, m):
    torch.manual_seed(0)
    a = q.transpose(1, 2).clone().transpose(1, 2)
    a = F.dropout(a, 0.5)
    return F.scaled_dot_product_attention(a, k, v).transpose(1, 2)


def layout_zeros(q, k, v, m):
    a = q.transpose(1, 2).clone().transpose(1, 2)
    z = torch.zeros_like(a)
    z[:, :, :3] = a[:, :, :3]
    return F.scaled_dot_product_attention(z, k, v).transpose(1, 2)


def layout_newz(q, k, v, m):
    a = q.transpose(1, 2).clone().transpose(1, 2)
    z = a.new_zeros(a.shape)
    z[:, 1] = a[:, 1]
    return F.scaled_dot_product_attention(z, k, v).transpose(1, 2)


def layout_out_sel(q, k, v, m):
    a = q.transpose(1, 2).clone().transpose(1, 2)
    return F.scaled_dot_product_attention(a, k, v).transpose(1, 2)[:, 0]


def layout_out_reduce(q, k, v, m):
    a = q.transpose(1, 2).clone().transpose(1, 2)
    o = F.scaled_dot_product_attention(a, k, v)
    return o.transpose(1, 2), o.mean(1)


def layout_out_cond(q, k, v, m):
    a = q.transpose(1, 2).clone().transpose(1, 2)
    o = F.scaled_dot_product_attention(a, k, v)
    return o.transpose(1, 2) if a.shape[0] > 1 else o


def layout_out_ternary_q(q, k, v, m):
    a = q.transpose(1, 2).clone()
    o = F.scaled_dot_product_attention(a.transpose(1, 2), k, v).transpose(1, 2)
    return o if o.shape[1] > 5 else a
