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


def in_rounds(q, k, v, rounds=2):
    for _ in range(rounds):
        scores = q @ k.transpose(-2, -1) * 0.25
        probs = scores.softmax(dim=-1)
        v = probs @ v
        del scores, probs
    return v


def of_the_last_round(q, k, v):
    for _ in range(2):
        scores = q @ k.transpose(-2, -1) * 0.25
        v = scores.softmax(dim=-1) @ v
    del scores
    return v


def of_the_round_before(q, k, v):
    for number in range(3):
        if number > 0:
            del scores
        scores = q @ k.transpose(-2, -1) * 0.25
        v = scores.softmax(dim=-1) @ v
    return v


def on_each_branch(q, k, v, wide):
    scores = q @ k.transpose(-2, -1) * 0.25
    out = scores.softmax(dim=-1) @ v
    if wide:
        del scores
        out = out * 2
    else:
        del scores
    return out


def another_meaning(q, k, v):
    scores = None
    scores = q @ k.transpose(-2, -1) * 0.25
    out = scores.softmax(dim=-1) @ v
    del scores
    return out


def within(q, k, v):
    scores = q @ k.transpose(-2, -1) * 0.25
    with torch.no_grad():
        probs = scores.softmax(dim=-1)
        del scores
    return probs @ v


def in_some_rounds(q, k, v, given=None):
    scores = given
    for number in range(2):
        if number == 1:
            scores = q @ k.transpose(-2, -1) * 0.25
            v = scores.softmax(dim=-1) @ v
    del scores
    return v
