"""Host time of steady calls: what a call costs the processor before the kernel runs.

    python bench/host_time.py [--device cpu|cuda] [--calls N] [--graph]

Prints nanoseconds a call for this package and for the torch functions that it replaces, and what a
call consists of: the best of many short rounds, in which all of them take turns, so that what else the
machine does counts in none. On a GPU the calls are not waited for, and rounds are short enough that a
launch never waits for the device, which takes longer than the host for some of these; on the CPU the
operands are a few numbers, so that arithmetic does not count.

With --graph it measures a call in a graph that torch.compile made, inductor's wrapper included: the difference
between graphs of many calls in a row and of one, a call. Every call is an operator there, also where the package
would trace it as torch code, unless MINDIESD_COMPILED says otherwise.
"""

import argparse
import functools
import os
import platform
import time

os.environ.setdefault("MINDIESD_COMPILED", "operators")

import torch
import torch.nn.functional as F

import mindiesd
from mindiesd import _eager, ext


_ROUND, _TURNS = 20, 10  # calls of a round; how often it is a case's turn


def best(call, calls, device):
    """Nanoseconds of a call, the best round of some."""
    for _ in range(_ROUND):
        call()
    found = float("inf")
    for _ in range(max(calls // _ROUND // _TURNS, 1)):
        if device == "cuda":
            torch.cuda.synchronize()
        start = time.perf_counter_ns()
        for _ in range(_ROUND):
            call()
        found = min(found, (time.perf_counter_ns() - start) / _ROUND)
    return found


def torchs_attention(q, k, v):
    """What code with operands in B S N D writes."""
    operands = (t.transpose(1, 2) for t in (q, k, v))
    return F.scaled_dot_product_attention(*operands).transpose(1, 2)


def attend(q, k, v, **options):
    return ext.attention_forward(q, k, v, **options)


def cases(device):
    """(what is measured, call); the torch function that it replaces follows it."""
    dtype = torch.bfloat16 if device == "cuda" else torch.float32
    shape = (1, 256, 4, 64) if device == "cuda" else (1, 1, 1, 8)

    def make(*sizes):
        return torch.randn(*sizes, device=device, dtype=dtype)

    q, k, v = make(*shape), make(*shape), make(*shape)
    weight = make(shape[-1])
    cos, sin = make(shape[1], 1, shape[-1]), make(shape[1], 1, shape[-1])
    rows = make(1, shape[1], 64)
    norm = torch.nn.LayerNorm(64, elementwise_affine=False)
    branch, gate, scale, shift = make(1, shape[1], 64), make(1, 64), make(1, 64), make(1, 64)
    layout = [t.transpose(1, 2) for t in (q, k, v)]
    scores = make(1, 1, shape[1], shape[1])
    masks = {
        "causal": dict(is_causal=True), "boolean mask": dict(attn_mask=scores > 0),
        "added mask": dict(attn_mask=scores),
    }  # fmt: skip
    named = [
        (
            f"attention_forward by {name}",
            functools.partial(
                mindiesd.attention_forward, q, k, v, opt_mode="manual", op_type=name
            ),
        )
        for name in (("hopper", "tensor_core", "cudnn", "torch") if device == "cuda" else ())
    ]
    return (
        ("torch.empty_like", lambda: torch.empty_like(q)),
        ("attention_forward", lambda: mindiesd.attention_forward(q, k, v)),
        *named,
        ("F.scaled_dot_product_attention", lambda: F.scaled_dot_product_attention(*layout)),
        ("the same with its transposes", lambda: torchs_attention(q, k, v)),
        *(
            case
            for kind, options in masks.items()
            for case in (
                (f"attention_forward, {kind}", functools.partial(attend, q, k, v, **options)),
                (
                    f"F.scaled_dot_product_attention, {kind}",
                    functools.partial(F.scaled_dot_product_attention, *layout, **options),
                ),
            )
        ),
        (
            "ext.rotary_position_embedding",
            lambda: ext.rotary_position_embedding(q, cos, sin, "rotated_interleaved"),
        ),
        ("ext.rotary_qk", lambda: ext.rotary_qk(q, k, cos, sin)),
        (
            "ext.qk_norm_rotary",
            lambda: ext.qk_norm_rotary(q, k, weight, weight, cos, sin),
        ),
        ("ext.rms_norm", lambda: ext.rms_norm(q, weight)),
        ("F.rms_norm", lambda: F.rms_norm(q, (shape[-1],), weight, 1e-6)),
        (
            "layernorm_scale_shift",
            lambda: mindiesd.layernorm_scale_shift(norm, rows, scale, shift),
        ),
        ("ext.norm_scale_shift", lambda: ext.norm_scale_shift(norm, rows, scale, shift)),
        ("ext.residual", lambda: ext.residual(rows, branch, gate)),
        ("ext.residual_norm", lambda: ext.residual_norm(norm, rows, branch, gate, scale, shift)),
        ("ext.layer_norm", lambda: ext.layer_norm(rows, (64,))),
        ("F.layer_norm", lambda: F.layer_norm(rows, (64,))),
        ("ext.softmax", lambda: ext.softmax(q)),
        ("F.softmax", lambda: F.softmax(q, -1)),
        ("ext.gelu", lambda: ext.gelu(q)),
        ("F.gelu", lambda: F.gelu(q)),
    )


_CALLS_IN_GRAPH = 17


def chains(device):
    """(what is measured, step, its operand); each step takes the last one's result."""
    width = 64 if device == "cuda" else 8
    dtype = torch.bfloat16 if device == "cuda" else torch.float32

    def make(*sizes):
        return torch.randn(*sizes, device=device, dtype=dtype)

    length = 256 if device == "cuda" else 1
    x, q = make(1, length, width), make(1, length, 4, width)
    weight, scale = make(width), make(1, width)
    table = make(length, 1, width)
    norm = torch.nn.LayerNorm(width, elementwise_affine=False)
    rms = mindiesd.RMSNorm(width).to(device, dtype)
    attention = F.scaled_dot_product_attention
    first = q.transpose(1, 2)
    # Each of these is opaque to inductor, which makes no kernel of its own of it.
    return (
        ("fast_layernorm", lambda x: mindiesd.fast_layernorm(norm, x), x),
        ("layernorm_scale_shift", lambda x: mindiesd.layernorm_scale_shift(norm, x, scale, scale), x),
        ("RMSNorm", rms, x),
        ("ext.rms_norm", lambda x: ext.rms_norm(x, weight), x),
        ("ext.residual_norm", lambda x: ext.residual_norm(norm, x, x, scale, scale, scale)[1], x),
        ("ext.silu", ext.silu, x),
        ("ext.gelu", ext.gelu, x),
        ("ext.softmax", ext.softmax, x),
        ("ext.rotary_position_embedding", lambda q: ext.rotary_position_embedding(q, table, table), q),
        ("ext.rotary_qk", lambda q: ext.rotary_qk(q, q, table, table)[0], q),
        ("ext.qk_norm_rotary", lambda q: ext.qk_norm_rotary(q, q, weight, weight, table, table)[0], q),
        ("attention_forward", lambda q: mindiesd.attention_forward(q, q, q), q),
        ("attention_forward, heads first", lambda q: ext.attention_forward(q, q, q, head_first=True), first),
        ("F.scaled_dot_product_attention", lambda q: attention(q, q, q), first),
        ("aten.mm", lambda x: x @ x, make(width, width)),
    )  # fmt: skip


def in_graph(step, operand, calls, device):
    """Nanoseconds of a call of ``step`` in a compiled graph."""

    def chain(count):
        def steps(x):
            for _ in range(count):
                x = step(x)
            return x

        compiled = torch.compile(steps, fullgraph=True)
        return best(lambda: compiled(operand), calls // 5, device)

    return (chain(_CALLS_IN_GRAPH) - chain(1)) / (_CALLS_IN_GRAPH - 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--calls", type=int, default=20000)
    parser.add_argument("--graph", action="store_true", help="calls in compiled graphs")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    print(
        f"torch {torch.__version__}, Python {platform.python_version()}, {arguments.device}, calls "
        f"repeated {'from C' if _eager.available else 'in Python'}"
    )
    with torch.inference_mode():
        if arguments.graph:
            for name, step, operand in chains(arguments.device):
                torch._dynamo.reset()
                nanoseconds = in_graph(step, operand, arguments.calls, arguments.device)
                print(f"{name:46} {nanoseconds:9.0f} ns", flush=True)
            return
        measured = cases(arguments.device)
        turns = [
            [best(call, arguments.calls, arguments.device) for _, call in measured]
            for _ in range(_TURNS)
        ]
        for (name, _), *times in zip(measured, *turns):
            print(f"{name:46} {min(times):9.0f} ns", flush=True)


if __name__ == "__main__":
    main()
