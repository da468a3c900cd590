"""Rotary embeddings, and what looks like one."""
# ruff: noqa

import torch


def rotate_half(x):
    a, b = x.chunk(2, dim=-1)
    return torch.cat((-b, a), dim=-1)


def rotate_every(x):
    a, b = x[..., ::2], x[..., 1::2]
    return torch.stack((-b, a), -1).flatten(-2)


def half(x, cos, sin):
    return x * cos + rotate_half(x) * sin


def every(x, cos, sin):
    return x * cos + rotate_every(x) * sin


def half_minus(x, cos, sin):
    return x * cos - rotate_half(x) * sin


def half_swapped(x, cos, sin):
    return x * sin + rotate_half(x) * cos


def half_wrongsign(x, cos, sin):
    a, b = x.chunk(2, -1)
    r = torch.cat((b, -a), -1)
    return x * cos + r * sin


def half_nosign(x, cos, sin):
    a, b = x.chunk(2, -1)
    r = torch.cat((b, a), -1)
    return x * cos + r * sin


def half_bothneg(x, cos, sin):
    a, b = x.chunk(2, -1)
    r = torch.cat((-b, -a), -1)
    return x * cos + r * sin


def half_order(x, cos, sin):
    a, b = x.chunk(2, -1)
    r = torch.cat((-a, b), -1)
    return x * cos + r * sin


def half_dim1(x, cos, sin):
    a, b = x.chunk(2, 1)
    r = torch.cat((-b, a), 1)
    return x * cos + r * sin


def half_dim_mixed(x, cos, sin):
    a, b = x.chunk(2, -1)
    r = torch.cat((-b, a), 1).reshape(x.shape)
    return x * cos + r * sin


def half_uneven(x, cos, sin):
    a, b = x[..., :3], x[..., 3:]
    r = torch.cat((-b, a), -1)
    return x * cos + r * sin


def half_other_x(x, cos, sin):
    y = x + 1
    return x * cos + rotate_half(y) * sin


def half_x_twice(x, cos, sin):
    return x * cos + rotate_half(x * cos) * sin


def half_inplace(x, cos, sin):
    r = rotate_half(x)
    x *= cos
    return x + r * sin


def half_inplace2(x, cos, sin):
    r = rotate_half(x) * sin
    x = x * cos
    x += r
    return x


def half_alias(x, cos, sin):
    y = x
    r = rotate_half(x)
    y += 1
    return x * cos + r * sin


def every_stack_order(x, cos, sin):
    a, b = x[..., ::2], x[..., 1::2]
    r = torch.stack((a, -b), -1).flatten(-2)
    return x * cos + r * sin


def every_stack_dim(x, cos, sin):
    a, b = x[..., ::2], x[..., 1::2]
    r = torch.stack((-b, a), -2).flatten(-2)
    return x * cos + r * sin


def every_cat(x, cos, sin):
    a, b = x[..., ::2], x[..., 1::2]
    r = torch.cat((-b, a), -1)
    return x * cos + r * sin


def half_tables_even(x, cos, sin):
    a, b = x.chunk(2, -1)
    cc, ss = cos[..., ::2], sin[..., ::2]
    return torch.cat((a * cc - b * ss, a * ss + b * cc), -1)


def half_tables_half(x, cos, sin):
    a, b = x.chunk(2, -1)
    cc, ss = cos[..., :4], sin[..., :4]
    return torch.cat((a * cc - b * ss, a * ss + b * cc), -1)


def half_tables_mixed(x, cos, sin):
    a, b = x.chunk(2, -1)
    cc, ss = cos[..., :4], sin[..., 4:]
    return torch.cat((a * cc - b * ss, a * ss + b * cc), -1)


def half_tables_mixed2(x, cos, sin):
    a, b = x.chunk(2, -1)
    return torch.cat((a * cos[..., :4] - b * sin[..., :4], a * sin[..., 4:] + b * cos[..., 4:]), -1)


def half_conj(x, cos, sin):
    a, b = x.chunk(2, -1)
    cc, ss = cos[..., :4], sin[..., :4]
    return torch.cat((a * cc + b * ss, b * cc - a * ss), -1)


def half_swapout(x, cos, sin):
    a, b = x.chunk(2, -1)
    cc, ss = cos[..., :4], sin[..., :4]
    return torch.cat((a * ss + b * cc, a * cc - b * ss), -1)


def every_tables(x, cos, sin):
    a, b = x[..., ::2], x[..., 1::2]
    cc, ss = cos[..., ::2], sin[..., ::2]
    return torch.stack((a * cc - b * ss, a * ss + b * cc), -1).flatten(-2)


def every_in_half_out(x, cos, sin):
    a, b = x[..., ::2], x[..., 1::2]
    cc, ss = cos[..., :4], sin[..., :4]
    return torch.cat((a * cc - b * ss, a * ss + b * cc), -1)


def half_in_every_out(x, cos, sin):
    a, b = x.chunk(2, -1)
    cc, ss = cos[..., :4], sin[..., :4]
    return torch.stack((a * cc - b * ss, a * ss + b * cc), -1).flatten(-2)


def every_odd_first(x, cos, sin):
    a, b = x[..., 1::2], x[..., ::2]
    cc, ss = cos[..., ::2], sin[..., ::2]
    return torch.stack((a * cc - b * ss, a * ss + b * cc), -1).flatten(-2)


def complex_(x, cos, sin):
    f = torch.polar(torch.ones_like(cos[..., :4]), cos[..., :4])
    z = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(z * f).flatten(-2)


def complex_conj(x, cos, sin):
    f = torch.polar(torch.ones_like(cos[..., :4]), cos[..., :4])
    z = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(z * f.conj()).flatten(-2)


def complex_div(x, cos, sin):
    f = torch.polar(torch.ones_like(cos[..., :4]), cos[..., :4])
    z = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(z / f).flatten(-2)


def complex_half(x, cos, sin):
    f = torch.polar(torch.ones_like(cos[..., :4]), cos[..., :4])
    z = torch.view_as_complex(x.reshape(*x.shape[:-1], 2, -1).transpose(-1, -2).contiguous())
    return torch.view_as_real(z * f).transpose(-1, -2).flatten(-2)


def complex_wrongback(x, cos, sin):
    f = torch.polar(torch.ones_like(cos[..., :4]), cos[..., :4])
    z = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(z * f).transpose(-1, -2).flatten(-2)


def complex_flat3(x, cos, sin):
    f = torch.polar(torch.ones_like(cos[..., :4]), cos[..., :4])
    z = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(z * f).flatten(3)


def complex_flat2(x, cos, sin):
    f = torch.polar(torch.ones_like(cos[..., :4]), cos[..., :4])
    z = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(z * f).flatten(2)


def complex_type(x, cos, sin):
    f = torch.polar(torch.ones_like(cos[..., :4]), cos[..., :4])
    z = torch.view_as_complex(x.double().reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(z * f).flatten(3)


def partial(x, cos, sin):
    return torch.cat(
        [
            x[..., :4] * cos[..., :4] + rotate_half(x[..., :4]) * sin[..., :4],
            x[..., 4:],
        ],
        -1,
    )


def partial_wrong(x, cos, sin):
    return torch.cat(
        [
            x[..., :4] * cos[..., :4] + rotate_half(x[..., 4:]) * sin[..., :4],
            x[..., 4:],
        ],
        -1,
    )


def tables_broadcast_head(x, cos, sin):
    cc, ss = torch.rand(4, 1, 8), torch.rand(4, 1, 8)
    return x * cc + rotate_half(x) * ss


def tables_batch(x, cos, sin):
    cc, ss = torch.rand(2, 1, 6, 8), torch.rand(2, 1, 6, 8)
    return x * cc + rotate_half(x) * ss


def tables_width1(x, cos, sin):
    cc, ss = cos[..., :1], sin[..., :1]
    return x * cc + rotate_half(x) * ss


def tables_larger(x, cos, sin):
    cc, ss = torch.rand(3, 1, 1, 6, 8), torch.rand(3, 1, 1, 6, 8)
    return x * cc + rotate_half(x) * ss


def tables_double(x, cos, sin):
    return x * cos.double() + rotate_half(x) * sin.double()


def tables_half(x, cos, sin):
    return x.half() * cos + rotate_half(x.half()) * sin


def tables_half2(x, cos, sin):
    return x * cos.half() + rotate_half(x) * sin.half()


def tables_mixed_dtype(x, cos, sin):
    return x * cos.double() + rotate_half(x) * sin


def x_bf16_cast(x, cos, sin):
    return (x.bfloat16() * cos + rotate_half(x.bfloat16()) * sin).to(torch.bfloat16)


def x1d(x, cos, sin):
    return x[0, 0, 0] * cos[0] + rotate_half(x[0, 0, 0]) * sin[0]


def two(x, cos, sin):
    a, b = x.chunk(2, 1)
    return a * cos + rotate_half(a) * sin, b * cos + rotate_half(b) * sin


def twice(x, cos, sin):
    for _ in range(2):
        x = x * cos + rotate_half(x) * sin
    return x


def cond(x, cos, sin):
    r = rotate_half(x) if x.shape[0] == 2 else rotate_every(x)
    return x * cos + r * sin


def cond_tables(x, cos, sin):
    c2 = cos if x.shape[0] == 3 else sin
    return x * c2 + rotate_half(x) * sin


def lambda_(x, cos, sin):
    f = lambda t: t * cos + rotate_half(t) * sin
    cos = cos * 2
    return f(x)


def nested(x, cos, sin):
    def f(t):
        return t * cos + rotate_half(t) * sin

    cos = cos * 2
    return f(x)


def default(x, cos, sin):
    def f(t, cos=cos):
        return t * cos + rotate_half(t) * sin

    cos = cos * 2
    return f(x)


def write_out(x, cos, sin):
    o = torch.empty_like(x)
    a, b = x.chunk(2, -1)
    o[..., :4] = a * cos[..., :4] - b * sin[..., :4]
    o[..., 4:] = b * cos[..., :4] + a * sin[..., :4]
    return o


def write_in(x, cos, sin):
    a, b = x.chunk(2, -1)
    x[..., :4] = a * cos[..., :4] - b * sin[..., :4]
    x[..., 4:] = b * cos[..., :4] + a * sin[..., :4]
    return x


def write_strided(x, cos, sin):
    o = torch.empty_like(x)
    o[..., ::2] = x[..., ::2] * cos[..., ::2] - x[..., 1::2] * sin[..., ::2]
    o[..., 1::2] = x[..., 1::2] * cos[..., ::2] + x[..., ::2] * sin[..., ::2]
    return o


def write_strided_odd(x, cos, sin):
    o = torch.empty_like(x)
    o[..., ::2] = x[..., ::2] * cos[..., ::2] - x[..., 1::2] * sin[..., 1::2]
    o[..., 1::2] = x[..., 1::2] * cos[..., 1::2] + x[..., ::2] * sin[..., ::2]
    return o


def write_partial(x, cos, sin):
    o = torch.zeros_like(x)
    o[..., :4:2] = x[..., :4:2] * cos[..., :4:2] - x[..., 1:4:2] * sin[..., :4:2]
    o[..., 1:4:2] = x[..., 1:4:2] * cos[..., :4:2] + x[..., :4:2] * sin[..., :4:2]
    return o


def addcmul(x, cos, sin):
    return torch.addcmul(x * cos, rotate_half(x), sin)


def value2(x, cos, sin):
    return torch.addcmul(x * cos, rotate_half(x), sin, value=2)


def roll(x, cos, sin):
    r = x.roll(4, -1)
    r = torch.cat([-r[..., :4], r[..., 4:]], -1)
    return x * cos + r * sin


def matrix(x, cos, sin):
    m = torch.stack([cos[..., :4], -sin[..., :4], sin[..., :4], cos[..., :4]], -1).view(6, 4, 2, 2)
    y = x.reshape(*x.shape[:-1], -1, 1, 2)
    return (m[..., 0] * y[..., 0] + m[..., 1] * y[..., 1]).reshape(x.shape)


def matrix_T(x, cos, sin):
    m = torch.stack([cos[..., :4], -sin[..., :4], sin[..., :4], cos[..., :4]], -1).view(6, 4, 2, 2)
    y = x.reshape(*x.shape[:-1], -1, 1, 2)
    return (m[..., 0, :] * y[..., 0] + m[..., 1, :] * y[..., 1]).reshape(x.shape)
