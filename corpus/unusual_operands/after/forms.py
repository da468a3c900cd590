import mindiesd.ext
import torch
import torch.nn as nn


def rotate_half(x):
    x1 = x[..., : x.shape[-1] // 2]
    x2 = x[..., x.shape[-1] // 2 :]
    return torch.cat((-x2, x1), dim=-1)


def rotated_by_slices(x, cos, sin):
    return mindiesd.ext.rotary_position_embedding(x, cos, sin, result_type="promoted")


def rotated_by_chunks(x, cos, sin):
    return mindiesd.ext.rotary_position_embedding(
        x,
        cos,
        sin,
        rotated_mode="rotated_chunks",
        result_type="promoted",
    )


def attend(q, k, v, scale: float):
    return mindiesd.ext.attention_forward(
        q,
        k,
        v,
        scale=scale,
        head_first=True,
        strides="BNSD",
    )


def attend_by_one(q, k, v):
    return mindiesd.ext.attention_forward(q, k, v, scale=True, head_first=True)


class Norm(nn.Module):
    def __init__(self, dim: int, eps: float):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        return self.weight * mindiesd.ext.rms_norm(x, eps=self.eps, result_type="input")


class Normed(nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        self.norm = Norm(dim, -1e-3)

    def forward(self, q, k, v):
        return attend(self.norm(q), self.norm(k), v, 0.5)


def gated(x):
    return mindiesd.ext.glu(x, "gelu", dim=-1)


def clamped(x):
    return mindiesd.ext.softmax(x, dim=-1, clamp_min=-2.0, clamp_max=2.0)
