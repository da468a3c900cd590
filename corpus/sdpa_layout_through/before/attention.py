import torch
import torch.nn as nn
import torch.nn.functional as F
from einops import rearrange


class JointAttention(nn.Module):
    """Two streams that attend as one sequence, heads in front."""

    def __init__(self, dim, heads, groups=1):
        super().__init__()
        self.heads = heads
        self.groups = groups
        self.to_q = nn.Linear(dim, dim)
        self.to_kv = nn.Linear(dim, 2 * dim // groups)
        self.text = nn.Linear(dim, 3 * dim)

    def forward(self, x, text=None):
        batch, _, dim = x.shape
        head_dim = dim // self.heads
        query = self.to_q(x).view(batch, -1, self.heads, head_dim).transpose(1, 2)
        key, value = self.to_kv(x).chunk(2, dim=-1)
        key = key.view(batch, -1, self.heads // self.groups, head_dim).transpose(1, 2)
        value = value.view(batch, -1, self.heads // self.groups, head_dim).transpose(1, 2)
        if self.groups > 1:
            key = key.repeat_interleave(self.groups, dim=1)
            value = value.repeat_interleave(self.groups, dim=-3)
        if text is not None:
            q2, k2, v2 = self.text(text).chunk(3, dim=-1)
            q2 = q2.view(batch, -1, self.heads, head_dim).transpose(1, 2)
            k2 = k2.view(batch, -1, self.heads, head_dim).transpose(1, 2)
            v2 = v2.view(batch, -1, self.heads, head_dim).transpose(1, 2)
            query = torch.cat([query, q2], dim=2)
            key = torch.cat([key, k2], dim=-2)
            value = torch.cat((value, v2), 2)
        out = F.scaled_dot_product_attention(query, key, value)
        out = out.transpose(1, 2).reshape(batch, -1, dim)
        return out.to(query.dtype)


def last_tokens_scaled(q, k, v, heads, n):
    """A store into a slice of the sequence, and sizes that are read behind the transpose."""
    b, _, c = q.shape
    q = q.clone().view(b, -1, heads, c // heads).transpose(1, 2)
    k = k.view(b, -1, heads, c // heads).transpose(1, 2)
    v = v.view(b, -1, heads, c // heads).transpose(1, 2)
    q[:, :, n:] = q[:, :, n:] * 2.0
    length = k.shape[2] + k.size(-2)
    out = F.scaled_dot_product_attention(q, k, v, scale=1.0 / length)
    return out.transpose(1, 2).flatten(2)


def recent_keys(q, k, v, heads, window):
    """Slices of the sequence behind the transpose."""
    b, _, c = q.shape
    q = q.view(b, -1, heads, c // heads).transpose(1, 2)
    k = k.view(b, -1, heads, c // heads).transpose(1, 2)[:, :, -window:]
    v = v.view(b, -1, heads, c // heads).transpose(1, 2)[:, :, -window:, :]
    return F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)


def packed(qkv, heads):
    """One projection for all three, taken apart by a permutation."""
    b, n, c = qkv.shape
    qkv = qkv.reshape(b, n, 3, heads, c // 3 // heads).permute(2, 0, 3, 1, 4)
    q, k, v = qkv.unbind(0)
    out = F.scaled_dot_product_attention(q, k, v)
    return out.transpose(1, 2).reshape(b, n, c // 3)


def packed_by_index(qkv, heads):
    b, n, c = qkv.shape
    qkv = qkv.reshape(b, n, 3, heads, c // 3 // heads).permute(2, 0, 3, 1, 4)
    q, k, v = qkv[0], qkv[1], qkv[2]
    out = F.scaled_dot_product_attention(q, k, v)
    return out.transpose(1, 2).reshape(b, n, c // 3)


def by_einops(q, k, v, heads):
    """Patterns say how many axes there are and which one is which."""
    q = rearrange(q, "b n (h d) -> b h n d", h=heads)
    k, v = (rearrange(k, "b n (h d) -> b h n d", h=heads), rearrange(v, "b n (h d) -> b h n d", h=heads))
    out = F.scaled_dot_product_attention(q, k, v)
    return rearrange(out, "b h n d -> b n (h d)")


def swapped_by_einops(q, k, v):
    q = rearrange(q, "b n h d -> b h n d")
    k = rearrange(k, "b n h d -> b h n d").contiguous()
    v = rearrange(v, "b n h d -> b h n d").contiguous()
    out = F.scaled_dot_product_attention(q, k, v)
    return rearrange(out, "b h n d -> b n h d")


def copy_that_is_stored_to(q, k, v, heads):
    """The copy keeps the store away from the caller's tensor, so it stays."""
    b, _, c = q.shape
    q = q.view(b, -1, heads, c // heads).transpose(1, 2).contiguous()
    k = k.view(b, -1, heads, c // heads).transpose(1, 2)
    v = v.view(b, -1, heads, c // heads).transpose(1, 2)
    q[:, :, 0] = 0.0
    return F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)
