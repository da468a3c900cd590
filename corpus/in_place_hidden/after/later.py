import math

import mindiesd.ext
import torch
import torch.nn as nn
import torch.nn.functional as F

TABLE = torch.ones(2, 3, 5, 8)


def doubled(tensors):
    for t in tensors:
        t.mul_(2)
        yield t


def items_asked_for(q, items, v):
    later = (t.mul_(2) for t in items)
    scores = q @ items[0].transpose(-1, -2) / math.sqrt(q.shape[-1])
    for _ in later:
        pass
    return F.softmax(scores, dim=-1) @ v


def generator_unpacked(q, k, v):
    later = doubled([k])
    scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    (k,) = later
    return F.softmax(scores, dim=-1) @ v


def called_later(q, k, v):
    later = lambda: k.mul_(2)  # noqa: E731
    scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    later()
    return F.softmax(scores, dim=-1) @ v


def view_of_one_factor(q, k, v):
    same = torch.einsum("bhid->bhid", k)
    scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    same.mul_(2)
    return F.softmax(scores, dim=-1) @ v


def store(table):
    global TABLE
    TABLE = table


def name_of_the_module(q, k, v):
    scores = q @ TABLE.transpose(-1, -2) / math.sqrt(q.shape[-1])
    store(k)
    return F.softmax(scores, dim=-1) @ v


class Keys(nn.Module):
    def __init__(self):
        super().__init__()
        self.k = torch.ones(2, 3, 5, 8)

    def forward(self, k):
        self.k.copy_(k)


class Stack(nn.Module):
    shared = torch.ones(2, 3, 5, 8)

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([Keys(), Keys()])

    def layer_of_a_list(self, q, k, v):
        scores = q @ self.layers[0].k.transpose(-1, -2) / math.sqrt(q.shape[-1])
        for layer in self.layers:
            layer(k)
        return F.softmax(scores, dim=-1) @ v

    def attribute_of_the_class(self, q, k, v):
        scores = q @ self.shared.transpose(-1, -2) / math.sqrt(q.shape[-1])
        type(self).shared = k
        return F.softmax(scores, dim=-1) @ v


class Raised:
    """Adds to a tensor while its block runs."""

    def __init__(self, t):
        self.t = t

    def __enter__(self):
        self.t.add_(0.5)
        return self

    def __exit__(self, *error):
        self.t.sub_(0.25)


class Windowed(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("cache", torch.ones(2, 3, 5, 8))
        self.window = self.cache[:, :, :5]

    def view_handed_to_a_context(self, q, k, v):
        scores = q @ self.cache.transpose(-1, -2) / math.sqrt(q.shape[-1])
        with Raised(self.window):
            pass
        return F.softmax(scores, dim=-1) @ self.cache

    def end_of_a_context(self, q, k, v):
        with Raised(self.window):
            scores = q @ self.cache.transpose(-1, -2) / math.sqrt(q.shape[-1])
        return F.softmax(scores, dim=-1) @ self.cache

    def context_of_a_library(self, q, k, v):
        return mindiesd.ext.attention_forward(
            q,
            self.cache,
            self.cache,
            scale=1 / math.sqrt(q.shape[-1]),
            head_first=True,
            strides="BNSD",
        )
