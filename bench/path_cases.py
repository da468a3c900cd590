"""What bench/paths_bench.py measures: calls that the shipped rules write, each beside the lines of torch code that it
replaces, over strides, forms of tables and sizes. Entry point: cases."""

import torch
import torch.nn.functional as F

from mindiesd import ext

HEADS, HEAD, WIDTH = 12, 64, 768


class Operands:
    """Random tensors of one type on one device, for a number of tokens."""

    def __init__(self, tokens, dtype, device):
        self.tokens, self.dtype, self.device = tokens, dtype, device

    def make(self, *sizes, dtype=None):
        return torch.randn(sizes, device=self.device).to(dtype or self.dtype)

    def module(self, made):
        return made.to(self.device, self.dtype).requires_grad_(requires_grad=False)

    def rows(self):
        return {
            "dense": self.make(1, self.tokens, WIDTH),
            "packed": self.make(1, self.tokens, 2 * WIDTH)[..., WIDTH:],
            "behind a convolution": self.make(1, WIDTH, self.tokens).transpose(1, 2),
        }

    def heads(self):
        return {
            "dense": self.make(1, self.tokens, HEADS, HEAD),
            "packed": self.make(1, self.tokens, 3, HEADS, HEAD)[:, :, 0],
            "heads first": self.make(1, HEADS, self.tokens, HEAD).transpose(1, 2),
        }


def _rotate(x, interleaved):
    if interleaved:
        first, second = x.unflatten(-1, (-1, 2)).unbind(-1)
        return torch.stack((-second, first), -1).flatten(-2)
    first, second = x.chunk(2, -1)
    return torch.cat((-second, first), -1)


def _rope(x, cos, sin, interleaved=False):
    return (x.float() * cos + _rotate(x, interleaved).float() * sin).to(x.dtype)


def _rms(x, weight, eps=1e-6):
    wide = x.float()
    return (wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + eps)).to(x.dtype) * weight


def rotations(of):
    """As diffusers has them: float32 tables, by halves and by neighbours; Wan's, of stride 2; complex ones."""
    cos, sin = (of.make(of.tokens, 1, HEAD, dtype=torch.float32) for _ in range(2))
    pairs = cos[..., ::2], sin[..., 1::2]
    phases = torch.polar(torch.ones_like(pairs[0]), pairs[0])
    for like, x in of.heads().items():
        yield (
            f"rotation by halves, {like}", lambda x=x: ext.rotary_position_embedding(x, cos, sin),
            lambda x=x: _rope(x, cos, sin),
        )  # fmt: skip
        yield (
            f"rotation of neighbours, tables of stride 2, {like}",
            lambda x=x: ext.rotary_position_embedding(x, *pairs, "rotated_interleaved"),
            lambda x=x: _rope(x, *(t.repeat_interleave(2, -1) for t in pairs), True),
        )
        wide = tuple(t.double() for t in (cos, sin))
        yield (
            f"rotation by halves, float64 tables, {like}",
            lambda x=x, t=wide: ext.rotary_position_embedding(x, *t),
            lambda x=x, t=wide: (x * t[0] + _rotate(x, False) * t[1]).to(x.dtype),
        )
        yield (
            f"rotation by complex numbers, {like}", lambda x=x: ext.rotary_complex(x, phases),
            lambda x=x: torch.view_as_real(
                torch.view_as_complex(x.float().unflatten(-1, (-1, 2)).contiguous()) * phases
            ).flatten(-2).to(x.dtype),
        )  # fmt: skip
        weight = of.make(HEAD)
        yield (
            f"norm and rotation of query and key, {like}",
            lambda x=x: ext.qk_norm_rotary(x, x, weight, weight, cos, sin),
            lambda x=x: [_rope(_rms(t, weight), cos, sin) for t in (x, x)],
        )


def streams(of):
    """Query, key and value of text and image, as Flux and SD3 join them."""
    root = of.module(torch.nn.RMSNorm(HEAD, eps=1e-6))
    cos, sin = (of.make(2 * of.tokens, 1, HEAD, dtype=torch.float32) for _ in range(2))
    for like, x in of.heads().items():
        yield (
            f"joint heads, {like}",
            lambda x=x: ext.joint_heads(
                *[x] * 6, root, root, root, root, cos, sin, joint_tables=True, rotated_mode="rotated_interleaved"
            ),
            lambda x=x: (
                *(_rope(torch.cat((root(x), root(x)), 1), cos, sin, True) for _ in range(2)), torch.cat((x, x), 1)
            ),
        )  # fmt: skip


def norms(of):
    layer = of.module(torch.nn.LayerNorm(WIDTH, elementwise_affine=False))
    affine, root = of.module(torch.nn.LayerNorm(WIDTH)), of.module(torch.nn.RMSNorm(WIDTH, eps=1e-6))
    gate, scale, shift = (of.make(1, 1, WIDTH) for _ in range(3))
    weight = of.make(WIDTH)
    for like, x in of.rows().items():
        yield f"RMSNorm, {like}", lambda x=x: ext.rms_norm(x, weight), lambda x=x: _rms(x, weight)
        yield (
            f"LayerNorm, {like}", lambda x=x: ext.layer_norm(x, WIDTH, affine.weight, affine.bias),
            lambda x=x: affine(x),
        )  # fmt: skip
        yield (
            f"modulated LayerNorm, {like}", lambda x=x: ext.norm_scale_shift(layer, x, scale, shift),
            lambda x=x: layer(x) * (1 + scale) + shift,
        )  # fmt: skip
        yield (
            f"modulated RMSNorm, {like}", lambda x=x: ext.norm_scale_shift(root, x, scale),
            lambda x=x: root(x) * (1 + scale),
        )  # fmt: skip
        yield (
            f"residual and norm, {like}", lambda x=x: ext.residual_norm(layer, x, x, gate, scale, shift),
            lambda x=x: (t := x + gate * x, layer(t) * (1 + scale) + shift),
        )  # fmt: skip
        yield (
            f"residual, {like}", lambda x=x: ext.residual(x, x, gate, gate_function="tanh"),
            lambda x=x: x + gate.tanh() * x,
        )  # fmt: skip


def activations(of):
    linear, tanh = of.module(torch.nn.Linear(WIDTH, 4 * WIDTH)), torch.nn.GELU("tanh")
    for like, x in of.rows().items():
        for name, ours, theirs in (
            ("gelu", ext.gelu, F.gelu), ("silu", ext.silu, F.silu),
            ("tanh gelu", lambda t: ext.gelu(t, "tanh"), lambda t: F.gelu(t, approximate="tanh")),
            ("quick gelu", lambda t: ext.gelu(t, "fast"), lambda t: t * torch.sigmoid(1.702 * t)),
        ):  # fmt: skip
            yield f"{name}, {like}", lambda x=x, f=ours: f(x), lambda x=x, f=theirs: f(x)
        yield (
            f"GEGLU, {like}", lambda x=x: ext.glu(x, "gelu"),
            lambda x=x: (h := x.chunk(2, -1), h[0] * F.gelu(h[1]))[1],
        )  # fmt: skip
        yield (
            f"linear with tanh gelu, {like}", lambda x=x: ext.linear_activation(linear, x, tanh),
            lambda x=x: tanh(linear(x)),
        )  # fmt: skip
        yield (
            f"linear with tanh gelu behind attention, {like}",
            lambda x=x: ext.linear_activation(linear, x, tanh, after=x),
            lambda x=x: torch.cat((x, tanh(linear(x))), -1),
        )
        yield (
            f"linear with gated silu, {like}", lambda x=x: ext.linear_activation(linear, x, "silu", gate="first"),
            lambda x=x: (h := linear(x).chunk(2, -1), F.silu(h[0]) * h[1])[1],
        )  # fmt: skip


def images(of):
    """Of planes of as many positions as there are tokens, and of tokens on their way into attention."""
    norm = of.module(torch.nn.GroupNorm(32, 320, eps=1e-6))
    side = max(int(of.tokens**0.5), 1)
    dense = of.make(1, 320, side, side)
    for like, x in (("dense", dense), ("channels last", dense.to(memory_format=torch.channels_last))):
        yield f"GroupNorm, {like}", lambda x=x: ext.group_norm(norm, x), lambda x=x: norm(x)
        yield (
            f"GroupNorm with SiLU, {like}", lambda x=x: ext.group_norm(norm, x, "silu"),
            lambda x=x: F.silu(norm(x)),
        )  # fmt: skip


def grids(of):
    """Wan's rope_apply, of one sample with a tail."""
    pairs = HEAD // 2
    third = pairs // 3
    columns = max(int(of.tokens**0.5), 1)
    rows = of.tokens // columns
    freqs = torch.polar(*(of.make(1024, pairs, dtype=torch.float64) for _ in range(2))).to(of.device)
    parts = freqs.split((pairs - 2 * third, third, third), 1)
    sizes, cells = torch.tensor([[1, rows, columns]]), rows * columns

    def lines(x):
        turned = torch.view_as_complex(x[0, :cells].to(torch.float64).reshape(cells, HEADS, -1, 2))
        own = torch.cat(
            [
                parts[0][:1].view(1, 1, 1, -1).expand(1, rows, columns, -1),
                parts[1][:rows].view(1, rows, 1, -1).expand(1, rows, columns, -1),
                parts[2][:columns].view(1, 1, columns, -1).expand(1, rows, columns, -1),
            ],
            -1,
        ).reshape(cells, 1, -1)
        return torch.stack([torch.cat([torch.view_as_real(turned * own).flatten(2), x[0, cells:]])]).float()

    for like, x in of.heads().items():
        yield f"places in a grid, {like}", lambda x=x: ext.rotary_grid(x, freqs, sizes), lambda x=x: lines(x)


def cases(tokens, dtype, device):
    """(name, our call, the lines' call): each call gives a tensor or several."""
    of = Operands(tokens, dtype, device)
    for family in (rotations, streams, norms, activations, images, grids):
        yield from family(of)
