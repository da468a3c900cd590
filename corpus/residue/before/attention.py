import torch
import torch.nn.functional as F


def at_once(q, k, v, b, n, d):
    q, k, v = q.view(b, -1, n, d), k.view(b, -1, n, d), v.view(b, -1, n, d)
    q, k, v = q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)
    x = F.scaled_dot_product_attention(q, k, v)
    return x.transpose(1, 2).flatten(2)


def in_branches(q, k, v, b, n, d, dense):
    q, k, v = q.view(b, -1, n, d), k.view(b, -1, n, d), v.view(b, -1, n, d)
    if dense:
        q = q.transpose(1, 2).contiguous()
    else:
        q = q.transpose(1, 2)
    k, v = k.transpose(1, 2), v.transpose(1, 2)
    x = F.scaled_dot_product_attention(q, k, v)
    return x.transpose(1, 2).flatten(2)


def in_one_branch(q, k, v, b, n, d, memory):
    q = q.view(b, -1, n, d).transpose(1, 2)
    if memory is None:
        k = k.view(b, -1, n, d)
        v = v.view(b, -1, n, d)
        k = k.transpose(1, 2)
        v = v.transpose(1, 2)
    else:
        k, v = memory[0].transpose(1, 2), memory[1].transpose(1, 2)
    x = F.scaled_dot_product_attention(q, k, v)
    return x.transpose(1, 2).flatten(2)


def nothing_left_of_one(q, k, v, b, n, d, scale):
    q, k, v = q.view(b, -1, n, d), k.view(b, -1, n, d), v.view(b, -1, n, d)
    if scale is None:
        q = q.transpose(1, 2)
    else:
        print("scaled")
        q = q.transpose(1, 2)
    x = F.scaled_dot_product_attention(q, k.transpose(1, 2), v.transpose(1, 2), scale=scale)
    return x.transpose(1, 2).flatten(2)


def with_autocast_off(self, x):
    with torch.autocast("cuda", enabled=False):
        h = x.float()
        variance = h.pow(2).mean(-1, keepdim=True)
    return self.weight * (h * torch.rsqrt(variance + self.eps)).to(x.dtype)
