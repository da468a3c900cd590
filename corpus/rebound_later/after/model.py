import mindiesd.ext
import torch


def read_later(x):
    a, b = x.chunk(2, -1)
    gated = lambda: mindiesd.ext.silu(a) * b
    a = a * 2
    return gated()


def written_in_place(x):
    r = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-2)
    x *= r
    return x


def consumed_later(x):
    a, b = x.chunk(2, -1)
    gated = (mindiesd.ext.silu(a) * b for _ in range(1))
    a = a * 2
    return next(gated)
