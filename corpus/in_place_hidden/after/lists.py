import math

import mindiesd.ext
import torch
import torch.nn.functional as F


def sum_of_lists(q, v, items, others):
    joined = items + others
    scores = q @ items[0].transpose(-1, -2) / math.sqrt(q.shape[-1])
    joined[0].mul_(2)
    return F.softmax(scores, dim=-1) @ v


def spread_into_a_list(q, v, items):
    joined = [v, *items]
    scores = q @ items[0].transpose(-1, -2) / math.sqrt(q.shape[-1])
    for item in joined:
        item.mul_(2)
    return F.softmax(scores, dim=-1) @ v


def extended(q, k, v):
    kept = []
    kept.extend([k, v])
    scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    kept[-1].mul_(2)
    return F.softmax(scores, dim=-1) @ v


def added_in_place(q, k, v):
    kept = []
    kept += [k]
    scores = q @ kept[0].transpose(-1, -2) / math.sqrt(q.shape[-1])
    k.mul_(2)
    return F.softmax(scores, dim=-1) @ v


def merged(q, v, cache):
    state = {**cache, "v": v}
    scores = q @ cache["k"].transpose(-1, -2) / math.sqrt(q.shape[-1])
    state["k"].mul_(2)
    return F.softmax(scores, dim=-1) @ v


def updated(q, k, v):
    state = dict(v=v)
    state.update({"k": k})
    scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    state["k"].mul_(2)
    return F.softmax(scores, dim=-1) @ v


def either(q, k, v, kept):
    items = kept or [k]
    scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    items[0].mul_(2)
    return F.softmax(scores, dim=-1) @ v


def one_entry_less(q, v, items):
    scores = q @ items[0].transpose(-1, -2) / math.sqrt(q.shape[-1])
    del items[0]
    return F.softmax(scores, dim=-1) @ v


def through_its_own_sum(q, k, v):
    keys = k
    keys += 1
    scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    keys.mul_(2)
    return F.softmax(scores, dim=-1) @ v


def written_out_and_changed(q, k, v):
    items = [k, v]
    items.reverse()
    return mindiesd.ext.attention_forward(
        q,
        items[0],
        items[1],
        scale=1 / math.sqrt(q.shape[-1]),
        head_first=True,
        strides="BNSD",
    )
