"""Random modules around norms, activations, rotations and guards. Entry: module(random, number).

A module makes layers in ways that people have (by name, in a list, in a dictionary, by setattr),
helpers that may be decorated, bound again or patched, and a forward pass of up to six statements;
then somebody may change the layers from outside. A statement stays only if the module still runs.
What is drawn is what a rule must know or leave: the measure is that nothing changes.
"""

import linecache
import random
import warnings

import torch

BATCH, TOKENS, WIDTH = 2, 6, 8
HEAD = """import functools
import torch
import torch.nn as nn
import torch.nn.functional as F


class QuickGELU@(nn.Module):
    def forward(self, x):
        return x * torch.sigmoid(1.702 * x)


class CastNorm@(nn.LayerNorm):
    def forward(self, x):
        return super().forward(x.float()).type_as(x)


class OtherNorm@(nn.LayerNorm):
    def forward(self, x):
        return super().forward(x) + 1.0


class RMS@(nn.Module):
    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.linspace(0.5, 1.5, dim))

    def forward(self, x):
        {rms}


def twice(f):
    @functools.wraps(f)
    def wrapped(*args, **kwargs):
        return f(*args, **kwargs) * 2.0
    return wrapped


def other(x, *rest):
    return x + 0.25
"""
RMS = [
    "return self.weight * (x.float() * torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True)"
    " + self.eps)).type_as(x)",
    "v = x.to(torch.float32).pow(2).mean(-1, keepdim=True)\n        x = x * torch.rsqrt(v + self.eps)\n"
    "        return (self.weight * x).to(torch.float32)",
    "return x * torch.rsqrt(x.pow(2).mean(1, keepdim=True) + self.eps) * self.weight",
    "return F.normalize(x, dim=-1) * x.shape[-1] ** 0.5 * self.weight",
    "return F.rms_norm(x, (x.shape[-1],), self.weight, self.eps)",
]
# Each helper as (name, definition).
HELPERS = [
    ("modulate", "def modulate(x, shift, scale):\n    return x * (1 + scale) + shift\n"),
    ("modulate", "def modulate(x, shift, scale):\n    return x * (1 + scale.unsqueeze(1)) + shift\n"),
    ("modulate", "def modulate(x, shift, scale):\n    return torch.addcmul(shift, x, 1 + scale)\n"),
    ("rotate_half", "def rotate_half(x):\n    a, b = x.chunk(2, dim=-1)\n"
                    "    return torch.cat((-b, a), dim=-1)\n"),
    ("rotate_half", "def rotate_half(x):\n    h = x.shape[-1] // 2\n"
                    "    return torch.cat([-x[..., h:], x[..., :h]], -1)\n"),
    ("rotate_half", "def rotate_half(x):\n    a, b = x[..., ::2], x[..., 1::2]\n"
                    "    return torch.stack((-b, a), -1).flatten(-2)\n"),
    ("rotate_half", "def rotate_half(x):\n    a, b = x.chunk(2, dim=-1)\n"
                    "    return torch.cat((b, -a), dim=-1)\n"),
    ("act", "def act(x):\n    return x * torch.sigmoid(1.702 * x)\n"),
    ("act", "def act(x):\n    return F.gelu(x, approximate='tanh')\n"),
    ("norm_of", "def norm_of(x, w=None):\n    y = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)\n"
                "    return y if w is None else y * w\n"),
]  # fmt: skip
DEFAULT = {name: text for name, text in reversed(HELPERS)}
ROTARY = """

def apply_rotary(x, cos, sin):
    return x * cos + rotate_half(x) * sin
"""
DECORATORS = [""] * 8 + ["@torch.no_grad()\n", "@twice\n", "@functools.lru_cache(None)\n",
                         "@torch.jit.script\n", "@torch.jit.ignore\n"]  # fmt: skip
PATCHES = [""] * 10 + [
    "{h} = other\n",
    "if BATCHES > 1:\n    {h} = other\n",
    'globals()["{h}"] = other\n',
    "def install():\n    global\t{h}\n    {h} = other\n\n\ninstall()\n",
    "kept = {h}\n{h} = lambda *args: kept(*args) * 0.5\n",
    "{h} = torch.jit.script({h})\n",
    "{h} = functools.partial({h})\n",
    "{h}, spare = other, {h}\n",
    "for {h} in [{h}]:\n    pass\n",
    "*{h}, spare = [other, {h}]\n{h} = {h}[0]\n",
]
LAYERS = [
    "nn.LayerNorm(8)", "nn.LayerNorm(8, elementwise_affine=False, eps=1e-6)", "nn.LayerNorm((6, 8))",
    "nn.LayerNorm([8], bias=False)", "nn.RMSNorm(8)", "nn.RMSNorm(8, eps=1e-3)", "nn.RMSNorm((6, 8))",
    "nn.RMSNorm(8, elementwise_affine=False)", "nn.GELU()", "nn.GELU(approximate='tanh')", "nn.SiLU()",
    "nn.Identity()", "nn.Linear(8, 8)", "QuickGELU@()", "CastNorm@(8)", "OtherNorm@(8)", "RMS@(8)",
    "nn.Sequential(nn.LayerNorm(8), nn.GELU())", "nn.SiLU(inplace=True)", "nn.Softmax(dim=-1)",
]  # fmt: skip
# How a layer is made, and how it is called.
MADE = [
    ("self.n0@ = {m}", "self.n0@({})"),
    ("self.n0@ = {m}", "self.n0@({})"),
    ("self.n0@: nn.Module = {m}", "self.n0@.forward({})"),
    ('setattr(self, "n1@", {m})', "self.n1@({})"),
    ('self.add_module("n2@", {m})', "self.n2@({})"),
    ("self.l@ = nn.ModuleList([{m}, {o}])", "self.l@[0]({})"),
    ("self.l@ = nn.ModuleList([{m}, {o}])", "self.l@[self.index]({})"),
    ("self.l@ = nn.ModuleList([{m}])", "self.l@[-1]({})"),
    ("self.d@ = nn.ModuleDict({{'a': {m}, 'b': {o}}})", "self.d@['a']({})"),
    ("self.d@ = nn.ModuleDict({{'a': {m}, 'b': {o}}})", "self.d@[self.kind]({})"),
    ("self.n3@ = {m}", 'getattr(self, "n3@")({})'),
    ("self.n40@, self.n41@ = {m}, {o}", 'getattr(self, f"n4{{self.index}}@")({})'),
    ("self.n5@ = {m} if dim > 4 else {o}", "self.n5@({})"),
    ("self.n6@ = {o}\n        self.n6@ = {m}", "self.n6@({})"),
    ("self.n7@ = {m}\n        for name in ('n7@',):\n            setattr(self, name, {o})", "self.n7@({})"),
    ("self.n8@ = functools.partial({m})", "self.n8@({})"),
    ("self.n9@ = self._make_layer()", "self.n9@({})"),
    ("layer = {m}\n        self.na@ = layer\n        self.nb@ = layer", "self.nb@(self.na@({}))"),
]
CHANGES = [""] * 10 + [
    "block.n0@ = nn.Identity()", "setattr(block, 'n0@', {o})", "block.n0@.eps = 0.5",
    "block.register_module('n0@', {o})", "block._modules['n0@'] = {o}", "block.n0@.forward = other",
    "block.n0@.register_forward_hook(lambda m, a, out: out * 2)",
    "for name, child in list(block.named_children()):\n        if isinstance(child, nn.LayerNorm):\n"
    "            setattr(block, name, nn.Identity())",
    "nn.init.constant_(block.n0@.weight, 0.5)", "block.index = 1", "block.kind = 'b'",
    "block.forward = functools.partial(block.forward)", "block.n0@.double()",
]  # fmt: skip
# {L} is the call of a layer with {} in it, {v} a value.
STATEMENTS = r"""
x = {L:x}
x = {L:x}
y = {L:x}
x = {L:x} * (1 + scale) + shift
x = {L:x} * (1 + scale[:, None, 0]) + shift
x = torch.addcmul(shift, {L:x}, 1 + scale)
x = {L:x} * (scale + 1)
x = shift + (1 + scale) * {L:x}
x = {L:x} * (1 + ids) + ids
y = {L:x}\n        x = y * (1 + scale) + shift
y = {L:x}\n        y = y * (1 + scale)\n        x = y + shift + y
x = modulate({L:x}, shift, scale)
x = modulate({L:x}, ids, scale)
x = torch.vmap(modulate)({L:x}, shift, scale)
x = act(x)
x = act(scale) * x
x = torch.vmap(act)(x)
x = F.gelu(x)
x = F.gelu(x, approximate=self.kind if self.index else 'tanh')
x = F.silu(x) * y
x = y * F.gelu(x)
x, y = y, x * torch.sigmoid(x)
x = x * torch.sigmoid(x * 1.702)
x = ids * torch.sigmoid(1.702 * ids) + x
a, b = x.chunk(2, dim=-1)\n        x = torch.cat([a, F.silu(a) * b], -1)
x = norm_of(x)
x = norm_of(x, scale)
x = norm_of(x.float(), w).to(x.dtype)
x = F.rms_norm(x, (8,), w, 1e-5)
x = F.rms_norm(x, x.shape[-1:], eps=1e-5)
x = F.layer_norm(x, (8,), w)
x = F.normalize(x, dim=-1) * 8 ** 0.5
x = rotate_half(x)
x = apply_rotary(x, cos, sin)
x = apply_rotary(x[..., :6], cos[..., :6], sin[..., :6]) if self.index else x
x = torch.cat([apply_rotary(x[..., :4], cos[..., :4], sin[..., :4]), x[..., 4:]], -1)
x = torch.cat([apply_rotary(x[..., :2], cos[..., :2], sin[..., :2]), x[..., 2:]], -1)
x, y = apply_rotary(x, cos, sin), apply_rotary(y, cos, sin)
x = apply_rotary(x[None], cos, sin)[0]
x = (x.float() * cos + rotate_half(x.float()) * sin).type_as(x)
x = apply_rotary(ids, cos, sin) + x
x = torch.vmap(apply_rotary, in_dims=(0, None, None))(x, cos, sin)
s = x @ x.transpose(-2, -1)\n        s = s - s.amax(-1, keepdim=True)\n        x = s.softmax(-1) @ x
s = x @ x.transpose(1, 2)\n        s = s - s.max()\n        x = torch.softmax(s, dim=-1) @ y
s = (x @ y.transpose(-2, -1)).clamp(min=-5.0, max=5.0)\n        x = F.softmax(s, -1) @ x
s = torch.clamp(x @ x.mT, min=-2.0)\n        x = s.softmax(-1) @ y + s.sum()
s = x @ x.mT * 8 ** -0.5\n        x = F.softmax(s, dim=-1, dtype=torch.float32).to(x.dtype) @ x
s = x @ x.mT\n        s = s.masked_fill(mask, -1e4)\n        x = s.softmax(dim=-1) @ x
q = x.view(2, -1, 2, 4).transpose(1, 2)\n        x = F.scaled_dot_product_attention(q, q, q).transpose(1, 2).flatten(2)
q = x.unflatten(-1, (2, 4)).transpose(1, 2)\n        if max(len(t) for t in (q, x)) == 2:\n            x = F.scaled_dot_product_attention(q, q, q).transpose(1, 2).reshape(x.shape)
q = x.view(2, -1, 2, 4)\n        q = q.transpose(1, 2) if max(q.shape) > 4 else q\n        x = F.scaled_dot_product_attention(q, q, q).transpose(1, 2).reshape(2, -1, 8)
x = max([x, y], key=lambda t: t.sum().item())
x = x + y
x = x * 2
y = x.clone()
x.add_(1.0)
x = x.to(scale.dtype)
x = x.bfloat16().to(x.dtype)
for layer in [self.n0@]:\n            x = layer(x)
with torch.autocast('cpu', enabled=False):\n            x = {L:x}
x = torch.utils.checkpoint.checkpoint(self.n0@, x, use_reentrant=False)
x = (lambda t: {L:t})(x)
x = [{L:t} for t in (x, y)][0]
""".strip().split("\n")  # fmt: skip
STATEMENTS = [statement.replace("\\n", "\n") for statement in STATEMENTS]
SIGNATURE = "x, shift, scale, cos, sin, w, ids, mask"


def arguments(dtype: torch.dtype) -> list[torch.Tensor]:
    draw = torch.Generator().manual_seed(1)

    def normal(*size):
        return torch.randn(*size, generator=draw, dtype=torch.float32).to(dtype)

    sizes = (BATCH, TOKENS, WIDTH)
    return [
        normal(*sizes), normal(*sizes), normal(*sizes), normal(TOKENS, WIDTH), normal(TOKENS, WIDTH),
        normal(WIDTH), torch.arange(BATCH * TOKENS * WIDTH).reshape(sizes) % 5,
        torch.eye(TOKENS).bool(),
    ]  # fmt: skip


class _Text:
    def __init__(self, draw: random.Random, number: int):
        self.draw, self.number = draw, number
        chosen = {**DEFAULT, **dict(draw.sample(HELPERS, 5))}
        self.helpers = ""
        for name, definition in chosen.items():
            patch = draw.choice(PATCHES).format(h=name)
            self.helpers += f"\n\n{draw.choice(DECORATORS)}{definition}" + (f"\n\n{patch}" if patch else "")
        self.helpers += ROTARY
        self.made, self.calls = [], []
        for how, call in [MADE[0], *draw.sample(MADE, draw.randint(1, 3))]:
            line = how.format(m=draw.choice(LAYERS), o=draw.choice(LAYERS))
            self.made.append(line)
            self.calls.append(call)
        self.factory = draw.choice(LAYERS)
        self.change = draw.choice(CHANGES).format(o=draw.choice(LAYERS))
        self.rms = draw.choice(RMS)
        self.body: list[str] = []

    def statement(self) -> str:
        text = self.draw.choice(STATEMENTS)
        for value in ("x", "t"):
            text = text.replace("{L:%s}" % value, self.draw.choice(self.calls).format(value))
        return text

    def whole(self, body: list[str]) -> str:
        lines = "\n        ".join
        text = HEAD.replace("{rms}", self.rms) + "\nBATCHES = 2\n" + self.helpers + f"""

class Block@(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.index, self.kind = 0, "a"
        {lines(self.made)}

    def _make_layer(self):
        return {self.factory}

    def forward(self, {SIGNATURE}):
        y = x
        {lines([*body, "return x, y"])}


def make@():
    torch.manual_seed(0)
    block = Block@(8).eval()
    {self.change or "pass"}
    return block
"""
        return text.replace("@torch", "\0torch").replace("@functools", "\0functools").replace(
            "@twice", "\0twice").replace(" @ ", "\0\0").replace("@", str(self.number)).replace(
            "\0\0", " @ ").replace("\0", "@")  # fmt: skip


def run(space: dict, number: int, dtype: torch.dtype) -> list:
    """What the module gives, and what it leaves of its arguments and its state."""
    given = arguments(dtype)
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        block = space[f"make{number}"]()
        out = block(*given)
    return [*out, *given, sorted(block.state_dict())]


def _runs(text: str, number: int) -> bool:
    space, name = {"__name__": f"m{number}"}, f"<m{number}>"
    # TorchScript reads its functions' sources.
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(compile(text, name, "exec"), space)  # noqa: S102
            run(space, number, torch.float32)
    except Exception:  # noqa: BLE001 - whatever it is, it does not run
        return False
    return True


def module(draw: random.Random, number: int) -> str:
    while True:
        made = _Text(draw, number)
        if not _runs(made.whole(["pass"]), number):
            continue
        for _ in range(draw.randint(2, 6)):
            for _ in range(10):
                statement = made.statement()
                if _runs(made.whole([*made.body, statement]), number):
                    made.body.append(statement)
                    break
        if made.body:
            return made.whole(made.body)
