import math

import mindiesd
import torch
import torch.nn as nn
import torch.nn.functional as F


class Aliased(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("cache", torch.zeros(2, 3, 6, 8))
        self.recent = self.cache[:, :, :5]
        self.left = self.right = torch.zeros(2, 3, 5, 8)

    def view_in_another_attribute(self, q, k, v):
        scores = q @ self.recent.transpose(-1, -2) / math.sqrt(q.shape[-1])
        self.cache[:, :, :1] = k
        return F.softmax(scores, dim=-1) @ self.recent

    def one_tensor_of_two_attributes(self, q, k):
        scores = q @ self.left.transpose(-1, -2) / math.sqrt(q.shape[-1])
        self.right.copy_(k)
        return F.softmax(scores, dim=-1) @ self.left

    def fill(self, k):
        self.cache[:, :, :1] = k

    def method_in_sight(self, q, k, v):
        scores = q @ self.cache.transpose(-1, -2) / math.sqrt(q.shape[-1])
        self.fill(k)
        return F.softmax(scores, dim=-1) @ v


def fill_first(tensors, value):
    first = tensors[0]
    first.fill_(value)


def function_in_sight(q, items):
    scores = q @ items[0].transpose(-1, -2) / math.sqrt(q.shape[-1])
    fill_first(items, 1.0)
    return F.softmax(scores, dim=-1) @ items[1]


def several_at_once(q, k, v):
    scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    torch._foreach_mul_([q, k], 2.0)
    return F.softmax(scores, dim=-1) @ v


def other_entries(q, items):
    scores = q @ items[0].transpose(-1, -2) / math.sqrt(q.shape[-1])
    items.reverse()
    return F.softmax(scores, dim=-1) @ items[0]


def next_round(q, k, v, steps: int):
    scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    out = []
    for step in range(steps):
        out.append(F.softmax(scores, dim=-1) @ v)
        k.mul_(2)
    return out


def operand_without_a_name(q, k, old, v):
    scores = q @ torch.cat((old, k), dim=2).transpose(-1, -2) / math.sqrt(q.shape[-1])
    old.mul_(2)
    return F.softmax(scores, dim=-1) @ v


class Keys(nn.Module):
    def __init__(self):
        super().__init__()
        self.k = torch.zeros(2, 3, 5, 8)

    def forward(self, k):
        self.k[:, :, -1:] = k


class Held(nn.Module):
    def __init__(self):
        super().__init__()
        self.keys = Keys()
        self.cache = torch.zeros(2, 3, 5, 8)
        self.norm = nn.LayerNorm(8)

    def layer_in_sight(self, q, k, v):
        scores = q @ self.keys.k.transpose(-1, -2) / math.sqrt(q.shape[-1])
        self.keys(k)
        return F.softmax(scores, dim=-1) @ v

    def inner_function(self, q, k, v):
        def fill():
            self.cache[:, :, -1:] = k

        scores = q @ self.cache.transpose(-1, -2) / math.sqrt(q.shape[-1])
        fill()
        return F.softmax(scores, dim=-1) @ v

    def by_its_own_method(self, q, k, v):
        scores = q @ self.cache.transpose(-1, -2) / math.sqrt(q.shape[-1])
        self.cache.__setitem__((slice(None), slice(None), -1), k[:, :, 0])
        return F.softmax(scores, dim=-1) @ v

    def made_anew(self, x, scale, shift):
        y = mindiesd.fast_layernorm(self.norm, x)
        self.norm.reset_parameters()
        return y * (1 + scale) + shift

    def taken_away(self, x, scale, shift):
        y = mindiesd.fast_layernorm(self.norm, x)
        del self.norm.weight
        return y * (1 + scale) + shift


def put_into_a_list(q, k, v, items, change):
    items.append(k.view(2, -1, 8))
    scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    change(items)
    return F.softmax(scores, dim=-1) @ v


def put_into_an_attribute(self, q, k, v, change):
    self.state.k = k
    scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    change(self.state)
    return F.softmax(scores, dim=-1) @ v


def put_into_a_dictionary(q, k, v):
    kept = {}
    kept["k"] = k
    scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    kept["k"].mul_(2)
    return F.softmax(scores, dim=-1) @ v
