"""The recognised forms as functions, and operands of every class of strides. Entry: FORMS, OPERANDS, operands.

A form is the body of ``def f(x, y, cos, sin, w)``: x, y [B, N, S, D], tables cos, sin [S, D] or what broadcasts to x, w [D].
"""

import torch

SIZES = (2, 3, 5, 8)

HEAD = """import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from diffusers.models.normalization import RMSNorm

layer_norm = nn.LayerNorm(8, elementwise_affine=False)


def rotate_half(x):
    a, b = x.chunk(2, dim=-1)
    return torch.cat((-b, a), dim=-1)


def rotate_pairs(x):
    return torch.stack((-x[..., 1::2], x[..., ::2]), dim=-1).flatten(-2)


class Norms(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(8)
        self.bare = nn.LayerNorm(8, elementwise_affine=False)
        self.rms = nn.RMSNorm(8)
        self.wide = nn.RMSNorm(40)
        self.typed = RMSNorm(8, eps=1e-6)
"""

# Name: body. Those under "self" are methods of Norms.
FORMS = {
    "halves": """
        a, b = x.chunk(2, dim=-1)
        cos, sin = cos[..., :4], sin[..., :4]
        return torch.cat((a * cos - b * sin, b * cos + a * sin), dim=-1)""",
    "neighbours": """
        a, b = x[..., ::2], x[..., 1::2]
        cos, sin = cos[..., :4], sin[..., :4]
        return torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).flatten(-2)""",
    "neighbours in float32": """
        a, b = x.float().unflatten(-1, (-1, 2)).unbind(-1)
        cos, sin = cos[..., :4], sin[..., :4]
        return torch.stack((a * cos - b * sin, b * cos + a * sin), dim=-1).flatten(-2).to(x.dtype)""",
    "tables": "return x * cos + rotate_half(x) * sin",
    "tables in float32": "return (x.float() * cos + rotate_half(x).float() * sin).to(x.dtype)",
    "tables first": "return cos * x + sin * rotate_half(x)",
    "sine first": "return sin * rotate_pairs(x) + cos * x",
    "turned first": "return rotate_half(x) * sin + x * cos",
    "tables of pairs": "return x * cos + rotate_pairs(x) * sin",
    "accumulated": "return torch.addcmul(x * cos, rotate_half(x), sin)",
    "stored": """
        out = torch.empty_like(x)
        cos, sin = cos[..., :4], sin[..., :4]
        out[..., ::2] = x[..., ::2] * cos - x[..., 1::2] * sin
        out[..., 1::2] = x[..., ::2] * sin + x[..., 1::2] * cos
        return out""",
    "complex": """
        z = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
        f = torch.complex(cos.float(), sin.float())[..., :4]
        return torch.view_as_real(z * f).flatten(3).type_as(x)""",
    "complex, tables first": """
        z = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
        f = torch.complex(cos.float(), sin.float())[..., :4]
        return torch.view_as_real(f * z).flatten(3).type_as(x)""",
    "matrices": """
        m = torch.stack((cos, -sin, sin, cos), dim=-1)[..., :4, :].unflatten(-1, (2, 2)).float()
        p = x.float().reshape(*x.shape[:-1], -1, 1, 2)
        return (m[..., 0] * p[..., 0] + m[..., 1] * p[..., 1]).reshape(*x.shape).type_as(x)""",
    "matrices summed": """
        m = torch.stack((cos, -sin, sin, cos), dim=-1)[..., :4, :].unflatten(-1, (2, 2)).float()
        p = x.float().reshape(*x.shape[:-1], -1, 1, 2)
        return (m * p).sum(dim=-1).reshape(*x.shape).type_as(x)""",
    "root behind": "return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)",
    "root first": "return torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * x",
    "a quotient": "return x / torch.sqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)",
    "weight first": "return w * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))",
    "weight behind": "return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * w",
    "norm in float32": """
        h = x.to(torch.float32)
        h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + 1e-6)
        return w * h.to(x.dtype)""",
    "torch's norm": "return F.rms_norm(x, (8,), w, 1e-6)",
    "gate behind": "return x * F.silu(y)",
    "gate first": "return F.silu(y) * x",
    "gelu behind": "return x * F.gelu(y)",
    "gelu first": "return F.gelu(y) * x",
    "halves gated": """
        a, b = x.chunk(2, dim=-1)
        return a * F.gelu(b)""",
    "halves gated, gate first": """
        a, b = x.chunk(2, dim=-1)
        return F.silu(a) * b""",
    "quick gelu": "return x * torch.sigmoid(1.702 * x)",
    "quick gelu, sigmoid first": "return torch.sigmoid(1.702 * x) * x",
    "gelu": "return F.gelu(x)",
    "attention": "return F.scaled_dot_product_attention(x, y, y)",
    "attention by hand": "return (x @ y.transpose(-2, -1) * 0.3).softmax(dim=-1) @ y",
    "attention by hand, to places": """
        out = (x @ y.transpose(-2, -1) * 0.3).softmax(dim=-1) @ y
        return out.transpose(1, 2)""",
    "attention by hand, joined": """
        out = (x @ y.transpose(-2, -1) * 0.3).softmax(dim=-1) @ y
        return out.transpose(1, 2).reshape(x.shape[0], x.shape[2], -1)""",
    "attention of three axes": """
        q, k = x[0], y[0]
        return torch.bmm(torch.bmm(q, k.transpose(1, 2)).softmax(dim=-1), k)""",
    "attention by equation": """
        weights = torch.einsum("bqhd,bkhd->bhqk", x, y).softmax(dim=-1)
        return torch.einsum("bhqk,bkhd->bqhd", weights, y)""",
    "softmax of a difference": "return torch.softmax(x - x.amax(dim=-1, keepdim=True), dim=-1)",
    "softmax of a clamp": "return torch.softmax(torch.clamp(x, min=-5.0, max=5.0), dim=-1)",
    "self: modulated": "return self.bare(x) * (1 + y) + cos",
    "self: modulated, scale first": "return (1 + y) * self.bare(x) + cos",
    "self: modulated, shift first": "return y + self.bare(x) * (1 + cos)",
    "self: modulated, all turned": "return y + (1 + cos) * self.norm(x)",
    "self: modulated, a table's shift first": "return cos + (1 + y) * self.bare(x)",
    "self: scaled": "return self.norm(x) * (1 + y)",
    "self: scaled, scale first": "return (1 + y) * self.norm(x)",
    "self: norm": "return self.norm(x)",
    "self: rms norm, rotated": """
        q = self.rms(x)
        return q * cos + rotate_half(q) * sin""",
    "self: rms norm, rotated, tables first": """
        q = self.rms(x)
        return cos * q + rotate_half(q) * sin""",
    "self: rms norm, rotated by a condition": """
        q = x
        q = self.rms(q)
        if w is not None:
            q = q * cos + rotate_half(q) * sin
        return q""",
    "self: rms norm of all heads, rotated": """
        q = self.wide(x.flatten(2)).unflatten(2, (5, 8))
        return q * cos + rotate_half(q) * sin""",
    "self: typed norm, rotated": """
        q = self.typed(x)
        return q * cos + rotate_half(q) * sin""",
    "self: typed norm, rotated in float32": """
        q = self.typed(x)
        return (q.float() * cos + rotate_half(q).float() * sin).to(q.dtype)""",
}


def text(name, number):
    method = name.startswith("self: ")
    indent = "    " * (1 + method)
    body = FORMS[name].strip("\n")
    lines = [line[8:] if line.startswith("        ") else line for line in body.split("\n")]
    head = f"{'    ' * method}def f{number}({'self, ' * method}x, y, cos, sin, w):\n"
    return ("\n" if method else "\n\n") + head + "".join(f"{indent}{line}\n" for line in lines)


def module_text():
    """All forms, the methods in front; their numbers are their places in FORMS."""
    numbered = sorted(enumerate(FORMS), key=lambda form: not form[1].startswith("self: "))
    return HEAD + "".join(text(name, number) for number, name in numbered)


def _of(draw, *sizes):
    return torch.randn(*sizes, generator=draw)


# Of [2, 3, 5, 8]: how it lies.
OPERANDS = {
    "dense": lambda d: _of(d, 2, 3, 5, 8),
    "transposed": lambda d: _of(d, 2, 5, 3, 8).transpose(1, 2),
    "sequence first": lambda d: _of(d, 5, 2, 3, 8).permute(1, 2, 0, 3),
    "heads outermost": lambda d: _of(d, 3, 2, 5, 8).transpose(0, 1),
    "expanded": lambda d: _of(d, 2, 1, 5, 8).expand(2, 3, 5, 8),
    "expanded and transposed": lambda d: _of(d, 5, 1, 1, 8).permute(1, 2, 0, 3).expand(2, 3, 5, 8),
    "part of a wider row": lambda d: _of(d, 2, 5, 3, 24)[..., 8:16].transpose(1, 2),
    "every second place": lambda d: _of(d, 2, 3, 10, 8)[:, :, ::2],
    "channels apart": lambda d: _of(d, 2, 3, 8, 5).transpose(2, 3),
}

TABLES = {
    "places": lambda d: _of(d, 5, 8),
    "samples": lambda d: _of(d, 2, 1, 5, 8),
    "places first": lambda d: _of(d, 5, 2, 1, 8).permute(1, 2, 0, 3),
    "whole, transposed": lambda d: _of(d, 2, 5, 3, 8).transpose(1, 2),
}


def operands(x, y, table, dtype):
    """The five operands, x and y of a class of OPERANDS, the tables of one of TABLES."""
    draw = torch.Generator().manual_seed(7)
    made = OPERANDS[x](draw), OPERANDS[y](draw), TABLES[table](draw), TABLES[table](draw)
    kept = [t.to(dtype) if dtype != torch.float32 else t for t in made]
    return *kept, torch.linspace(0.5, 1.5, 8).to(dtype)


def strides(tensor):
    """Those that a view could tell: of a dimension of one there is none."""
    return [own for size, own in zip(tensor.shape, tensor.stride()) if size != 1]
