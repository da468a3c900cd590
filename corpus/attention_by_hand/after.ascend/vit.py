import mindiesd
import torch
import torch.nn as nn


class Attention(nn.Module):
    def __init__(self, dim, num_heads=4, qk_scale=None, attn_drop=0.0, proj_drop=0.0):
        super().__init__()
        self.num_heads = num_heads
        head_dim = dim // num_heads
        self.scale = qk_scale or head_dim**-0.5
        self.qkv = nn.Linear(dim, dim * 3)
        self.attn_drop = nn.Dropout(attn_drop)
        self.proj = nn.Linear(dim, dim)
        self.proj_drop = nn.Dropout(proj_drop) if proj_drop > 0 else nn.Identity()

    def forward(self, x):
        B, N, C = x.shape
        qkv = self.qkv(x).reshape(B, N, 3, self.num_heads, C // self.num_heads).permute(2, 0, 1, 3, 4)
        q, k, v = qkv[0], qkv[1], qkv[2]

        # [B, heads, N, N]

        x = mindiesd.attention_forward(q, k, v, scale=float(self.scale)).reshape(B, N, C)
        x = self.proj(x)
        x = self.proj_drop(x)
        return x


class Pooled(nn.Module):
    """Tokens attend to their own mean; one head."""

    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)

    def forward(self, x):
        mean = x.mean(dim=1, keepdim=True)
        x = self.norm(x)
        weight = torch.bmm(x, mean.transpose(1, 2)).softmax(dim=-1)
        return torch.bmm(weight, mean)
