import mindiesd.ext
import torch


def also_read(q, k, v):
    b, n, h, d = q.shape
    q = q.view(b, n, h, d).transpose(1, 2)
    k = k.view(b, n, h, d).transpose(1, 2)
    v = v.view(b, n, h, d).transpose(1, 2)
    scores = q @ k.transpose(-2, -1)
    x = mindiesd.attention_forward(q, k, v, head_first=True)
    return x.transpose(1, 2).flatten(2), scores


def one_is_not_transposed(q, k, v):
    b, n, h, d = q.shape
    q = q.view(b, n, h, d).transpose(1, 2)
    k = k.view(b, h, n, d)
    v = v.view(b, h, n, d)
    x = mindiesd.attention_forward(q, k, v, head_first=True)
    return x.transpose(1, 2).flatten(2)


def result_is_kept(q, k, v, store):
    b, n, h, d = q.shape
    q = q.view(b, n, h, d).transpose(1, 2)
    k = k.view(b, n, h, d).transpose(1, 2)
    v = v.view(b, n, h, d).transpose(1, 2)
    x = mindiesd.attention_forward(q, k, v, head_first=True)
    store.append(x)
    return x.transpose(1, 2).flatten(2)


def other_axes(q, k, v):
    b, n, h, d = q.shape
    q = q.view(b, n, h, d).transpose(1, 3)
    k = k.view(b, n, h, d).transpose(1, 3)
    v = v.view(b, n, h, d).transpose(1, 3)
    x = mindiesd.attention_forward(q, k, v, head_first=True)
    return x.transpose(1, 3).flatten(2)


def one_branch_only(q, k, v, flip):
    b, n, h, d = q.shape
    q = q.view(b, n, h, d).transpose(1, 2)
    k = k.view(b, n, h, d).transpose(1, 2)
    v = v.view(b, n, h, d)
    if flip:
        v = v.transpose(1, 2)
    else:
        v = v.reshape(b, h, n, d)
    x = mindiesd.attention_forward(q, k, v, head_first=True)
    return x.transpose(1, 2).flatten(2)


def joined_in_sequence(q, k, v, q2, k2, v2):
    """Two streams, joined along the sequence while the heads are in front."""
    b, n, h, d = q.shape
    q = torch.cat([q.view(b, n, h, d), q2.view(b, -1, h, d)], dim=1)
    k = torch.cat([k.view(b, n, h, d), k2.view(b, -1, h, d)], dim=1)
    v = torch.cat([v.view(b, n, h, d), v2.view(b, -1, h, d)], dim=1)
    x = mindiesd.attention_forward(q, k, v)
    return x.flatten(2)


def in_a_loop(q, k, v, steps):
    b, n, h, d = q.shape
    k = k.view(b, n, h, d).transpose(1, 2)
    v = v.view(b, n, h, d).transpose(1, 2)
    q = q.view(b, n, h, d).transpose(1, 2)
    for _ in range(steps):
        q = mindiesd.ext.attention_forward(q, k, v, head_first=True)
    return q.transpose(1, 2).flatten(2)
