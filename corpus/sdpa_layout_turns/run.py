import torch
from attention import (
    copies,
    heads_made,
    in_a_condition,
    named_again,
    one_of_them_kept,
    parts,
    rotated,
    sequence_first,
)


def outputs():
    four = [torch.randn(2, 5, 3, 8) for _ in range(3)]
    three = [torch.randn(2, 5, 24) for _ in range(3)]
    layers = torch.randn(5, 2, 3, 8)
    return [
        named_again(*four),
        copies(*four),
        heads_made(*three, 3),
        parts(torch.randn(2, 5, 72), 3),
        sequence_first(layers),
        sequence_first(layers, torch.rand(2, 1, 5, 5) > 0.3),
        *one_of_them_kept(*four),
        in_a_condition(*four, True),
        rotated(*four),
    ]
