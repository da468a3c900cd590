"""Functions of this file that are handed to others, which run them, and lists that are repeated."""

import functools

import mindiesd.ext
import torch
import torch.nn.functional as F
from torch import nn


def double(t):
    t.mul_(2)


def half(t):
    return t * 0.5


class Doubled:
    """Doubles what it is called with."""

    def __call__(self, t):
        t.mul_(2)


class Halved:
    """Halves a copy of what it is called with."""

    def halved(self, t):
        return t * 0.5


def doubled_each(ts):
    return list(map(double, ts))


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


def mapped_by_a_function_inside(q, k, others):
    def grow(t):
        t.add_(1)

    scores = (q @ k.transpose(-1, -2)) * 0.5
    list(map(grow, others))
    return F.softmax(scores, dim=-1) @ k


def mapped_by_a_lambda_in_a_name(q, k, others):
    grow = lambda t: t.add_(1)  # noqa: E731
    scores = (q @ k.transpose(-1, -2)) * 0.5
    list(map(grow, others))
    return F.softmax(scores, dim=-1) @ k


def mapped_by_an_object(q, k, others):
    doubled = Doubled()
    scores = (q @ k.transpose(-1, -2)) * 0.5
    list(map(doubled, others))
    return F.softmax(scores, dim=-1) @ k


def mapped_by_one_of_two(q, k, others):
    run = double if len(others) else half
    scores = (q @ k.transpose(-1, -2)) * 0.5
    list(map(run, others))
    return F.softmax(scores, dim=-1) @ k


def run_from_a_list(q, k, other):
    runs = [half, double]
    scores = (q @ k.transpose(-1, -2)) * 0.5
    for run in runs:
        run(other)
    return F.softmax(scores, dim=-1) @ k


def run_from_a_dictionary(q, k, other):
    runs = {"double": functools.partial(double, other)}
    scores = (q @ k.transpose(-1, -2)) * 0.5
    runs["double"]()
    return F.softmax(scores, dim=-1) @ k


def by_a_helper_that_maps(q, k, others):
    scores = (q @ k.transpose(-1, -2)) * 0.5
    doubled_each(others)
    return F.softmax(scores, dim=-1) @ k


def captured_by_a_function_inside(q, other):
    k = other.clone()
    scores = (q @ k.transpose(-1, -2)) * 0.5

    def grow():
        k.add_(1)

    grow()
    return F.softmax(scores, dim=-1) @ k


def captured_by_a_function_that_writes_nothing(q, other):
    k = other.clone()

    def size():
        return k.shape[0]

    return mindiesd.ext.attention_forward(
        q,
        k,
        k,
        scale=0.5,
        head_first=True,
        strides="BNSD",
    ) * size()


def mapped_by_a_lambda_that_writes_nothing(q, k, others):
    halved = Halved()
    shrink = lambda t: halved.halved(t)  # noqa: E731
    list(map(shrink, others))
    return mindiesd.ext.attention_forward(q, k, k, scale=0.5, head_first=True, strides="BNSD")


class Pair(nn.Module):
    """Keeps two tensors."""

    def __init__(self):
        super().__init__()
        self.register_buffer("a", torch.zeros(2, 3, 5, 8))
        self.register_buffer("b", torch.zeros(2, 3, 5, 8))

    def storage_of_one_of_a_pair(self, q, other):
        scores = (q @ self.a.transpose(-1, -2)) * 0.5
        (self.a, self.b)[0].set_(other)
        return F.softmax(scores, dim=-1) @ self.a

    def data_of_one_of_a_pair(self, q, other):
        scores = (q @ self.a.transpose(-1, -2)) * 0.5
        (self.a, self.b)[0].data = other
        return F.softmax(scores, dim=-1) @ self.a
