import rope
import torch


def outputs():
    q, k = torch.randn(2, 2, 3, 5, 16)
    cos, sin = torch.randn(2, 2, 5, 16)
    half, other = cos[..., :8], sin[..., :8]
    return [
        *rope.in_float32(q, k.bfloat16(), cos, sin),
        *rope.first_part(q, k, cos[:, None, :, :12], sin[:, None, :, :12]),
        rope.repeated(q.transpose(1, 2), other, half),
        rope.last_part(q, cos[..., :6], sin[..., :6]),
        rope.last_part(k.bfloat16(), cos[..., :8], sin[..., :8]),
        rope.halves(q, half[:, None], other[:, None]),
        rope.pairs_to_halves(q, cos[:, None], sin[:, None]),
        rope.the_other_way(q, cos[:, None], sin[:, None]),
    ]
