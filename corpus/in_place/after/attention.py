import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class Cached(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("k_cache", torch.zeros(2, 3, 5, 8))
        self.register_buffer("v_cache", torch.zeros(2, 3, 5, 8))
        self.register_buffer("room", torch.zeros(2, 3, 5, 8))

    def slice_of_a_buffer(self, q, k):
        scores = q @ self.k_cache.transpose(-1, -2) / math.sqrt(q.shape[-1])
        self.k_cache[:, :, -1:] = k
        return F.softmax(scores, dim=-1) @ self.v_cache

    def method_of_a_buffer(self, q, k):
        scores = q @ self.k_cache.transpose(-1, -2) / math.sqrt(q.shape[-1])
        self.k_cache.copy_(k)
        return F.softmax(scores, dim=-1) @ self.v_cache

    def view_of_a_buffer(self, q, k):
        keys = self.k_cache[:, :, :4]
        scores = q @ keys.transpose(-1, -2) / math.sqrt(q.shape[-1])
        self.k_cache[:, :, -1:] = k
        return F.softmax(scores, dim=-1) @ self.v_cache[:, :, :4]

    def out_of_a_sum(self, q, k, v):
        scores = q @ self.room.transpose(-1, -2) / math.sqrt(q.shape[-1])
        torch.add(k, v, out=self.room)
        return F.softmax(scores, dim=-1) @ self.v_cache

    def augmented_buffer(self, q):
        scores = q @ self.k_cache.transpose(-1, -2) / math.sqrt(q.shape[-1])
        self.k_cache += 1
        return F.softmax(scores, dim=-1) @ self.v_cache


def entry_of_a_dictionary(q, cache):
    scores = q @ cache["k"].transpose(-1, -2) / math.sqrt(q.shape[-1])
    cache["k"].mul_(2)
    return F.softmax(scores, dim=-1) @ cache["v"]


def entry_of_a_list(q, cache):
    scores = q @ cache[0].transpose(-1, -2) / math.sqrt(q.shape[-1])
    cache[0].copy_(q)
    return F.softmax(scores, dim=-1) @ cache[1]
