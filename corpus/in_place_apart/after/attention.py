import math

import mindiesd.ext
import torch
import torch.nn as nn


class Cached(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("k_cache", torch.zeros(2, 3, 5, 8))
        self.register_buffer("v_cache", torch.zeros(2, 3, 5, 8))
        self.register_buffer("seen", torch.zeros(5))
        self.to_v = nn.Linear(8, 8)

    def another_buffer(self, q):
        self.seen[0] = 1
        return mindiesd.ext.attention_forward(
            q,
            self.k_cache,
            self.v_cache,
            scale=1 / math.sqrt(q.shape[-1]),
            head_first=True,
            strides="BNSD",
        )

    def in_front(self, q, k, v):
        self.k_cache[:, :, -1:] = k
        self.v_cache[:, :, -1:].copy_(v)
        return mindiesd.ext.attention_forward(
            q,
            self.k_cache,
            self.v_cache,
            scale=1 / math.sqrt(q.shape[-1]),
            head_first=True,
            strides="BNSD",
        )

    def before_its_first_read(self, q, v):
        self.v_cache[:, :, -1:] = v
        return mindiesd.ext.attention_forward(
            q,
            self.k_cache,
            self.v_cache,
            scale=1 / math.sqrt(q.shape[-1]),
            head_first=True,
            strides="BNSD",
        )

    def behind(self, q, v):
        out = mindiesd.ext.attention_forward(
            q,
            self.k_cache,
            self.v_cache,
            scale=1 / math.sqrt(q.shape[-1]),
            head_first=True,
            strides="BNSD",
        )
        self.v_cache[:, :, -1:] = v
        return out

    def in_the_other_branch(self, q, k, update: bool):
        if update:
            self.k_cache[:, :, -1:] = k
            return self.k_cache
        else:
            return mindiesd.ext.attention_forward(
                q,
                self.k_cache,
                self.v_cache,
                scale=1 / math.sqrt(q.shape[-1]),
                head_first=True,
                strides="BNSD",
            )

    def layer_between(self, q, v):
        v = self.to_v(v)
        return mindiesd.ext.attention_forward(
            q,
            self.k_cache,
            v,
            scale=1 / math.sqrt(q.shape[-1]),
            head_first=True,
            strides="BNSD",
        )


def counted(size: int):
    seen = torch.zeros(size)
    seen[0] = 1
    return seen


def helper_with_storage_of_its_own(q, k, v):
    seen = counted(5)
    return mindiesd.ext.attention_forward(
        q,
        k,
        v,
        scale=1 / math.sqrt(q.shape[-1]),
        head_first=True,
        strides="BNSD",
    ), seen


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
        gate = self.bias(3)
        return mindiesd.ext.attention_forward(
            q,
            self.cache,
            v,
            scale=self.scale,
            head_first=True,
            strides="BNSD",
        ) * gate

    def method_that_stores_nothing_between(self, q, v):
        gate = self.gate(2)
        return mindiesd.ext.attention_forward(
            q,
            self.cache,
            v,
            scale=self.scale,
            head_first=True,
            strides="BNSD",
        ) * gate


def something_else_is_handed(q, k, v, kept, mask, change):
    kept["k"] = k
    mask = change(mask)
    return mindiesd.ext.attention_forward(
        q,
        k,
        v,
        scale=q.shape[-1] ** -0.5,
        head_first=True,
        strides="BNSD",
    ), mask


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
        size = self.size
        return mindiesd.ext.attention_forward(
            q,
            self.cache,
            v,
            scale=1 / math.sqrt(q.shape[-1]),
            head_first=True,
            strides="BNSD",
        ), size

    def another_buffer_registered(self, q, v):
        self._buffers["seen"] = v[0, 0]
        return mindiesd.ext.attention_forward(
            q,
            self.cache,
            v,
            scale=1 / math.sqrt(q.shape[-1]),
            head_first=True,
            strides="BNSD",
        )


def list_of_its_own(q, k, v):
    kept = [k.clone()]
    kept.extend([v * 2])
    kept[0].mul_(2)
    return mindiesd.ext.attention_forward(
        q,
        k,
        v,
        scale=1 / math.sqrt(q.shape[-1]),
        head_first=True,
        strides="BNSD",
    )


def sum_of_tensors(q, k, v):
    both = k + v
    both[0].mul_(2)
    return mindiesd.ext.attention_forward(
        q,
        k,
        v,
        scale=1 / math.sqrt(q.shape[-1]),
        head_first=True,
        strides="BNSD",
    ), both
