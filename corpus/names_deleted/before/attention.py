"""Names are taken away with `del` once attention has read them, as code does that counts its memory."""

import torch
import torch.nn.functional as F


def heads(q, k, v, count):
    batch, length, width = q.shape
    q = q.view(batch, length, count, width // count).transpose(1, 2)
    k = k.view(batch, -1, count, width // count).transpose(1, 2)
    v = v.view(batch, -1, count, width // count)
    v = v.transpose(1, 2)
    out = F.scaled_dot_product_attention(q, k, v)
    del q, k, v
    out = out.transpose(1, 2)
    return out.flatten(2)


def by_hand(q, k, v):
    scores = torch.matmul(q, k.transpose(-2, -1)) * 0.25
    probs = scores.softmax(dim=-1)
    del scores
    out = torch.matmul(probs, v)
    del probs
    return out


def of_both(q, k, v):
    scores = q @ k.transpose(-2, -1) * 0.25
    probs = scores.softmax(dim=-1)
    out = probs @ v
    del scores, probs
    return out


def with_an_operand(q, k, v):
    keys = k.transpose(-2, -1)
    probs = (q @ keys * 0.25).softmax(dim=-1)
    out = probs @ v
    del probs, q
    return out


def on_one_path(q, k, v, wide):
    if wide:
        keys = k.transpose(-2, -1)
        wide = keys.sum()
    else:
        keys = torch.swapaxes(k, -2, -1)
        wide = k.sum()
    out = (q @ keys * 0.25).softmax(dim=-1) @ v
    del keys
    return out + wide


def from_inside(q, k, v):
    probs = (q @ k.transpose(-2, -1) * 0.25).softmax(dim=-1)

    def shape():
        return probs.shape

    out = probs @ v + shape()[0]
    del probs
    return out


def entries(q, k, v, cache):
    cache["scores"] = q @ k.transpose(-2, -1) * 0.25
    out = cache["scores"].softmax(dim=-1) @ v
    del cache["scores"]
    return out
