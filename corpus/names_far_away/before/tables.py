"""A rotation whose tables are attributes of an indexed object, without blanks around the signs."""

import torch


class Table:
    def __init__(self, cosine, sine):
        self.cosine, self.sine = cosine, sine


def rotate_half(x):
    a, b = x.chunk(2, dim=-1)
    return torch.cat((-b, a), dim=-1)


def rotate(q, tables):
    return q*tables[0].cosine+rotate_half(q)*tables[0].sine
