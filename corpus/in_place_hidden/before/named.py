import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class Named(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("cache", torch.zeros(2, 3, 5, 8))
        self.left = torch.zeros(2, 3, 5, 8)
        self.right = torch.zeros(2, 3, 5, 8)
        self.__dict__["left"] = self.right
        self.norm = nn.LayerNorm(8)

    def registered(self, q, k):
        scores = q @ self.cache.transpose(-1, -2) / math.sqrt(q.shape[-1])
        self.register_buffer("cache", k)
        return F.softmax(scores, dim=-1) @ k

    def in_the_table(self, q, k):
        scores = q @ self.cache.transpose(-1, -2) / math.sqrt(q.shape[-1])
        self._buffers["cache"] = k
        return F.softmax(scores, dim=-1) @ k

    def in_the_table_by_a_method(self, q, k):
        scores = q @ self.cache.transpose(-1, -2) / math.sqrt(q.shape[-1])
        self._buffers.update(cache=k)
        return F.softmax(scores, dim=-1) @ k

    def under_any_name(self, q, k, name: str):
        scores = q @ self.cache.transpose(-1, -2) / math.sqrt(q.shape[-1])
        self.__dict__[name] = k
        return F.softmax(scores, dim=-1) @ k

    def made_one_tensor(self, q, k):
        scores = q @ self.left.transpose(-1, -2) / math.sqrt(q.shape[-1])
        self.right.copy_(k)
        return F.softmax(scores, dim=-1) @ self.left

    def parameter_of_a_norm(self, x, scale, shift):
        y = self.norm(x)
        self.norm.register_parameter("weight", nn.Parameter(torch.ones(8)))
        return y * (1 + scale) + shift
