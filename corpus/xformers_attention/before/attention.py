import torch
import xformers
import xformers.ops
from torch import Tensor
from xformers.ops import LowerTriangularMask, memory_efficient_attention


class CrossAttention(torch.nn.Module):
    def forward(self, q, k, v, heads):
        b, _, inner = q.shape
        d = inner // heads
        q, k, v = (t.unsqueeze(3) for t in (q, k, v))
        return xformers.ops.memory_efficient_attention(q, k, v, attn_bias=None, op=self.attention_op)


def four(q, k, v, heads):
    b, n, c = q.shape
    q = q.reshape(b, n, heads, c // heads)
    k = k.reshape(b, -1, heads, c // heads)
    v = v.reshape(b, -1, heads, c // heads)
    x = memory_efficient_attention(q, k, v, p=0.0)
    return x.reshape(b, n, c)


def biased(q, k, v, mask: torch.Tensor, heads):
    b, n, c = q.shape
    q, k, v = (q.view(b, n, heads, -1), k.view(b, n, heads, -1), v.view(b, n, heads, -1))
    return memory_efficient_attention(q, k, v, attn_bias=mask, scale=0.125)


def one_head(q, k, v):
    b, n, c = q.shape
    k = k.view(b, n, c)
    v = v.view(b, n, c)
    return memory_efficient_attention(q, k, v)


def causal(q, k, v, b, n, heads, d):
    q, k, v = q.view(b, n, heads, d), k.view(b, n, heads, d), v.view(b, n, heads, d)
    return memory_efficient_attention(q, k, v, attn_bias=LowerTriangularMask())


def widened(q, k, v, b, n, heads, d):
    q, k, v = q.view(b, n, heads, d), k.view(b, n, heads, d), v.view(b, n, heads, d)
    return memory_efficient_attention(q, k, v, output_dtype=torch.float32)


def declared(qkv, heads, bias: "Optional[Tensor]" = None):
    b, n, c = qkv.shape
    q, k, v = xformers.ops.unbind(qkv.reshape(b, n, 3, heads, -1), 2)
    return memory_efficient_attention(q, k, v, attn_bias=bias)


def undeclared(qkv, heads, bias=None):
    b, n, c = qkv.shape
    q, k, v = xformers.ops.unbind(qkv.reshape(b, n, 3, heads, -1), 2)
    return memory_efficient_attention(q, k, v, attn_bias=bias)


def several(qkv, heads, *bias: Tensor):
    b, n, c = qkv.shape
    q, k, v = xformers.ops.unbind(qkv.reshape(b, n, 3, heads, -1), 2)
    return memory_efficient_attention(q, k, v, attn_bias=bias)
