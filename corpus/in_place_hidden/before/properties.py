import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class Watched:
    def __init__(self, k):
        object.__setattr__(self, "k", k)

    def __setattr__(self, name, value):
        self.k.copy_(value)

    def __getitem__(self, index):
        self.k.mul_(2)
        return index


class Cached(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("cache", torch.zeros(2, 3, 5, 8))
        self.watched = Watched(self.cache)
        self.steps = 0

    @property
    def step(self):
        self.cache.add_(1)
        return self.steps

    @property
    def newest(self):
        return self.cache[:, :, -1:]

    @newest.setter
    def newest(self, k):
        self.cache[:, :, -1:] = k

    latest = property(lambda self: self.cache.mul_(2))

    def getter(self, q):
        scores = q @ self.cache.transpose(-1, -2) / math.sqrt(q.shape[-1])
        step = self.step
        return F.softmax(scores, dim=-1) @ self.cache, step

    def getter_without_a_decorator(self, q):
        scores = q @ self.cache.transpose(-1, -2) / math.sqrt(q.shape[-1])
        latest = self.latest
        return F.softmax(scores, dim=-1) @ self.cache, latest

    def getter_read_twice(self, x):
        return self.latest * torch.sigmoid(1.702 * self.latest) + x

    def setter(self, q, k):
        scores = q @ self.cache.transpose(-1, -2) / math.sqrt(q.shape[-1])
        self.newest = k
        return F.softmax(scores, dim=-1) @ self.cache

    def setter_by_its_name(self, q, k):
        scores = q @ self.cache.transpose(-1, -2) / math.sqrt(q.shape[-1])
        setattr(self, "newest", k)
        return F.softmax(scores, dim=-1) @ self.cache

    def store_that_is_watched(self, q, k):
        scores = q @ self.cache.transpose(-1, -2) / math.sqrt(q.shape[-1])
        self.watched.spare = k
        return F.softmax(scores, dim=-1) @ self.cache

    def entry_that_is_watched(self, q):
        scores = q @ self.cache.transpose(-1, -2) / math.sqrt(q.shape[-1])
        entry = self.watched[0]
        return F.softmax(scores, dim=-1) @ self.cache, entry
