"""A rotation whose tables are attributes of an indexed object, without blanks around the signs."""

import mindiesd.ext
import torch


class Table:
    def __init__(self, cosine, sine):
        self.cosine, self.sine = cosine, sine


def rotate_half(x):
    a, b = x.chunk(2, dim=-1)
    return torch.cat((-b, a), dim=-1)


def rotate(q, tables):
    return mindiesd.ext.rotary_position_embedding(
        q,
        tables[0].cosine,
        tables[0].sine,
        rotated_mode="rotated_chunks",
        result_type="promoted",
    )
