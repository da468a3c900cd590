"""How many axes there are is told by who reads a tensor, or one made beside it."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Attention(nn.Module):
    def __init__(self, dim: int, heads: int):
        super().__init__()
        self.heads = heads
        self.scale = (dim // heads) ** -0.25
        self.to_q = nn.Linear(dim, dim)
        self.to_k = nn.Linear(dim, dim)
        self.to_v = nn.Linear(dim, dim)

    def one_of_three(self, x):
        """The query is taken apart; key and value are made of the same tensor."""
        q = self.to_q(x).unflatten(2, (self.heads, -1)).transpose(1, 2)
        k = self.to_k(x).unflatten(2, (self.heads, -1)).transpose(1, 2)
        v = self.to_v(x).unflatten(2, (self.heads, -1)).transpose(1, 2)
        b, h, n, d = q.shape
        out = F.scaled_dot_product_attention(q, k, v)
        return out.transpose(1, 2).reshape(b, n, h * d)

    def behind_a_branch(self, x, text=None):
        if text is not None:
            x = torch.cat([text, x], dim=1)
        q = self.to_q(x).unflatten(2, (self.heads, -1)).transpose(1, 2) * self.scale
        k = self.to_k(x).unflatten(2, (self.heads, -1)).transpose(1, 2) * self.scale
        v = self.to_v(x).unflatten(2, (self.heads, -1)).transpose(1, 2)
        if text is not None:
            b, m, c = text.shape
            q[:, :, :m] = q[:, :, :m] * 2
        out = F.scaled_dot_product_attention(q, k, v, scale=1.0)
        return out.transpose(1, 2).flatten(2)

    def of_parts(self, x):
        q, k = self.to_q(x).unflatten(2, (self.heads, -1)).transpose(1, 2).chunk(2, dim=2)
        v = self.to_v(x).unflatten(2, (self.heads, -1)).transpose(1, 2)
        b, h, n, d = k.shape
        out = F.scaled_dot_product_attention(q, k, v[:, :, :n])
        return out.transpose(1, 2).reshape(b, n, -1)

    def branches_by_rank(self, x):
        """Unpacked only where it has three axes."""
        if x.ndim == 3:
            b, n, c = x.shape
            x = x * n
        q = self.to_q(x).unflatten(2, (self.heads, -1)).transpose(1, 2)
        k = self.to_k(x).unflatten(2, (self.heads, -1)).transpose(1, 2)
        v = self.to_v(x).unflatten(2, (self.heads, -1)).transpose(1, 2)
        return F.scaled_dot_product_attention(q, k, v).transpose(1, 2)

    def two_ways(self, x, deep):
        """Its readers do not agree."""
        q, k, v = self.to_q(x), self.to_k(x), self.to_v(x)
        q = q.unflatten(2, (self.heads, -1)).transpose(1, 2)
        k = k.unflatten(2, (self.heads, -1)).transpose(1, 2)
        v = v.unflatten(2, (self.heads, -1)).transpose(1, 2)
        if deep:
            b, n, _, c = x.shape
        else:
            b, n, c = x.shape
        return F.scaled_dot_product_attention(q, k, v).transpose(1, 2) * n

    def of_another(self, x, y):
        """What is added broadcasts: its axes may be more than those of the other."""
        q = self.to_q(x + y).unflatten(2, (self.heads, -1)).transpose(1, 2)
        k = self.to_k(x).unflatten(2, (self.heads, -1)).transpose(1, 2)
        v = self.to_v(x).unflatten(2, (self.heads, -1)).transpose(1, 2)
        b, h, n, d = q.shape
        return F.scaled_dot_product_attention(q, k, v).transpose(1, 2)

    def sizes_by_call(self, x):
        q, k, v = (t.unflatten(2, (self.heads, -1)) for t in (self.to_q(x), self.to_k(x), self.to_v(x)))
        q, k, v = q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)
        b, _, n, _ = q.size()
        out = F.scaled_dot_product_attention(q, k, v)
        return out.transpose(1, 2).reshape(b, n, -1)

    def all_sizes_at_once(self, x):
        """The shape goes somewhere as a whole."""
        q = self.to_q(x).unflatten(2, (self.heads, -1)).transpose(1, 2)
        k = self.to_k(x).unflatten(2, (self.heads, -1)).transpose(1, 2)
        v = self.to_v(x).unflatten(2, (self.heads, -1)).transpose(1, 2)
        sizes = q.shape
        b, h, n, d = sizes
        out = F.scaled_dot_product_attention(q, k, v)
        return out.transpose(1, 2).reshape(b, n, h * d), tuple(sizes)

    def one_name_twice(self, x):
        """`size` is the last of two sizes."""
        q = self.to_q(x).unflatten(2, (self.heads, -1)).transpose(1, 2)
        k = self.to_k(x).unflatten(2, (self.heads, -1)).transpose(1, 2)
        v = self.to_v(x).unflatten(2, (self.heads, -1)).transpose(1, 2)
        b, size, size, d = q.shape
        out = F.scaled_dot_product_attention(q, k, v)
        return out.transpose(1, 2).reshape(b, size, -1)
