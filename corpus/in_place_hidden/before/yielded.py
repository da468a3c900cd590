"""Whoever reads a generator may write what it is given, and what it made the generator of."""
import math

import torch.nn.functional as F


def steps(q, k, v):
    scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    yield v
    yield F.softmax(scores, dim=-1) @ v


def pauses(q, k, v):
    scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    yield
    yield F.softmax(scores, dim=-1) @ v


def parts(q, k, v):
    scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    yield from [v[..., :4], k]
    return F.softmax(scores, dim=-1) @ v


def whole(q, k, v):
    yield v
    scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    yield F.softmax(scores, dim=-1) @ v


def shared(q, k, v):
    """What the generator weighs belongs to the function around it, which changes it meanwhile."""

    def steps():
        scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
        yield
        yield F.softmax(scores, dim=-1) @ v

    steps = steps()
    next(steps)
    v.mul_(2)
    return next(steps)
