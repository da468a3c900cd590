import torch.nn.functional as F
from torch import nn


class Attention(nn.Module):
    def __init__(self, heads: int, head_dim: int, qk_norm: str = "rms"):
        super().__init__()
        self.heads = heads
        if qk_norm == "rms":
            self.norm_q = nn.RMSNorm(head_dim, eps=1e-5)
            self.norm_k = nn.RMSNorm(head_dim, eps=1e-5)
        elif qk_norm == "layer":
            self.norm_q = nn.LayerNorm(head_dim)
            self.norm_k = nn.LayerNorm(head_dim)
        else:
            self.norm_q = None
            self.norm_k = None
        self.norm_v = nn.LayerNorm((heads, 1))


class Processor:
    def __call__(self, attn: Attention, q, k, v):
        b, n, _ = q.shape
        q = q.view(b, n, attn.heads, -1).transpose(1, 2)
        k = k.view(b, n, attn.heads, -1).transpose(1, 2)
        v = v.view(b, n, attn.heads, -1).transpose(1, 2)
        if attn.norm_q is not None:
            q = attn.norm_q(q)
        if attn.norm_k is not None:
            k = attn.norm_k(k)
        x = F.scaled_dot_product_attention(q, k, v)
        return x.transpose(1, 2).reshape(b, n, -1)


class AcrossHeads:
    """This norm has two axes, so the value keeps its layout."""

    def __call__(self, attn: Attention, q, k, v):
        b, n, _ = q.shape
        q = q.view(b, n, attn.heads, -1).transpose(1, 2)
        k = k.view(b, n, attn.heads, -1).transpose(1, 2)
        v = v.view(b, n, attn.heads, -1).transpose(1, 2)
        v = attn.norm_v(v.mean(3, keepdim=True).transpose(1, 2)).transpose(1, 2) * v
        x = F.scaled_dot_product_attention(q, k, v)
        return x.transpose(1, 2).reshape(b, n, -1)
