"""Random programs around attention, for layout propagation. Entry: program(random, name).

A program makes heads of q, k and v, changes them in up to five statements drawn from TEMPLATES,
calls scaled_dot_product_attention and goes on with the result. A statement stays only if the
program still runs, so every program is valid; most of what is drawn is what people do not write,
and that is what it is for.
"""

import random
import warnings

import torch
import torch.nn.functional as F

BATCH, TOKENS, HEADS, WIDTH = 2, 6, 4, 8
PARAMETERS = "q, k, v, n, per_dim, per_token, per_head, four, three, flag"
HEAD = '''import torch
import torch.nn.functional as F
from einops import rearrange


def swap(x):
    return x.transpose(1, 2)


def scaled(x, s):
    y = x * s
    return y
'''
FIRST = [
    [f"{x} = {x}.view({BATCH}, -1, {HEADS}, {WIDTH}).transpose(1, 2)" for x in "qkv"],
    [f"{x} = rearrange({x}, 'b n (h d) -> b h n d', h={HEADS})" for x in "qkv"],
    [
        "q, k, v = torch.stack([q, k, v], 2)"
        f".view({BATCH}, -1, 3, {HEADS}, {WIDTH}).permute(2, 0, 3, 1, 4).unbind(0)"
    ],
    ["b, l, c = q.shape"]
    + [f"{x} = {x}.view(b, l, {HEADS}, c // {HEADS}).permute(0, 2, 1, 3)" for x in "qkv"],
    [f"q, k, v = (x.view({BATCH}, -1, {HEADS}, {WIDTH}).transpose(1, 2) for x in (q, k, v))"],
    [
        f"q, k, v = (x.view({BATCH}, -1, {HEADS}, {WIDTH}) for x in (q, k, v))",
        "q, k, v = [x.permute(0, 2, 1, 3).contiguous() for x in [q, k, v]]",
    ],
]
# {a} and {b} are values, {t} what is bound, {i} and {j} axes, {s} and {u} subscripts, {f} a factor.
TEMPLATES = r"""
{t} = {a}.transpose({i}, {j})
{t} = {a}.transpose(1, 2)
{t} = swap({a})
{t} = {a}.permute({p})
{a}, {b} = (x.permute({p}) for x in ({a}, {b}))
{a}, {b} = [x.transpose({i}, {j}) for x in ({b}, {a})]
{t}, z = (x.permute(0, 2, 1, 3).contiguous() for x in ({a}, {b}))
{a} = {a}[{s}]
{a} = {a}[{s}]
{a}, {b} = {a}[{s}], {b}[{s}]
{a}, {b} = {a}[{s}], {b}[{s}]
k, v = k[{s}], v[{s}]
k, v = k[{s}], v[{s}]
q, k, v = (x[{s}] for x in (q, k, v))
k, v = torch.cat([k, {a}], dim={i}), torch.cat([v, {b}], dim={i})
k, v = k.repeat_interleave(2, dim={i}), v.repeat_interleave(2, {i})
w = {a}[{s}]
w = ({a}[{s}] * {f}).transpose({i}, {j})
{t} = {a}[{s}].clone()
{t} = torch.cat([{a}, {b}], dim={i})
{t} = torch.cat(({a}, {b}), {i})
{t} = torch.cat([{a}[{s}], {b}[{u}]], dim={i})
{t} = torch.stack([{a}, {b}], {i})[:, 0]
{t} = {a} + {b}
{t} = {a} * {f}
{t} = scaled({a}, {f})
{t} = torch.where(per_dim > 0, {a}, {b})
{t} = {a}.contiguous()
{t} = {a}.clone()
{t} = {a}.to({b}.dtype)
{t} = {a}.double().float()
{t}, z = {a}.chunk(2, dim={i})
z, {t} = {a}.split({a}.shape[{i}] // 2, dim={i})
{t} = {a}.unbind({i})[0].unsqueeze({j})
{a}[{s}] = {b}[{u}]
{a}[{s}] = {a}[{s}] * 2.0
{a}[{s}] *= 0.5
{a}.mul_({f})
{t} = {a}.repeat_interleave(2, dim={i})
{t} = rearrange({a}, '{e}')
{t} = F.layer_norm({a}, ({a}.shape[-1],))
{t} = F.layer_norm({a}, {a}.shape[-2:])
{t} = {a}.softmax({i})
{t} = {a}.mean({i}, keepdim=True)
{t} = {a}.flatten(1, 2)
{t} = {a}.flatten({i})
{t} = {a}.unflatten({i}, (2, -1)).flatten({j}, -1)
{t} = {a}.view({a}.shape[0], {a}.shape[1], -1, {a}.shape[-1])
{t} = {a}.reshape({a}.shape[0], {a}.shape[2], {a}.shape[1], -1)
{t} = {a}.unsqueeze({i}).squeeze({j})
{t} = {a}.expand(-1, 4, -1, -1)
{t} = F.pad({a}, (0, 0, 0, 1))
{t} = {a} if {b}.shape[{i}] > 3 else {a}[{s}]
if flag:\n        {t} = {a}.transpose(1, 2)\n    else:\n        {t} = {b}
if flag:\n        {t} = {a}[{s}]
for _ in range(2):\n        {t} = torch.cat([{a}, {b}], dim={i})
""".strip().split("\n")
TEMPLATES = [template.replace("\\n", "\n") for template in TEMPLATES]
PERMUTATIONS = ["0, 2, 1, 3", "0, 1, 3, 2", "0, 2, 3, 1", "0, 1, 2, 3", "0, 3, 1, 2"]
PATTERNS = [
    "b h n d -> b n h d", "b n h d -> b h n d", "b h n d -> b h d n", "b h n d -> h b n d",
]  # fmt: skip
FACTORS = [
    "2.0", "per_dim", "per_token", "per_token[:, None]", "per_head[:, None]", "four", "three",
    "{b}.shape[{i}]", "{b}.size({i})",
]  # fmt: skip
LAST = (
    ["out = out.transpose(1, 2)"] * 5
    + ["out = out.permute(0, 2, 1, 3).flatten(2)", "out = rearrange(out, 'b h n d -> b n (h d)')"]
    + ["out = out.transpose(1, 2).contiguous()", "pass"]
)


ALSO = [""] * 6 + [", q", ", k", ", w", ", w", ", other", ", other", ", k.shape", ", v.shape[1]"]
# A second call, on its own or on what the first one reads too.
SECOND = [
    ["other = F.scaled_dot_product_attention(q, {b}, {b})", "out = out + other"],
    ["other = F.scaled_dot_product_attention({a}, k, v).transpose(1, 2)"],
    ["for _ in range(2):\n        out = out + F.scaled_dot_product_attention(q, {a}, {a})"],
    ["if flag:\n        out = out * 2.0\n    else:\n"
     "        out = F.scaled_dot_product_attention(q, k, v, is_causal=True)"],
    ["kv = torch.cat([k, {a}], dim={i})", "out = F.scaled_dot_product_attention(out, kv, kv)"],
    ["other = F.scaled_dot_product_attention(q, k, v, attn_mask={a})"],
    ["other = {a}.transpose(1, 2)", "out = out + F.scaled_dot_product_attention(q, other, other)"],
]  # fmt: skip


def arguments(flag: bool) -> dict:
    draw = torch.Generator().manual_seed(1)

    def normal(*size):
        return torch.randn(*size, generator=draw)

    return {
        **{name: normal(BATCH, TOKENS, HEADS * WIDTH) for name in "qkv"},
        "n": 2,
        "per_dim": normal(WIDTH),
        "per_token": normal(TOKENS),
        "per_head": normal(HEADS),
        "four": normal(BATCH, 1, TOKENS, WIDTH),
        "three": normal(HEADS, TOKENS, WIDTH),
        "flag": flag,
    }


class _Functional:
    """torch.nn.functional, whose attention says no to what torch does not mean to take.

    On the CPU torch reads past the end where key and value differ in length, and what is empty it
    does not look at.
    """

    def __getattr__(self, name):
        return getattr(F, name)

    def scaled_dot_product_attention(self, query, key, value, **options):
        batches = {operand.shape[:-2] for operand in (query, key, value)}
        lengths = key.shape[-2] != value.shape[-2]
        if lengths or query.shape[-1] != key.shape[-1] or len(batches) > 1:
            raise ValueError("no valid operands of attention")
        if options.get("attn_mask") is not None:  # what does not broadcast raises
            options["attn_mask"].expand(*query.shape[:-1], key.shape[-2])
        return F.scaled_dot_product_attention(query, key, value, **options)


def checked(module) -> None:
    """Makes the programs of a module raise ValueError where they have no meaning."""
    module.F = _Functional()


def text(name: str, body: list[str]) -> str:
    return f"def {name}({PARAMETERS}):\n    " + "\n    ".join(body) + "\n"


def _runs(body: list[str]) -> bool:
    source = HEAD + text("f", [*body, "return 0"])
    space = {"checked": _Functional().scaled_dot_product_attention}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(source.replace("F.scaled_dot_product_attention", "checked"), space)  # noqa: S102
            space["f"](**arguments(flag=True))
    except (RuntimeError, TypeError, ValueError, IndexError, AttributeError, NameError):
        return False
    except Exception as error:  # noqa: BLE001 - einops has an exception of its own
        if type(error).__module__.partition(".")[0] != "einops":
            raise
        return False
    return True


def _subscripts(draw: random.Random) -> str:
    whole = [":", ":", ":"]
    parts = [draw.choice([*whole, ":n", "n:", "-n:", "::2"]) for _ in range(draw.randint(1, 4))]
    if draw.random() < 0.3:
        parts.insert(draw.randrange(len(parts) + 1), "...")
    if draw.random() < 0.15:
        parts.insert(draw.randrange(len(parts) + 1), "None")
    if draw.random() < 0.2:
        parts[draw.randrange(len(parts))] = draw.choice(["0", "-1", "1"])
    return ", ".join(parts)


def _statement(draw: random.Random, names: list[str]) -> str:
    a, b = draw.choice(names), draw.choice(names)
    holes = {
        "a": a,
        "b": b,
        "t": a if draw.random() < 0.6 else draw.choice([*names, "w"]),
        "i": draw.choice([0, 1, 2, 3, 1, 2, -1, -2, -3]),
        "j": draw.choice([0, 1, 2, 3, 1, 2, -1, -2, -3]),
        "s": _subscripts(draw),
        "u": _subscripts(draw),
        "p": draw.choice(PERMUTATIONS),
        "e": draw.choice(PATTERNS),
    }
    holes["f"] = draw.choice(FACTORS).format(**holes)
    return draw.choice(TEMPLATES).format(**holes)


def _extend(draw: random.Random, body: list[str], names: list[str], most: int) -> None:
    for _ in range(draw.randint(0, most)):
        for _ in range(12):
            statement = _statement(draw, names)
            if _runs([*body, statement]):
                body.append(statement)
                break


def program(draw: random.Random, name: str) -> str:
    while True:
        body = list(draw.choice([FIRST[0], FIRST[0], *FIRST]))
        _extend(draw, body, ["q", "k", "v"], 5)
        operands = draw.choice(["q, k, v"] * 6 + ["q, k, k", "q, q, v", "k, q, v"])
        option = draw.choice(["", "", "", ", is_causal=True", ", scale=0.3"])
        body.append(f"out = F.scaled_dot_product_attention({operands}{option})")
        if not _runs(body):
            continue
        if draw.random() < 0.3:
            _extend(draw, body, ["q", "k", "v"], 1)
            names = {"a": draw.choice("qkv"), "b": draw.choice("kv"), "i": draw.choice([1, 2, -2])}
            second = [line.format(**names) for line in draw.choice(SECOND)]
            if _runs([*body, *second]):
                body += second
        _extend(draw, body, ["out", "out", "out", "q"], 2)
        body.append(draw.choice(LAST))
        _extend(draw, body, ["out"], 1)
        also = draw.choice(ALSO)
        if also in (", w", ", other") and not _runs([*body, also[2:]]):
            also = ""
        if _runs(body):
            return text(name, [*body, f"return out{also}"])
