import torch.nn as nn
import torch.nn.functional as F


class Attention(nn.Module):
    def __init__(self, heads: int):
        super().__init__()
        self.heads = heads
        self.norm_q = nn.LayerNorm(8)
        self.norm_k = nn.LayerNorm(8)
        self.norm_v = nn.RMSNorm(8)
        self.act = nn.SiLU()

    def _split(self, x):
        return x.view(x.shape[0], -1, self.heads, 8).transpose(1, 2)


class StoredByName(Attention):
    def forward(self, q, k, v):
        q = q.view(q.shape[0], -1, self.heads, 8).transpose(1, 2)
        k = k.view(k.shape[0], -1, self.heads, 8).transpose(1, 2)
        v = v.view(v.shape[0], -1, self.heads, 8).transpose(1, 2)
        k = self.norm_k(k)
        return F.scaled_dot_product_attention(q, k, v).transpose(1, 2)


class StoredByText(Attention):
    def forward(self, q, k, v):
        q = q.view(q.shape[0], -1, self.heads, 8).transpose(1, 2)
        k = k.view(k.shape[0], -1, self.heads, 8).transpose(1, 2)
        v = v.view(v.shape[0], -1, self.heads, 8).transpose(1, 2)
        q = self.norm_q(q)
        return F.scaled_dot_product_attention(q, k, v).transpose(1, 2)


class FoundByClass(Attention):
    def forward(self, q, k, v):
        q = q.view(q.shape[0], -1, self.heads, 8).transpose(1, 2)
        k = k.view(k.shape[0], -1, self.heads, 8).transpose(1, 2)
        v = v.view(v.shape[0], -1, self.heads, 8).transpose(1, 2)
        v = self.norm_v(v)
        return F.scaled_dot_product_attention(q, k, v).transpose(1, 2)


class Untouched(Attention):
    def forward(self, q, k, v):
        q = q.view(q.shape[0], -1, self.heads, 8).transpose(1, 2)
        k = k.view(k.shape[0], -1, self.heads, 8).transpose(1, 2)
        v = v.view(v.shape[0], -1, self.heads, 8).transpose(1, 2)
        v = self.act(v)
        return F.scaled_dot_product_attention(q, k, v).transpose(1, 2)


class OverriddenMethod(Attention):
    def forward(self, q, k, v):
        q, k, v = self._split(q), self._split(k), self._split(v)
        return F.scaled_dot_product_attention(q, k, v).transpose(1, 2)
