import torch
import torch.nn.functional as F
from torch import nn


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.to_qkv = nn.Linear(width, 3 * width)

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = self.to_qkv(x).view(b, n, 3, self.heads, -1).unbind(2)
        q = q.movedim(1, 2)
        k = torch.moveaxis(k, 2, 1)
        v = v.movedim(-2, -3)
        x = F.scaled_dot_product_attention(q, k, v)
        return x.movedim(source=1, destination=2).reshape(b, n, c)


class Moved(nn.Module):
    """The heads go to the front: no transposition of two axes."""

    def forward(self, q, k, v):
        b, n, h, d = q.shape
        q, k, v = q.movedim(2, 0), k.movedim(2, 0), v.movedim(2, 0)
        return F.scaled_dot_product_attention(q, k, v).movedim(0, 2)
