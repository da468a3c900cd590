import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class Cached(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("k_cache", torch.zeros(2, 3, 5, 8))
        self.register_buffer("v_cache", torch.zeros(2, 3, 5, 8))
        self.register_buffer("seen", torch.zeros(5))
        self.to_v = nn.Linear(8, 8)

    def another_buffer(self, q):
        scores = q @ self.k_cache.transpose(-1, -2) / math.sqrt(q.shape[-1])
        self.seen[0] = 1
        return F.softmax(scores, dim=-1) @ self.v_cache

    def in_front(self, q, k, v):
        self.k_cache[:, :, -1:] = k
        self.v_cache[:, :, -1:].copy_(v)
        scores = q @ self.k_cache.transpose(-1, -2) / math.sqrt(q.shape[-1])
        return F.softmax(scores, dim=-1) @ self.v_cache

    def before_its_first_read(self, q, v):
        scores = q @ self.k_cache.transpose(-1, -2) / math.sqrt(q.shape[-1])
        self.v_cache[:, :, -1:] = v
        return F.softmax(scores, dim=-1) @ self.v_cache

    def behind(self, q, v):
        scores = q @ self.k_cache.transpose(-1, -2) / math.sqrt(q.shape[-1])
        out = F.softmax(scores, dim=-1) @ self.v_cache
        self.v_cache[:, :, -1:] = v
        return out

    def in_the_other_branch(self, q, k, update: bool):
        scores = q @ self.k_cache.transpose(-1, -2) / math.sqrt(q.shape[-1])
        if update:
            self.k_cache[:, :, -1:] = k
            return self.k_cache
        else:
            return F.softmax(scores, dim=-1) @ self.v_cache

    def layer_between(self, q, v):
        scores = q @ self.k_cache.transpose(-1, -2) / math.sqrt(q.shape[-1])
        v = self.to_v(v)
        return F.softmax(scores, dim=-1) @ v


def counted(size: int):
    seen = torch.zeros(size)
    seen[0] = 1
    return seen


def helper_with_storage_of_its_own(q, k, v):
    scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    seen = counted(5)
    return F.softmax(scores, dim=-1) @ v, seen


class Bias(nn.Module):
    def __init__(self):
        super().__init__()
        self.seen = 0
        self.table = nn.Parameter(torch.linspace(0, 1, 5))

    def forward(self, n):
        self.seen += 1
        return self.table[:n].sum()


class Gated(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = 8**-0.5
        self.bias = Bias()
        self.cache = torch.zeros(2, 3, 5, 8)

    def gate(self, n):
        return n * self.scale

    def layer_of_this_file_between(self, q, v):
        scores = q @ self.cache.transpose(-1, -2) * self.scale
        gate = self.bias(3)
        return F.softmax(scores, dim=-1) @ v * gate

    def method_that_stores_nothing_between(self, q, v):
        scores = q @ self.cache.transpose(-1, -2) * self.scale
        gate = self.gate(2)
        return F.softmax(scores, dim=-1) @ v * gate


def something_else_is_handed(q, k, v, kept, mask, change):
    kept["k"] = k
    scores = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
    mask = change(mask)
    return F.softmax(scores, dim=-1) @ v, mask


class Counted(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("cache", torch.zeros(2, 3, 5, 8))
        self.register_buffer("seen", torch.zeros(5))
        self.most = 0

    @property
    def size(self):
        return self.cache.shape[2]

    @property
    def limit(self):
        return self.most

    @limit.setter
    def limit(self, most):
        self.most = most

    def getter_that_computes(self, q, v):
        scores = q @ self.cache.transpose(-1, -2) / math.sqrt(q.shape[-1])
        size = self.size
        return F.softmax(scores, dim=-1) @ v, size

    def another_buffer_registered(self, q, v):
        scores = q @ self.cache.transpose(-1, -2) / math.sqrt(q.shape[-1])
        self._buffers["seen"] = v[0, 0]
        return F.softmax(scores, dim=-1) @ v


def list_of_its_own(q, k, v):
    kept = [k.clone()]
    kept.extend([v * 2])
    scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    kept[0].mul_(2)
    return F.softmax(scores, dim=-1) @ v


def sum_of_tensors(q, k, v):
    both = k + v
    scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    both[0].mul_(2)
    return F.softmax(scores, dim=-1) @ v, both
