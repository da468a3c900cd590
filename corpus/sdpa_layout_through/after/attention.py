import mindiesd
import torch
import torch.nn as nn
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
        query = self.to_q(x).view(batch, -1, self.heads, head_dim)
        key, value = self.to_kv(x).chunk(2, dim=-1)
        key = key.view(batch, -1, self.heads // self.groups, head_dim)
        value = value.view(batch, -1, self.heads // self.groups, head_dim)
        if self.groups > 1:
            key = key.repeat_interleave(self.groups, dim=2)
            value = value.repeat_interleave(self.groups, dim=-2)
        if text is not None:
            q2, k2, v2 = self.text(text).chunk(3, dim=-1)
            q2 = q2.view(batch, -1, self.heads, head_dim)
            k2 = k2.view(batch, -1, self.heads, head_dim)
            v2 = v2.view(batch, -1, self.heads, head_dim)
            query = torch.cat([query, q2], dim=1)
            key = torch.cat([key, k2], dim=-3)
            value = torch.cat((value, v2), 1)
        out = mindiesd.attention_forward(query, key, value)
        out = out.reshape(batch, -1, dim)
        return out.to(query.dtype)


def last_tokens_scaled(q, k, v, heads, n):
    """A store into a slice of the sequence, and sizes that are read behind the transpose."""
    b, _, c = q.shape
    q = q.clone().view(b, -1, heads, c // heads)
    k = k.view(b, -1, heads, c // heads)
    v = v.view(b, -1, heads, c // heads)
    q[:, n:] = q[:, n:] * 2.0
    length = k.shape[1] + k.size(-3)
    out = mindiesd.attention_forward(q, k, v, scale=1.0 / length)
    return out.flatten(2)


def recent_keys(q, k, v, heads, window):
    """Slices of the sequence behind the transpose."""
    b, _, c = q.shape
    q = q.view(b, -1, heads, c // heads)
    k = k.view(b, -1, heads, c // heads)[:, -window:]
    v = v.view(b, -1, heads, c // heads)[:, -window:]
    return mindiesd.attention_forward(q, k, v).flatten(2)


def packed(qkv, heads):
    """One projection for all three, taken apart by a permutation."""
    b, n, c = qkv.shape
    qkv = qkv.reshape(b, n, 3, heads, c // 3 // heads).permute(2, 0, 1, 3, 4)
    q, k, v = qkv.unbind(0)
    out = mindiesd.attention_forward(q, k, v)
    return out.reshape(b, n, c // 3)


def packed_by_index(qkv, heads):
    b, n, c = qkv.shape
    qkv = qkv.reshape(b, n, 3, heads, c // 3 // heads).permute(2, 0, 1, 3, 4)
    q, k, v = qkv[0], qkv[1], qkv[2]
    out = mindiesd.attention_forward(q, k, v)
    return out.reshape(b, n, c // 3)


def by_einops(q, k, v, heads):
    """Patterns say how many axes there are and which one is which."""
    q = rearrange(q, "b n (h d) -> b n h d", h=heads)
    k, v = (rearrange(k, "b n (h d) -> b n h d", h=heads), rearrange(v, "b n (h d) -> b n h d", h=heads))
    out = mindiesd.attention_forward(q, k, v)
    return rearrange(out, "b n h d -> b n (h d)")


def swapped_by_einops(q, k, v):
    out = mindiesd.attention_forward(q, k, v)
    return out


def copy_that_is_stored_to(q, k, v, heads):
    """The copy keeps the store away from the caller's tensor, so it stays."""
    b, _, c = q.shape
    q = q.view(b, -1, heads, c // heads).transpose(1, 2).contiguous()
    k = k.view(b, -1, heads, c // heads).transpose(1, 2)
    v = v.view(b, -1, heads, c // heads).transpose(1, 2)
    q[:, :, 0] = 0.0
    return mindiesd.attention_forward(q, k, v, head_first=True).transpose(1, 2).flatten(2)
