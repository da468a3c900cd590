"""What a function with a context manager's decorator writes behind its `yield`."""

from contextlib import contextmanager

import torch.nn.functional as F


@contextmanager
def doubled_behind(t):
    yield
    t.mul_(2)


@contextmanager
def seen():
    yield


def end_of_a_block(q, k, v):
    with doubled_behind(v):
        scores = (q @ k.transpose(-1, -2)) * 0.5
    return F.softmax(scores, dim=-1) @ v


def end_that_writes_nothing(q, k, v):
    with seen():
        scores = (q @ k.transpose(-1, -2)) * 0.5
    return F.softmax(scores, dim=-1) @ v
