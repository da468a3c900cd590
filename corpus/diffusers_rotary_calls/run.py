import torch
from transformer import Rotation, table


def outputs():
    rotation = Rotation()
    heads_first, sequence_first = torch.randn(2, 3, 5, 8), torch.randn(2, 5, 3, 8)
    tables = table(5, 8)
    angles = torch.randn(5, 4)
    freqs = torch.polar(torch.ones_like(angles), angles)
    return [
        rotation.default(heads_first, tables),
        *rotation.sequence_first(sequence_first, sequence_first * 2, tables),
        rotation.halves(heads_first, tables),
        rotation.halves_sequence_first(sequence_first, tables),
        rotation.complex_table(torch.randn(2, 5, 3, 8), freqs[None]),
    ]
