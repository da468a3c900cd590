import mindiesd
import torch.nn.functional as F
from torch import nn


class Attention(nn.Module):
    def __init__(self, heads, head_dim):
        super().__init__()
        self.heads = heads
        self.scale_q = nn.Parameter(nn.init.normal_(nn.Linear(head_dim, 1).weight.data[0].clone()))
        self.norm_k = nn.LayerNorm(head_dim)

    def forward(self, q, k, v):
        b, n, _ = q.shape
        q = q.view(b, n, self.heads, -1)
        k = k.view(b, n, self.heads, -1)
        v = v.view(b, n, self.heads, -1)
        q = F.layer_norm(q, (q.shape[-1],), self.scale_q) * 2.0
        x = mindiesd.attention_forward(q, k, v)
        return x.reshape(b, n, -1)

    def with_module(self, q, k, v):
        b, n, _ = q.shape
        q = q.view(b, n, self.heads, -1).transpose(1, 2)
        k = mindiesd.fast_layernorm(self.norm_k, k.view(b, n, self.heads, -1).transpose(1, 2))
        v = v.view(b, n, self.heads, -1).transpose(1, 2)
        x = mindiesd.attention_forward(q, k, v, head_first=True)
        return x.transpose(1, 2).reshape(b, n, -1)
