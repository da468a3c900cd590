import mindiesd.ext
import torch.nn as nn


class Attention(nn.Module):
    def __init__(self, heads: int):
        super().__init__()
        self.heads = heads
        self.norm_q = nn.LayerNorm(8)
        self.norm_k = nn.LayerNorm(8)
        self.norm_v = mindiesd.ext.RMSNorm(8)
        self.act = nn.SiLU()

    def _split(self, x):
        return x.view(x.shape[0], -1, self.heads, 8).transpose(1, 2)


class StoredByName(Attention):
    def forward(self, q, k, v):
        q = q.view(q.shape[0], -1, self.heads, 8).transpose(1, 2)
        k = k.view(k.shape[0], -1, self.heads, 8).transpose(1, 2)
        v = v.view(v.shape[0], -1, self.heads, 8).transpose(1, 2)
        k = mindiesd.fast_layernorm(self.norm_k, k)
        return mindiesd.attention_forward(q, k, v, head_first=True).transpose(1, 2)


class StoredByText(Attention):
    def forward(self, q, k, v):
        q = q.view(q.shape[0], -1, self.heads, 8).transpose(1, 2)
        k = k.view(k.shape[0], -1, self.heads, 8).transpose(1, 2)
        v = v.view(v.shape[0], -1, self.heads, 8).transpose(1, 2)
        q = mindiesd.fast_layernorm(self.norm_q, q)
        return mindiesd.attention_forward(q, k, v, head_first=True).transpose(1, 2)


class FoundByClass(Attention):
    def forward(self, q, k, v):
        q = q.view(q.shape[0], -1, self.heads, 8).transpose(1, 2)
        k = k.view(k.shape[0], -1, self.heads, 8).transpose(1, 2)
        v = v.view(v.shape[0], -1, self.heads, 8).transpose(1, 2)
        v = self.norm_v(v)
        return mindiesd.attention_forward(q, k, v, head_first=True).transpose(1, 2)


class Untouched(Attention):
    def forward(self, q, k, v):
        q = q.view(q.shape[0], -1, self.heads, 8)
        k = k.view(k.shape[0], -1, self.heads, 8)
        v = v.view(v.shape[0], -1, self.heads, 8)
        v = self.act(v)
        return mindiesd.attention_forward(q, k, v)


class OverriddenMethod(Attention):
    def forward(self, q, k, v):
        q, k, v = self._split(q), self._split(k), self._split(v)
        return mindiesd.ext.attention_forward(q, k, v, head_first=True).transpose(1, 2)
