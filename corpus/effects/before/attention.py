"""Calls between the parts of a computation that may change what it reads."""

import torch
import torch.nn.functional as F


def called_between(self, x, hook):
    h = x.float()
    variance = h.pow(2).mean(-1, keepdim=True)
    hook(h)
    return self.weight * (h * torch.rsqrt(variance + self.eps)).to(x.dtype)


def dropped_argument(q, k, v, random):
    return F.scaled_dot_product_attention(q, k, v, dropout_p=random.next())
