"""Names are taken away with `del` once attention has read them, as code does that counts its memory."""

import mindiesd.ext
import torch


def heads(q, k, v, count):
    batch, length, width = q.shape
    q = q.view(batch, length, count, width // count)
    k = k.view(batch, -1, count, width // count)
    v = v.view(batch, -1, count, width // count)
    out = mindiesd.attention_forward(q, k, v)
    del q, k, v
    return out.flatten(2)


def by_hand(q, k, v):
    out = mindiesd.ext.attention_forward(q, k, v, scale=0.25, head_first=True, strides="BNSD")
    return out


def of_both(q, k, v):
    out = mindiesd.ext.attention_forward(q, k, v, scale=0.25, head_first=True, strides="BNSD")
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
    out = mindiesd.ext.attention_forward(
        q,
        keys.transpose(-2, -1),
        v,
        scale=0.25,
        head_first=True,
        strides="BNSD",
    )
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
        v = mindiesd.ext.attention_forward(q, k, v, scale=0.25, head_first=True, strides="BNSD")
    return v


def of_the_last_round(q, k, v):
    for _ in range(2):
        v = mindiesd.ext.attention_forward(q, k, v, scale=0.25, head_first=True, strides="BNSD")
    return v


def of_the_round_before(q, k, v):
    for number in range(3):
        v = mindiesd.ext.attention_forward(q, k, v, scale=0.25, head_first=True, strides="BNSD")
    return v


def on_each_branch(q, k, v, wide):
    out = mindiesd.ext.attention_forward(q, k, v, scale=0.25, head_first=True, strides="BNSD")
    if wide:
        out = out * 2
    return out


def another_meaning(q, k, v):
    scores = None
    out = mindiesd.ext.attention_forward(q, k, v, scale=0.25, head_first=True, strides="BNSD")
    del scores
    return out


def within(q, k, v):
    return mindiesd.ext.attention_forward(q, k, v, scale=0.25, head_first=True, strides="BNSD")


def in_some_rounds(q, k, v, given=None):
    scores = given
    for number in range(2):
        if number == 1:
            scores = q @ k.transpose(-2, -1) * 0.25
            v = scores.softmax(dim=-1) @ v
    del scores
    return v
