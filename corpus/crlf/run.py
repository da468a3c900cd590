import torch
from attention import Attention
from last_line import attend
from norm import long, normalise


def outputs():
    qkv = [torch.randn(2, 5, 24) for _ in range(3)]
    return [
        Attention()(*qkv),
        attend(*[t[None] for t in qkv]),
        normalise(qkv[0], torch.randn(24)),
        long(qkv[0], torch.randn(24), 1e-3),
    ]
