import rope
import torch


def outputs():
    x, cos, sin = torch.randn(2, 3, 5, 8), torch.randn(5, 8), torch.randn(5, 8)
    rotations = [
        rope.rotate_to_the_front,
        rope.rotate_stacked,
        rope.neighbours,
        rope.pairs,
    ]
    return [rotate(x, cos, sin) for rotate in rotations] + [
        rope.other_axis(x, torch.randn(10, 4), torch.randn(10, 4))
    ]
