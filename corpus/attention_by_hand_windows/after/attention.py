"""Attention within the windows of images. Shifted windows have a mask, the same in all images of a batch."""

import mindiesd.ext
import torch
from torch import nn


class WindowAttention(nn.Module):
    def __init__(self, dim, window, heads):
        super().__init__()
        self.window, self.heads = window, heads
        self.scale = (dim // heads) ** -0.5
        self.table = nn.Parameter(torch.randn((2 * window - 1) ** 2, heads))
        index = torch.arange(window**4) % (2 * window - 1) ** 2
        self.register_buffer("index", index.view(window**2, window**2))
        self.qkv = nn.Linear(dim, 3 * dim)
        self.attn_drop = nn.Dropout(0.1)
        self.softmax = nn.Softmax(dim=-1)

    def bias(self):
        bias = self.table[self.index.view(-1)].view(self.window**2, self.window**2, -1)
        return bias.permute(2, 0, 1).contiguous().unsqueeze(0)

    def forward(self, x, mask=None):
        B, N, C = x.shape
        qkv = self.qkv(x).reshape(B, N, 3, self.heads, C // self.heads).permute(2, 0, 1, 3, 4)
        q, k, v = qkv[0], qkv[1], qkv[2]

        return mindiesd.ext.attention_forward(
            q,
            k,
            v,
            attn_mask=self.bias(),
            cyclic_mask=mask,
            scale=self.scale,
        ).reshape(B, N, C)


class OneSoftmax(WindowAttention):
    def forward(self, x, mask=None):
        B, N, C = x.shape
        q, k, v = self.qkv(x).reshape(B, N, 3, self.heads, -1).permute(2, 0, 1, 3, 4).unbind(0)
        bias = self.bias()
        return mindiesd.ext.attention_forward(
            q,
            k,
            v,
            attn_mask=bias,
            cyclic_mask=mask,
            scale=self.scale,
        ).reshape(B, N, C)


class WithoutBias(WindowAttention):
    def forward(self, x, mask=None):
        B, N, C = x.shape
        q, k, v = self.qkv(x).reshape(B, N, 3, self.heads, -1).permute(2, 0, 1, 3, 4).unbind(0)
        return mindiesd.ext.attention_forward(q, k, v, cyclic_mask=mask, scale=self.scale).reshape(B, N, C)


class AlwaysMasked(WindowAttention):
    def forward(self, x, mask):
        B, N, C = x.shape
        q, k, v = self.qkv(x).reshape(B, N, 3, self.heads, -1).permute(2, 0, 1, 3, 4).unbind(0)
        bias = self.bias()
        return mindiesd.ext.attention_forward(
            q,
            k,
            v,
            attn_mask=bias,
            cyclic_mask=mask,
            scale=self.scale,
        ).reshape(B, N, C)


class ByEquation(WindowAttention):
    def forward(self, x, mask=None):
        B, N, C = x.shape
        q, k, v = self.qkv(x).reshape(B, N, 3, self.heads, -1).unbind(2)
        return mindiesd.ext.attention_forward(q, k, v, cyclic_mask=mask, scale=self.scale).reshape(B, N, C)


class OfImages(WindowAttention):
    """The images come first in the other order: each image has its mask in all of its windows."""

    def forward(self, x, mask):
        B, N, C = x.shape
        q, k, v = self.qkv(x).reshape(B, N, 3, self.heads, -1).permute(2, 0, 3, 1, 4).unbind(0)
        attn = (q @ k.transpose(-2, -1)) * self.scale
        count = mask.shape[0]
        attn = attn.view(count, B // count, self.heads, N, N) + mask.unsqueeze(1).unsqueeze(1)
        attn = self.softmax(attn.view(-1, self.heads, N, N))
        return (attn @ v).transpose(1, 2).reshape(B, N, C)


class Regrouped(WindowAttention):
    """The heads are not where they were."""

    def forward(self, x, mask):
        B, N, C = x.shape
        q, k, v = self.qkv(x).reshape(B, N, 3, self.heads, -1).permute(2, 0, 3, 1, 4).unbind(0)
        attn = (q @ k.transpose(-2, -1)) * self.scale
        attn = attn.view(-1, mask.shape[0], self.heads, N, N) + mask.unsqueeze(1).unsqueeze(0)
        attn = self.softmax(attn.view(-1, N, self.heads, N).transpose(1, 2))
        return (attn @ v).transpose(1, 2).reshape(B, N, C)


class Counted(WindowAttention):
    """Nothing shows that the mask is of so many windows."""

    def forward(self, x, mask, count):
        B, N, C = x.shape
        q, k, v = self.qkv(x).reshape(B, N, 3, self.heads, -1).permute(2, 0, 3, 1, 4).unbind(0)
        attn = (q @ k.transpose(-2, -1)) * self.scale
        attn = attn.view(-1, count, self.heads, N, N) + mask.unsqueeze(1).unsqueeze(0)
        attn = self.softmax(attn.view(-1, self.heads, N, N))
        return (attn @ v).transpose(1, 2).reshape(B, N, C)


class Boolean(WindowAttention):
    """A truth value is added as a number."""

    def forward(self, x, ids):
        B, N, C = x.shape
        q, k, v = self.qkv(x).reshape(B, N, 3, self.heads, -1).permute(2, 0, 3, 1, 4).unbind(0)
        attn = (q @ k.transpose(-2, -1)) * self.scale
        mask = ids[:, None] == ids[:, :, None]
        attn = attn.view(-1, mask.shape[0], self.heads, N, N) + mask.unsqueeze(1).unsqueeze(0)
        attn = self.softmax(attn.view(-1, self.heads, N, N))
        return (attn @ v).transpose(1, 2).reshape(B, N, C)
