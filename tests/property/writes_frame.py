"""The text around what is drawn for a program of writes.py: the head of a file, and a class with its helpers."""

HEAD = """import contextlib
import copy
import functools
import itertools
import math
import types

import torch
import torch.nn as nn
import torch.nn.functional as F


def bump(t):
    t.add_(0.5)


def bump_first(of):
    first = of[0]
    first.mul_(2)


def fresh(t):
    return t * 2


def same(t):
    return t


def gathered(*tensors):
    return list(tensors)


def doubled(tensors):
    for t in tensors:
        t.mul_(2)
        yield t


SINGLE = torch.linspace(-2, 2, 240).view(2, 3, 5, 8)
GLOBAL = [torch.linspace(-1, 2, 240).view(2, 3, 5, 8)]


def store_global(t):
    global SINGLE
    SINGLE = t


@contextlib.contextmanager
def doubled_behind(t):
    yield
    t.mul_(2)


@contextlib.contextmanager
def doubled_around(t):
    t.mul_(2)
    try:
        yield t
    finally:
        t.mul_(2)


@contextlib.contextmanager
def kept(t):
    yield t


class Keys(nn.Module):
    def __init__(self):
        super().__init__()
        self.k = torch.randn(2, 3, 5, 8)

    @contextlib.contextmanager
    def window(self, t=None):
        before = self.k.clone()
        try:
            yield self
        finally:
            self.k.copy_(before if t is None else t)

    def forward(self, k):
        self.k[:, :, -1:] = k[:, :, :1]
        return k


class Writer:
    def __init__(self, t):
        self.t = t

    def __call__(self, t):
        t.mul_(2)

    def __enter__(self):
        self.t.add_(0.25)
        return self.t

    def __exit__(self, *error):
        self.t.mul_(0.5)


class Behind(contextlib.AbstractContextManager):
    def __init__(self, of):
        self.of = of

    def __exit__(self, *error):
        bump_first(self.of)


class RMS(nn.Module):
    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.linspace(0.5, 1.5, dim))

    def forward(self, x):
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps))
"""
CLASS = '''

class Hooked{number}:
    def __init__(self, k, other):
        vars(self).update(k=k, other=other)

    def __setattr__(self, name, t):
        {hook}

    @property
    def read(self):
        {read}

    def __getitem__(self, at):
        {entry}

    def __setitem__(self, at, t):
        {hook_entry}


class Program{number}(nn.Module):
    shared = torch.linspace(-1, 1, 240).view(2, 3, 5, 8)

    def __init__(self):
        super().__init__()
        for name in ("a", "b", "c", "d"):
            self.register_buffer(name, torch.randn(2, 3, 5, 8))
        self.w = self.a[:, :, :5]
        self.turned = self.b.transpose(0, 1).transpose(0, 1)
        self.e = torch.randn(2, 3, 5, 8)
        self.g = torch.linspace(-1, 1, 240).view(2, 3, 5, 8)
        self.keys = Keys()
        self.kept = types.SimpleNamespace(k=torch.randn(2, 3, 5, 8), eps=1e-6)
        self.table = {{"k": torch.randn(2, 3, 5, 8), "a": self.a}}
        self.held = [torch.randn(2, 3, 5, 8), self.c]
        self.norm = nn.LayerNorm(8)
        self.bare = nn.LayerNorm(8, elementwise_affine=False)
        self.rms = RMS(8)
        self.drop = nn.Dropout(0.5)
        self.nothing = nn.Identity()
        self.weight = nn.Parameter(torch.linspace(0.5, 2, 8))
        self.flag = {flag}
        self.scale = 0.5
        self.layers = nn.ModuleList([Keys(), Keys()])
        self.hooked = Hooked{number}(self.e, self.d)
        {made}

    @property
    def seen(self):
        {getter}

    @seen.setter
    def seen(self, t):
        {setter}

    def put(self, t):
        {put}

    def look(self, t):
        return self.a + t

    @contextlib.contextmanager
    def window(self, t):
        yield
        self.put(t)

    def forward(self, x, y, cache, items):
        k = {local}
        {statements}
        return {result}
'''
