"""Random programs that write in place between the parts of a computation. Entry: program(random, number).

A program is a class. Its forward computes one to three recognised forms, a part a statement, whose operands are
locals, buffers, entries of a dictionary or a list, attributes of objects, and views of all of these; writes are
drawn between the statements. A program stays only if it runs. What it returns, and what it leaves behind in its
operands and buffers, must be the same before and after.
"""

import linecache
import random
import warnings
from unittest import mock

import torch

SHAPE = (2, 3, 5, 8)
HEAD = """import math
import types

import torch
import torch.nn as nn
import torch.nn.functional as F


def bump(t):
    t.add_(0.5)


def bump_first(of):
    first = of[0]
    first.mul_(2)


class Keys(nn.Module):
    def __init__(self):
        super().__init__()
        self.k = torch.randn(2, 3, 5, 8)

    def forward(self, k):
        self.k[:, :, -1:] = k[:, :, :1]
        return k


def fresh(t):
    return t * 2


def same(t):
    return t


class RMS(nn.Module):
    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.linspace(0.5, 1.5, dim))

    def forward(self, x):
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps))
"""
CLASS = '''

class Program{number}(nn.Module):
    def __init__(self):
        super().__init__()
        for name in ("a", "b", "c", "d"):
            self.register_buffer(name, torch.randn(2, 3, 5, 8))
        self.w = self.a[:, :, :5]
        self.turned = self.b.transpose(0, 1).transpose(0, 1)
        self.keys = Keys()
        self.kept = types.SimpleNamespace(k=torch.randn(2, 3, 5, 8), eps=1e-6)
        self.table = {{"k": torch.randn(2, 3, 5, 8), "a": self.a}}
        self.norm = nn.LayerNorm(8)
        self.bare = nn.LayerNorm(8, elementwise_affine=False)
        self.rms = RMS(8)
        self.weight = nn.Parameter(torch.linspace(0.5, 2, 8))
        self.flag = {flag}

    def put(self, t):
        {put}

    def look(self, t):
        return self.a + t

    def forward(self, x, y, cache, items):
        k = {local}
        {statements}
        return {result}
'''
OPERANDS = [
    "x", "x", "y", "y", "k", "k", "self.a", "self.b", "self.c", "self.d", "self.w", "self.turned", "self.kept.k",
    "self.table['k']", "self.table['a']", "cache['k']", "cache['v']", "items[0]", "items[1]", "items[-1]",
    "self.a[:, :, :5]", "same(self.a)", "fresh(self.b)", "cache.get('k')", "getattr(self, 'a')",
    "self.keys.k", "self.b.view(2, 3, 5, 8)", "self.c.contiguous()", "self._buffers['a']", "(self.a, self.b)[0]",
]  # fmt: skip
LOCALS = [
    "x", "y", "self.a", "self.b[:, :, :5]", "cache['k']", "items[0]", "x.clone()", "self.a * 1", "self.w",
    "x.transpose(1, 2).transpose(1, 2)", "same(y)", "self.kept.k", "items[0] if self.flag else y",
]  # fmt: skip
WRITES = r"""
{o}.mul_(0.5)
{o}.add_({p})
{o}.copy_(y)
{o}.zero_()
{o} *= 0.5
{o}[:, :, -1:] = y[:, :, :1]
{o}[0] = 1.0
{o}[0].add_(1)
{o}[..., 1:3].mul_(2)
{o}.data += 1
{o}.data.mul_(2)
{o}.transpose(1, 2).mul_(2)
{o}.view(-1)[:9] = 3.0
{o}.unbind(0)[0].mul_(2)
{o}.flatten()[0] = 7.0
{o}.index_copy_(2, torch.tensor([1]), y[:, :, :1].contiguous())
{o}.masked_fill_(y > 0, 0.25)
torch.add(x, y, out={o})
torch.mul(y, 0.5, out={o})
torch.neg({p}, out={o})
torch.relu_({o})
F.relu({o}, inplace=True)
nn.ReLU(inplace=True)({o})
F.silu({o}, inplace=True)
torch._foreach_mul_([{o}], 2.0)
bump({o})
bump_first(items)
bump_first([{o}])
self.put({o})
self.put(y)
for t in items:\n            t.mul_(2)
for t in (self.a, x):\n            t.add_(1)
for t in cache.values():\n            t.mul_(2)
for t in self.buffers():\n            t.mul_(1.5)
[t.mul_(2) for t in items]
list(map(bump, items))
items[0] = y
items[1], items[0] = items[0], items[1]
items.reverse()
cache['k'] = y
cache.update(k=y)
cache['k'], cache['v'] = cache['v'], cache['k']
self.a = y
setattr(self, 'a', y)
self.table['k'] = y
self.kept.k = y
self.kept = types.SimpleNamespace(k=y, eps=0.5)
k = y
k = {o}
x = y
x = x + 1
y, x = x, y
if self.flag:\n            {o}.mul_(2)
if self.flag:\n            x = y
with torch.no_grad():\n            {o}.add_(1)
alias = {o}\n        alias.mul_(2)
alias, other = {o}.chunk(2, dim=-1)\n        alias.mul_(2)
alias = {o}.view(2, 3, 40)\n        alias[:, 0] = 0.0
alias = {o}.detach()\n        alias += 1
alias = same({o})\n        alias.mul_(2)
alias = {o}.to(torch.float32)\n        alias.mul_(2)
alias = {o}.reshape(2, 15, 8)\n        alias[0].mul_(2)
alias = {o}.expand(2, 3, 5, 8)\n        alias.mul_(2)
alias = {o}.numpy()\n        alias *= 2
alias = [{o}, y]\n        alias[0].mul_(2)
{o}.__setitem__(0, 1.0)
{o}.__imul__(2)
torch.Tensor.mul_({o}, 2)
def inner():\n            {o}.mul_(2)\n        inner()
self.keys(y)
self.look(y)
self.norm.reset_parameters()
self.norm.weight.data.mul_(2)
self.norm.weight.mul_(2)
self.norm.bias.add_(1)
self.norm.eps = 0.5
self.bare.eps = 0.5
self.norm.weight = nn.Parameter(torch.ones(8) * 3)
self.rms.eps = 0.5
self.rms.weight.data += 1
nn.init.constant_(self.norm.weight, 0.3)
setattr(self.norm, 'eps', 0.25)
self.weight.mul_(2)
self.weight.data = torch.ones(8)
self.norm = self.bare
self.kept.eps = 0.5
self.norm.load_state_dict({{'weight': torch.ones(8) * 2, 'bias': torch.ones(8)}})
for p in self.parameters():\n            p.mul_(0.5)
self.norm.register_buffer('spare', None)
self.norm.train()
self.norm.half().float()
""".strip().split("\n")
WRITES = [write.replace("\\n", "\n") for write in WRITES]
PUTS = [
    "self.a.mul_(2)", "self.b.copy_(t)", "t.mul_(2)", "self.norm.eps = 0.5", "self.norm.weight.mul_(2)", "pass",
    "return t + 1", "self.kept.k.add_(t)", "self.table['k'] = t", "self.a = t", "bump(self.a)",
    "for p in self.buffers():\n            p.mul_(2)",
]  # fmt: skip
FORMS = [
    ["s = {a} @ {b}.transpose(-1, -2) / math.sqrt(8)", "o = F.softmax(s, dim=-1) @ {c}"],
    ["s = {a} @ {b}.transpose(-1, -2) / math.sqrt(8)", "p = s.softmax(-1)", "o = p @ {c}"],
    ["t = {b}.transpose(-2, -1)", "s = torch.matmul({a}, t) * 8 ** -0.5", "p = F.softmax(s, -1)",
     "o = torch.matmul(p, {c})"],
    ["s = torch.einsum('bhid,bhjd->bhij', {a}, {b}) * 0.5", "s = s.softmax(dim=-1)",
     "o = torch.einsum('bhij,bhjd->bhid', s, {c})"],
    ["q2 = {a} * 8 ** -0.5", "s = q2 @ {b}.mT", "s = s + {c}[..., :5]", "o = s.softmax(-1) @ {c}"],
    ["k2 = {b}", "o = F.scaled_dot_product_attention({a}, k2, {c})"],
    ["q2, k2, v2 = (t.transpose(1, 2) for t in ({a}, {b}, {c}))",
     "o = F.scaled_dot_product_attention(q2, k2, v2)", "o = o.transpose(1, 2)"],
    ["q2 = {a}.transpose(1, 2)", "k2 = {b}.transpose(1, 2)", "v2 = {c}.transpose(1, 2)",
     "o = F.scaled_dot_product_attention(q2, k2, v2).transpose(1, 2)"],
    ["k2 = torch.cat([{b}, {c}], dim=2)", "o = F.scaled_dot_product_attention({a}, k2, k2)"],
    ["h1, h2 = {a}.chunk(2, dim=-1)", "r = torch.cat((-h2, h1), dim=-1)", "o = {a} * {b} + r * {c}"],
    ["r = torch.cat((-{a}[..., 4:], {a}[..., :4]), dim=-1)", "o = {a} * {b} + r * {c}"],
    ["h1, h2 = {a}.unflatten(-1, (4, 2)).unbind(-1)", "r = torch.stack([-h2, h1], dim=-1).flatten(-2)",
     "cs = {b}.cos()", "sn = {b}.sin()", "o = {a} * cs + r * sn"],
    ["v = {a}.pow(2).mean(-1, keepdim=True)", "t = {a} * torch.rsqrt(v + 1e-6)", "o = t * self.weight"],
    ["v = {a}.float().pow(2).mean(-1, keepdim=True)", "o = {a} * torch.rsqrt(v + self.kept.eps)",
     "o = self.weight * o"],
    ["n = self.norm({a})", "o = n * (1 + {b}) + {c}"],
    ["n = self.bare({a})", "m = 1 + {b}", "o = n * m", "o = o + {c}"],
    ["n = F.layer_norm({a}, (8,), self.norm.weight, self.norm.bias, self.norm.eps)", "o = n * (1 + {b}) + {c}"],
    ["n = F.layer_norm({a}, (8,), self.weight)", "o = n"],
    ["o = self.rms({a})", "o = o + {b}"],
    ["h = {a} + {b}", "o = self.norm(h)"],
    ["h = {a} + {b} * {c}", "o = self.bare(h) * (1 + {b}) + {c}"],
    ["g = torch.sigmoid(1.702 * {a})", "o = {a} * g"],
    ["g = F.silu({a})", "o = g * {b}"],
    ["g = F.gelu({a})", "o = {b} * g"],
    ["i = 0.7978845608028654 * ({a} + 0.044715 * {a} ** 3)", "o = 0.5 * {a} * (1.0 + torch.tanh(i))"],
    ["g = {a} * torch.sigmoid({a})", "o = g * {b}"],
    ["u, g = torch.cat([{a}, {b}], -1).chunk(2, dim=-1)", "o = u * F.gelu(g)"],
    ["s = {a} @ {b}.transpose(-1, -2)", "s = s - s.amax(-1, keepdim=True)", "o = s.softmax(-1) @ {c}"],
    ["s = {a} @ {b}.mT", "s = s.clamp(min=-5.0, max=5.0)", "o = F.softmax(s, -1) @ {c}"],
    ["s = {a} - {a}.amax(dim=-1, keepdim=True)", "o = s.softmax(-1)"],
]  # fmt: skip
RESULTS = ["o", "o", "o * 1", "o, k", "o, x", "o + o2", "(o, o2)"]


def arguments() -> list:
    draw = torch.Generator().manual_seed(2)

    def normal():
        return torch.randn(*SHAPE, generator=draw)

    return [normal(), normal(), {"k": normal(), "v": normal()}, [normal(), normal()]]


def run(module: dict, number: int) -> list:
    """What the program returns twice in a row, and its operands and buffers behind that."""
    torch.manual_seed(number)
    with torch.no_grad():
        program = module[f"Program{number}"]().eval()
        given = arguments()
        results = []
        for _ in range(2):
            result = program(*given)
            results += [t.clone() for t in (result if isinstance(result, tuple) else (result,))]
    left = [program.a, program.b, program.c, program.d, program.w, program.kept.k, program.keys.k, program.norm.weight]
    left += [torch.tensor(program.norm.eps), torch.tensor(program.bare.eps)]
    left += [given[0], given[1], *given[2].values(), *given[3], *program.table.values()]
    return results + [t.detach().clone() for t in left]


def _write(draw: random.Random) -> str:
    places = [o for o in OPERANDS if not o.startswith("fresh")]
    return draw.choice(WRITES).format(o=draw.choice(places), p=draw.choice(OPERANDS))


def _form(draw: random.Random) -> list[str]:
    operands = {name: draw.choice(OPERANDS) for name in "abc"}
    lines = [line.format(**operands) for line in draw.choice(FORMS)]
    for _ in range(draw.choice([0, 1, 1, 1, 2])):
        lines.insert(draw.randrange(1, len(lines) + 1), _write(draw))
    return lines


def _text(draw: random.Random, number: int) -> str:
    statements = ["o2 = x * 1"] + _form(draw)
    if draw.random() < 0.4:
        statements += ["o2 = o", *_form(draw)]
    if draw.random() < 0.1:
        at = draw.randrange(1, len(statements))
        body = [s.replace("\n", "\n    ") for s in statements[at:]]
        statements[at:] = ["for _ in range(2):\n            " + "\n            ".join(body)]
    return CLASS.format(
        number=number, put=draw.choice(PUTS), local=draw.choice(LOCALS), flag=draw.choice([True, False]),
        statements="\n        ".join(statements), result=draw.choice(RESULTS),
    )  # fmt: skip


_attend = torch.nn.functional.scaled_dot_product_attention


def _attend_checked(query, key, value, *rest, **named):
    """On the CPU torch's own reads beyond the values where they are fewer than the keys, and says nothing."""
    assert key.shape[-2] == value.shape[-2]
    return _attend(query, key, value, *rest, **named)


def program(draw: random.Random, number: int) -> str:
    """A drawn program that runs and gives finite numbers."""
    while True:
        text = _text(draw, number)
        name = f"<program {number}>"
        linecache.cache[name] = (len(text), None, (HEAD + text).splitlines(True), name)
        names: dict = {"__name__": "drawn"}
        try:
            with warnings.catch_warnings(), mock.patch.object(
                torch.nn.functional, "scaled_dot_product_attention", _attend_checked
            ):
                warnings.simplefilter("ignore")
                exec(compile(HEAD + text, name, "exec"), names)
                if all(torch.isfinite(t).all() for t in run(names, number)):
                    return text
        except Exception:  # noqa: BLE001 - drawn anew until one runs
            continue
