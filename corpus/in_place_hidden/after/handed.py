"""Functions of this file that are handed to others, which run them, and lists that are repeated."""

import functools

import mindiesd.ext
import torch.nn.functional as F


def double(t):
    t.mul_(2)


def half(t):
    return t * 0.5


def mapped_over_what_may_be_the_same(q, k, others):
    scores = (q @ k.transpose(-1, -2)) * 0.5
    list(map(double, others))
    return F.softmax(scores, dim=-1) @ k


def run_later(q, k, other):
    run = functools.partial(double, other)
    scores = (q @ k.transpose(-1, -2)) * 0.5
    run()
    return F.softmax(scores, dim=-1) @ k


def mapped_by_what_writes_nothing(q, k, others):
    list(map(half, others))
    return mindiesd.ext.attention_forward(q, k, k, scale=0.5, head_first=True, strides="BNSD")


def repeated(q, k, items):
    twice = items * 2
    scores = (q @ items[0].transpose(-1, -2)) * 0.5
    twice[-1].mul_(2)
    return F.softmax(scores, dim=-1) @ k


def multiplied(q, k, factor):
    wide = q * factor
    wide.mul_(2)
    return mindiesd.ext.attention_forward(
        q,
        k,
        k,
        scale=0.5,
        head_first=True,
        strides="BNSD",
    ), wide.shape[0]
