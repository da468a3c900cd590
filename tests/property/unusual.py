"""Recognised computations, and the operands and numbers that model code seldom gives them.

Entry points: SOURCE, a module of one function or class for each form; calls(), the arguments that each is called
with: odd widths, whole numbers, few dimensions, scales and eps that are no plain positive number.
"""

import math

import torch

SOURCE = '''
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


def rotate_half(x):
    x1, x2 = x.chunk(2, dim=-1)
    return torch.cat((-x2, x1), dim=-1)


def rotate_by_slices(x):
    x1 = x[..., : x.shape[-1] // 2]
    x2 = x[..., x.shape[-1] // 2 :]
    return torch.cat((-x2, x1), dim=-1)


def rotary_half(x, cos, sin):
    return x * cos + rotate_half(x) * sin


def rotary_slices(x, cos, sin):
    return x * cos + rotate_by_slices(x) * sin


def rotary_half_float(x, cos, sin):
    return (x.float() * cos + rotate_half(x.float()) * sin).to(x.dtype)


def rotary_even_odd(x, cos, sin):
    x1, x2 = x[..., ::2], x[..., 1::2]
    return torch.stack((x1 * cos - x2 * sin, x1 * sin + x2 * cos), dim=-1).flatten(-2)


def rotary_even_odd_back(x, cos, sin):
    x1, x2 = x[..., ::2], x[..., 1::2]
    return x * cos + torch.stack((-x2, x1), dim=-1).flatten(-2) * sin


def rotary_halves(x, cos, sin):
    x1, x2 = torch.chunk(x, 2, dim=-1)
    return torch.cat((x1 * cos - x2 * sin, x2 * cos + x1 * sin), dim=-1)


def rotary_stored(x, cos, sin):
    x1, x2 = x[..., ::2], x[..., 1::2]
    out = torch.empty_like(x)
    out[..., ::2] = x1 * cos - x2 * sin
    out[..., 1::2] = x1 * sin + x2 * cos
    return out


def rotary_stored_halves(x, cos, sin):
    x1, x2 = x[..., : x.shape[-1] // 2], x[..., x.shape[-1] // 2 :]
    out = torch.empty_like(x)
    out[..., : x.shape[-1] // 2] = x1 * cos - x2 * sin
    out[..., x.shape[-1] // 2 :] = x1 * sin + x2 * cos
    return out


def rotary_as_complex(x, cos, sin):
    pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(pairs * torch.complex(cos, sin)).flatten(-2).type_as(x)


def rotary_by_matrices(x, freqs):
    pairs = x.float().reshape(*x.shape[:-1], -1, 1, 2)
    out = freqs[..., 0] * pairs[..., 0] + freqs[..., 1] * pairs[..., 1]
    return out.reshape(*x.shape).type_as(x)


def attend(q, k, v, scale):
    return F.scaled_dot_product_attention(q, k, v, scale=scale)


def attend_masked(q, k, v, mask):
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)


def attend_causal(q, k, v, causal):
    return F.scaled_dot_product_attention(q, k, v, is_causal=causal)


def attend_heads(q, k, v, scale):
    q, k, v = q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)
    return F.scaled_dot_product_attention(q, k, v, scale=scale).transpose(1, 2)


def attend_true(q, k, v):
    return F.scaled_dot_product_attention(q, k, v, scale=True)


def attend_by_hand(q, k, v, scale: float):
    return F.softmax(q @ k.transpose(-2, -1) * scale, dim=-1) @ v


def attend_by_root(q, k, v):
    return torch.matmul(torch.softmax(torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(q.size(-1)), dim=-1), v)


def attend_by_power(q, k, v):
    return (q @ k.mT * q.shape[-1] ** -0.5).softmax(-1) @ v


def attend_plain(q, k, v):
    return (q @ k.mT).softmax(-1) @ v


def attend_by_true(q, k, v):
    return (q @ k.mT * True).softmax(-1) @ v


def attend_by_inf(q, k, v):
    return (q @ k.mT * float("inf")).softmax(-1) @ v


def attend_by_hand_masked(q, k, v, mask):
    return F.softmax(q @ k.transpose(-2, -1) * 0.5 + mask, dim=-1) @ v


def attend_by_hand_filled(q, k, v, hidden):
    scores = q @ k.transpose(-2, -1) * 0.5
    scores = scores.masked_fill(hidden, float("-inf"))
    return F.softmax(scores, dim=-1) @ v


def attend_by_equation(q, k, v, scale: float):
    weights = torch.softmax(torch.einsum("bqhd,bkhd->bhqk", q, k) * scale, dim=-1)
    return torch.einsum("bhqk,bkhd->bqhd", weights, v)


class Rms(nn.Module):
    def __init__(self, dim: int, eps: float):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.linspace(0.5, 1.5, dim))

    def forward(self, x):
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps))


class RmsFloat(nn.Module):
    def __init__(self, dim: int, eps: float):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.linspace(0.5, 1.5, dim))

    def forward(self, hidden_states):
        dtype = hidden_states.dtype
        hidden_states = hidden_states.to(torch.float32)
        variance = hidden_states.pow(2).mean(-1, keepdim=True)
        hidden_states = hidden_states * torch.rsqrt(variance + self.eps)
        return self.weight * hidden_states.to(dtype)


def rms(dim, eps, x):
    return Rms(dim, eps)(x)


def rms_float(dim, eps, x):
    return RmsFloat(dim, eps)(x)


def rms_bare(dim, eps: float, x):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps)


def rms_bare_float(dim, eps: float, x):
    h = x.float()
    return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + eps)).to(x.dtype)


def rms_of_torch(dim, eps, x):
    return F.rms_norm(x, (dim,), eps=eps)


def rms_weighted_of_torch(dim, eps, x):
    return F.rms_norm(x, (dim,), torch.linspace(0.5, 1.5, dim), eps)


def rms_module_of_torch(dim, eps, x):
    return nn.RMSNorm(dim, eps=eps)(x)


class Block(nn.Module):
    def __init__(self, dim, eps, affine):
        super().__init__()
        self.norm = nn.LayerNorm(dim, eps=eps, elementwise_affine=affine)

    def forward(self, x):
        return self.norm(x)


class Modulated(nn.Module):
    def __init__(self, dim, eps, affine):
        super().__init__()
        self.norm = nn.LayerNorm(dim, eps=eps, elementwise_affine=affine)

    def forward(self, x, scale, shift):
        return self.norm(x) * (1 + scale) + shift


class Layers(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.layers = nn.Sequential(nn.RMSNorm(dim), nn.GELU(), nn.SiLU())

    def forward(self, x):
        return self.layers(x)


def layer_norm(dim, eps, x):
    return Block(dim, eps, True)(x)


def layer_norm_bare(dim, eps, x):
    return Block(dim, eps, False)(x)


def layer_norm_function(dim, eps, x):
    return F.layer_norm(x, (dim,), eps=eps)


def modulated(dim, eps, x, scale, shift):
    return Modulated(dim, eps, False)(x, scale, shift)


def gelu(x):
    return F.gelu(x)


def gelu_tanh(x):
    return F.gelu(x, approximate="tanh")


def gelu_of(x, approximate):
    return F.gelu(x, approximate=approximate)


def silu(x):
    return F.silu(x)


def quick_gelu(x):
    return x * torch.sigmoid(1.702 * x)


def silu_by_hand(x):
    return x * torch.sigmoid(x)


def gelu_module(x):
    return nn.GELU()(x)


def silu_module(x):
    return nn.SiLU()(x)


def geglu(x):
    u, g = x.chunk(2, dim=-1)
    return u * F.gelu(g)


def swiglu(x):
    g, u = x.chunk(2, dim=-1)
    return F.silu(g) * u


def geglu_at(x, dim):
    u, g = x.chunk(2, dim=dim)
    return u * F.gelu(g)


def gated(x, g):
    return x * F.gelu(g)


def gated_silu(x, g):
    return F.silu(g) * x


def guarded_row(x, dim):
    return torch.softmax(x - x.amax(dim, keepdim=True), dim)


def guarded_row_last(x):
    return torch.softmax(x - x.amax(-1, keepdim=True), dim=-1)


def guarded_all(x):
    return (x - x.max()).softmax(dim=-1)


def clamped(x, low: float, high: float):
    return torch.softmax(torch.clamp(x, min=low, max=high), dim=-1)


def clamped_after(x, low: float, high: float):
    return torch.softmax((x - x.amax(-1, keepdim=True)).clamp(low, high), dim=-1)


def clamped_masked(x, hidden):
    return torch.softmax(torch.clamp(x, min=-5.0).masked_fill(hidden, float("-inf")), dim=-1)
'''


def _drawn(*shape, dtype=torch.float32):
    made = torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape) + len(shape))) * 2
    if dtype == torch.bool:
        return made > 0
    return made.to(dtype)


SCALES = [
    0.5, 2, 0, 0.0, -1.0, True, False, math.inf, -math.inf, math.nan, torch.tensor(0.5), torch.tensor(2),
    torch.tensor([0.5]), torch.tensor([[0.5]]), 1e-300, 1e300, None, "0.5", 0.5j, torch.tensor(True),
]  # fmt: skip
EPS = [
    1e-6, 0, 0.0, 1, True, -1e-3, -50.0, math.inf, -math.inf, math.nan, None, torch.tensor(1e-3),
    torch.tensor([1e-3]), 1e-300, "1e-6",
]  # fmt: skip
TYPES = [
    torch.float32, torch.float64, torch.float16, torch.int64, torch.int32, torch.uint8, torch.bool, torch.complex64,
]  # fmt: skip


def _hides_all(mask):
    return bool((torch.as_tensor(mask if mask is not None else 0.0) == -math.inf).all())


def _rotations():
    half = [(2, 3, 5, 8), (2, 3, 5, 7), (5, 3), (7,), (0, 8), (5, 0), (), (4, 2, 3, 5, 6)]
    forms = [
        "rotary_half", "rotary_slices", "rotary_half_float", "rotary_even_odd", "rotary_even_odd_back", "rotary_halves",
        "rotary_stored", "rotary_stored_halves", "rotary_as_complex",
    ]  # fmt: skip
    for form in forms:
        for shape in half:
            x, width = _drawn(*shape), shape[-1] if shape else 1
            for columns in sorted({width, width // 2, (width + 1) // 2, 1}):
                if width % 2 and columns != width:
                    continue  # refused: one column for an odd width is not worth a form of its own
                for lead in ((), (5,), (5, 1), (6, 1, 1)):
                    yield form, x, _drawn(*lead, columns), _drawn(*lead, columns).cos()
            if width % 2 == 0:
                yield form, x, _drawn(width), _drawn(width // 2)
                yield form, x, _drawn(width // 2), _drawn(width)
                yield form, x, torch.tensor(0.5), torch.tensor(0.25)
                yield form, x, 0.5, 0.25
        # Complex operands of a rotation that gives them back in their own type are refused, and what a float
        # stored into uint8 becomes is the processor's to say.
        own = form in ("rotary_half_float", "rotary_stored", "rotary_stored_halves")
        for dtype in [t for t in TYPES if not own or t not in (torch.complex64, torch.uint8)]:
            for other in TYPES:
                for columns in (8, 4):
                    tables = _drawn(5, columns, dtype=other), _drawn(5, columns, dtype=other)
                    yield form, _drawn(3, 5, 8, dtype=dtype), *tables
                    if dtype != other:
                        yield form, _drawn(3, 5, 8, dtype=torch.float32), tables[0], tables[1].to(dtype)
                yield form, _drawn(3, 5, 7, dtype=dtype), _drawn(5, 7, dtype=other), _drawn(5, 7, dtype=other)
    for shape in half:
        width = shape[-1] if shape else 1
        for lead in ((), (5,), (3, 5)):
            for pairs in {width // 2, (width + 1) // 2, 1}:
                yield "rotary_by_matrices", _drawn(*shape), _drawn(*lead, pairs, 2, 2)
    for dtype in TYPES:
        for other in TYPES:
            yield "rotary_by_matrices", _drawn(3, 5, 8, dtype=dtype), _drawn(5, 4, 2, 2, dtype=other)


def _attentions():
    scaled = ["attend", "attend_by_hand", "attend_by_equation", "attend_heads"]
    others = ["attend_true", "attend_by_root", "attend_by_power", "attend_plain", "attend_by_true", "attend_by_inf"]
    shapes = [
        ((2, 3, 5, 8), (2, 3, 5, 8), (2, 3, 5, 8)), ((5, 8), (6, 8), (6, 8)), ((8,), (6, 8), (6, 8)), ((8,),
        (8,), (8,)),
        ((3, 5, 8), (3, 6, 8), (3, 6, 8)), ((8,), (2, 6, 8), (2, 6, 8)), ((5, 8), (2, 6, 8), (2, 6, 8)),
        ((5, 8), (8,), (8,)), ((2, 5, 8), (6, 8), (2, 6, 8)), ((2, 3, 5, 0), (2, 3, 6, 0), (2, 3, 6, 8)),
        ((2, 3, 0, 8), (2, 3, 6, 8), (2, 3, 6, 8)), ((2, 3, 5, 8), (2, 3, 0, 8), (2, 3, 0, 8)),
        ((2, 3, 5, 7), (2, 3, 6, 7), (2, 3, 6, 9)), ((2, 3, 5, 8), (2, 1, 6, 8), (2, 1, 6, 8)),
        ((2, 4, 5, 8), (2, 2, 6, 8), (2, 2, 6, 8)), ((2, 3, 5, 8), (1, 3, 6, 8), (2, 3, 6, 8)),
        ((1, 1, 5, 8), (2, 3, 6, 8), (2, 3, 6, 8)),
        ((2, 3, 5, 8), (2, 3, 6, 7), (2, 3, 6, 8)), ((4, 2, 3, 5, 8), (4, 2, 3, 6, 8), (4, 2, 3, 6, 8)),
        ((5, 8), (6, 8), (6,)), ((8,), (6, 8), (6,)), ((), (6, 8), (6, 8)), ((2, 5, 3, 8), (2, 6, 3, 8), (2, 6, 1, 8)),
        ((2, 3, 1, 8), (2, 3, 1, 8), (2, 3, 1, 8)), ((2, 1, 5, 8), (2, 3, 6, 8), (2, 3, 6, 8)),
    ]  # fmt: skip
    for q, k, v in shapes:
        given = [_drawn(*shape) for shape in (q, k, v)]
        for form in scaled:
            if form != "attend_heads" or 0 not in k:  # torch reads heads that are not there
                yield form, *given, 0.5
        for form in others:
            if form != "attend_by_root" or q[-1:] != (0,):  # the factor is now 1 / math.sqrt(0)
                yield form, *given
        yield "attend_causal", *given, True
    plain = [_drawn(2, 3, 5, 8) for _ in range(3)]
    for scale in SCALES:
        for form in scaled:
            if "by" in form and isinstance(scale, torch.Tensor) and scale.dim() > 0:
                continue  # its annotation says float
            if form == "attend_heads" and isinstance(scale, float) and not abs(scale) < 1e38:
                continue  # torch's kernel on the CPU gives zeros, a formula NaN, and the call may be either
            yield form, *plain, scale
            yield form, *(t * 0 for t in plain[:2]), plain[2], scale
    for form in scaled[:3] + others:
        for types in ([t] * 3 for t in TYPES):
            given = [t.to(dtype) for t, dtype in zip(plain, types, strict=True)]
            yield (form, *given, 0.5) if form in scaled else (form, *given)
        for i in range(3):
            for dtype in (torch.float64, torch.float16, torch.int64):
                given = [t.to(dtype) if j == i else t for j, t in enumerate(plain)]
                yield (form, *given, 0.5) if form in scaled else (form, *given)
    masks = [
        _drawn(5, 5), _drawn(5), _drawn(2, 1, 1, 5), _drawn(2, 3, 5, 1), _drawn(5, 5, dtype=torch.float64),
        _drawn(5, 5, dtype=torch.float16), _drawn(5, 5, dtype=torch.int64), _drawn(5, 5, dtype=torch.bool),
        _drawn(4, 1, 1, 1, 5), _drawn(7, 5), torch.tensor(0.5), torch.tensor(1), 0.5, 1, True, None, math.inf,
        -math.inf,
        math.nan, torch.zeros(5, 5, dtype=torch.bool), torch.full((5, 5), -math.inf), torch.full((5, 5), math.inf),
        torch.full((5, 5), math.nan), _drawn(5, 5, dtype=torch.complex64), _drawn(3, 1, 5), torch.ones(0, 5),
    ]  # fmt: skip
    for mask in masks:
        for form in ("attend_masked", "attend_by_hand_masked", "attend_by_hand_filled"):
            boolean = isinstance(mask, torch.Tensor) and mask.dtype == torch.bool
            if form == "attend_by_hand_masked" and (boolean or _hides_all(mask)):
                continue  # the report says that the mask is taken to be floating; a row without keys gives zeros
            if form == "attend_by_hand_filled" and boolean and mask.all():
                continue
            yield form, *plain, mask
            yield form, *(t[0, 0] for t in plain), mask
            yield form, *(t[:1, :1] for t in plain), mask
    for causal in (True, False, 1, 0, None, torch.tensor(True), "yes"):
        yield "attend_causal", *plain, causal


def _norms():
    norms = [
        "rms", "rms_float", "rms_bare", "rms_bare_float", "rms_of_torch", "rms_weighted_of_torch",
        "rms_module_of_torch",
        "layer_norm", "layer_norm_bare", "layer_norm_function",
    ]  # fmt: skip
    for form in norms:
        for eps in EPS:
            yield form, 8, eps, _drawn(2, 5, 8)
            yield form, 8, eps, torch.zeros(2, 8)
        for dtype in [t for t in TYPES if t != torch.complex64]:
            yield form, 8, 1e-6, _drawn(2, 5, 8, dtype=dtype)
        for shape in [(8,), (7,), (1,), (0,), (), (2, 1), (0, 8), (2, 0), (2, 3, 4, 5, 8)]:
            if shape[-1:] != (1,):  # one column that a weight of eight would repeat
                yield form, 8, 1e-6, _drawn(*shape)
            yield form, shape[-1] if shape else 1, 1e-6, _drawn(*shape)
        yield form, 8, 1e-6, torch.full((2, 8), math.inf)
    x = _drawn(2, 5, 8)
    parts = [
        _drawn(2, 1, 8), _drawn(8), _drawn(5, 8), _drawn(2, 8), _drawn(3, 2, 5, 8), _drawn(1),
        _drawn(8, dtype=torch.int64),
        _drawn(8, dtype=torch.bool), _drawn(8, dtype=torch.float64), _drawn(8, dtype=torch.complex64), torch.tensor(2),
        torch.tensor(0.5), 2, 0.5, True, 0.5j, None, math.inf, _drawn(7),
    ]  # fmt: skip
    for part in parts:
        yield "modulated", 8, 1e-6, x, part, _drawn(8)
        yield "modulated", 8, 1e-6, x, _drawn(8), part
        yield "modulated", 8, 1e-6, x, part, part
    for eps in EPS:
        yield "modulated", 8, eps, x, _drawn(8), _drawn(8)
    for dtype in TYPES:
        yield "modulated", 8, 1e-6, x.to(dtype), _drawn(8), _drawn(8)


def _activations():
    forms = [
        "gelu", "gelu_tanh", "silu", "quick_gelu", "silu_by_hand", "gelu_module", "silu_module", "geglu", "swiglu",
    ]  # fmt: skip
    shapes = [(2, 5, 8), (2, 5, 7), (8,), (7,), (1,), (2, 1), (2, 3), (), (0,), (2, 0), (0, 8)]
    for form in forms:
        for shape in shapes:
            for dtype in TYPES:
                yield form, _drawn(*shape, dtype=dtype)
        for value in (0.5, 2, None, [1.0]):
            yield form, value
    for dim in (0, 1, 2, 3, -1, -4, True, None, 1.0, "0"):
        yield "geglu_at", _drawn(4, 3, 8), dim
    for approximate in ("none", "tanh", "fast", "erf", None, 0):
        yield "gelu_of", _drawn(4), approximate
    others = [
        _drawn(2, 5, 8), _drawn(8), _drawn(5, 1), _drawn(3, 2, 5, 8), _drawn(7), torch.tensor(0.5),
        torch.tensor(2), 2, 0.5,
        *(_drawn(2, 5, 8, dtype=dtype) for dtype in TYPES[1:]), _drawn(2, 1, 8), _drawn(1),
    ]  # fmt: skip
    for other in others:
        for form in ("gated", "gated_silu"):
            yield form, _drawn(2, 5, 8), other
            yield form, other, _drawn(2, 5, 8)


def _guards():
    inputs = [_drawn(*shape, dtype=dtype) for shape in [(2, 5), (5,), (), (0,), (2, 0), (0, 5)] for dtype in TYPES]
    inputs += [
        torch.full((2, 5), -math.inf), torch.full((2, 5), math.inf), torch.full((2, 5), math.nan),
        torch.tensor([[1.0, math.inf, 2.0]]), torch.tensor([[1.0, math.nan, 2.0]]), torch.tensor([[1.0,
        -math.inf, 2.0]]),
    ]  # fmt: skip
    bounds = [
        (-1.0, 1.0), (-1, 1), (1.0, -1.0), (None, 1.0), (-1.0, None), (None, None), (-math.inf, math.inf),
        (math.nan, 1.0),
        (-1.0, math.nan), (True, 2), (math.inf, math.inf), (torch.tensor(-1.0), torch.tensor(1.0)),
        (0.5, 3), ("a", 1.0),
    ]  # fmt: skip
    for x in inputs:
        for form in ("guarded_row_last", "guarded_all"):
            yield form, x
        yield "clamped_masked", x, x > 0 if not x.is_complex() else x != 0
        for low, high in bounds[:2]:
            yield "clamped", x, low, high
            yield "clamped_after", x, low, high
    for low, high in bounds:
        yield "clamped", _drawn(2, 5), low, high
        yield "clamped_after", _drawn(2, 5), low, high
    for dim in (0, 1, -1, 2, -3, True, None, 1.0, (0, 1), "0"):
        yield "guarded_row", _drawn(4, 5), dim
    for hidden in (_drawn(5, dtype=torch.bool), _drawn(2, 5, dtype=torch.uint8), True, torch.tensor(True)):
        yield "clamped_masked", _drawn(2, 5), hidden


def calls():
    """(name of a form, its arguments ...)"""
    yield from _rotations()
    yield from _attentions()
    yield from _norms()
    yield from _activations()
    yield from _guards()


def traces():
    """(name of a form, its constants, its tensors): what torch.fx traces, functions and classes."""
    x = _drawn(2, 3, 5, 8)
    tables = _drawn(5, 8), _drawn(5, 8).cos()
    halves = _drawn(5, 4), _drawn(5, 4).cos()
    return [
        *((form, (), (x, *tables)) for form in ("rotary_half", "rotary_slices", "rotary_half_float")),
        *((form, (), (x, *halves)) for form in ("rotary_even_odd", "rotary_halves")),
        *((form, (0.5,), (x, x, x)) for form in ("attend", "attend_heads", "attend_by_hand", "attend_by_equation")),
        *((form, (), (x, x, x)) for form in ("attend_by_root", "attend_by_power", "attend_plain")),
        *((form, (8, 1e-6), (x,)) for form in ("rms_bare", "rms_bare_float", "rms_of_torch", "layer_norm_function")),
        *((form, (), (x,)) for form in ("gelu", "gelu_tanh", "silu", "quick_gelu", "geglu", "swiglu",
        "guarded_row_last")),
        ("clamped", (-1.0, 1.0), (x,)), ("Rms", (8, 1e-6), (x,)), ("RmsFloat", (8, 1e-6), (x,)),
        ("Block", (8, 1e-5, True), (x,)), ("Modulated", (8, 1e-5, False), (x, *tables)), ("Layers", (8,), (x,)),
    ]  # fmt: skip
