"""Operators in graphs that torch.compile made, against what inductor makes of their plain forms.

    python bench/graph_ops.py [--pattern TEXT]

Needs a CUDA device. Prints microseconds a call on the device for the operator and for its plain form, each
alone (``alone``) and between elementwise operations with which inductor can fuse the plain form (``between``),
medians of rounds in which all take turns. The table in ``mindiesd/_forms.py`` follows from it.
"""

import argparse
import statistics

import torch

from mindiesd import _math, _ops

_ROUNDS, _REPEATS = 7, 20
_FLOAT32, _BFLOAT16 = torch.float32, torch.bfloat16
SHAPES = {
    "SDXL, 2 x 4096 x 640": (2, 4096, 640, 64),
    "Flux, 4608 x 3072": (1, 4608, 3072, 128),
    "Wan, 32760 x 5120": (1, 32760, 5120, 128),
}


def cases(batch, length, width, head):
    """(operator, ours, plain, operands); the first operand and the first result have width columns."""

    def make(*sizes):
        return torch.randn(*sizes, device="cuda", dtype=_BFLOAT16)

    x, y, weight = make(batch, length, width), make(batch, length, width), make(width)
    scale, shift, gate = make(batch, 1, width), make(batch, 1, width), make(batch, 1, width)
    heads = (batch, length, width // head, head)
    cos, sin = (torch.randn(length, 1, head, device="cuda") for _ in range(2))
    norm_weight = make(head)
    types = (_BFLOAT16, _BFLOAT16, _BFLOAT16)

    def activation(kind):
        return (
            lambda x: _ops.activation(x, None, kind, _BFLOAT16),
            lambda x: _math.activation(x, None, kind).to(_BFLOAT16),
            (x,),
        )

    def fused(x, branch, gate, weight, bias, scale, shift, kind):
        total = x if branch is None else _math.residual(x, branch, gate, False, None, None)
        normal = _math.fused_norm(total, weight, bias, scale, shift, 1e-6, kind)
        return total.to(_BFLOAT16), normal.to(_BFLOAT16)

    def rotate_plain(x, cos, sin, interleaved):
        return _math.rotary(x.view(heads), cos, sin, interleaved, _BFLOAT16).view_as(x)

    def both_plain(q, k, a, b, cos, sin, interleaved):
        return tuple(
            _math.rotary(_math.qk_norm(t.view(heads), w, 1e-6, 1 if w is not None else 0, -2), cos, sin, interleaved, _BFLOAT16).view_as(t)
            for t, w in ((q, a), (k, b))
        )

    def both(q, k, a, b, cos, sin, interleaved):
        kind = _ops.QK_NORM_NONE if a is None else _ops.QK_NORM_HEAD
        found = _ops.rotary_qk(q.view(heads), k.view(heads), a, b, cos, sin, interleaved, kind, -2, 1e-6, _BFLOAT16, _BFLOAT16)
        return tuple(t.view_as(q) for t in found)

    yield ("silu", *activation(_ops.SILU))
    yield ("gelu", *activation(_ops.GELU))
    yield ("gelu tanh", *activation(_ops.GELU_TANH))
    yield (
        "gated", lambda x, g: _ops.activation(x, g, _ops.GELU, _BFLOAT16),
        lambda x, g: _math.activation(x, g, _ops.GELU).to(_BFLOAT16), (x, y),
    )  # fmt: skip
    for kind, name in ((_ops.LAYER_NORM, "layer"), (_ops.RMS_NORM, "rms")):
        yield (
            f"{name} norm", lambda x, w, kind=kind: _ops.norm_scale_shift(x, w, None, None, None, 1e-6, kind, _BFLOAT16, 1),
            lambda x, w, kind=kind: fused(x, None, None, w, None, None, None, kind=kind)[1], (x, weight),
        )  # fmt: skip
        yield (
            f"{name} norm modulated",
            lambda x, a, b, kind=kind: _ops.norm_scale_shift(x, None, None, a, b, 1e-6, kind, _BFLOAT16, 1),
            lambda x, a, b, kind=kind: fused(x, None, None, None, None, a, b, kind=kind)[1], (x, scale, shift),
        )  # fmt: skip
        yield (
            f"residual {name} norm",
            lambda x, y, g, a, b, kind=kind: _ops.residual_norm(x, y, g, None, None, a, b, 1e-6, kind, _BFLOAT16, _BFLOAT16, False, None, None),
            lambda x, y, g, a, b, kind=kind: fused(x, y, g, None, None, a, b, kind=kind), (x, y, gate, scale, shift),
        )  # fmt: skip
    yield (
        "residual", lambda x, y, g: _ops.residual(x, y, g, _BFLOAT16, False, None, None),
        lambda x, y, g: _math.residual(x, y, g, False, None, None).to(_BFLOAT16), (x, y, gate),
    )  # fmt: skip
    yield (
        "rms_norm", lambda x, w: _ops.rms_norm(x, w, None, 1e-6, *types, 0),
        lambda x, w: _math.rms_norm(x, w, None, 1e-6, *types), (x, weight),
    )  # fmt: skip
    for interleaved in (False, True):
        kind = "interleaved" if interleaved else "half"
        yield (
            f"rotary {kind}",
            lambda x, c, s, i=interleaved: _ops.rotary_position_embedding(x.view(heads), c, s, i, _BFLOAT16, 0).view_as(x),
            lambda x, c, s, i=interleaved: rotate_plain(x, c, s, i), (x, cos, sin),
        )  # fmt: skip
        yield (
            f"rotary_qk {kind}", lambda x, y, c, s, i=interleaved: both(x, y, None, None, c, s, i),
            lambda x, y, c, s, i=interleaved: both_plain(x, y, None, None, c, s, i), (x, y, cos, sin),
        )  # fmt: skip
        yield (
            f"qk_norm_rotary {kind}", lambda x, y, w, c, s, i=interleaved: both(x, y, w, w, c, s, i),
            lambda x, y, w, c, s, i=interleaved: both_plain(x, y, w, w, c, s, i), (x, y, norm_weight, cos, sin),
        )  # fmt: skip
    yield (
        "softmax", lambda x: _ops.softmax(x, -1, 1.0, None, 0, None, None, None, 0.0, _BFLOAT16),
        lambda x: _math.softmax(x, -1, 1.0, None, 0, None, None, None, 0.0, _BFLOAT16), (x,),
    )  # fmt: skip


def between(function, other):
    """The function of a sum, and a product of its first result."""

    def graph(x, *rest):
        result = function(x + other, *rest)
        if isinstance(result, tuple):
            return (result[0] * other, *result[1:])
        return result * other

    return graph


def microseconds(call, operands):
    torch.cuda._sleep(2_000_000)
    start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    for _ in range(_REPEATS):
        call(*operands)
    stop.record()
    stop.synchronize()
    return start.elapsed_time(stop) * 1e3 / _REPEATS


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pattern", default="")
    arguments = parser.parse_args()
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}; microseconds a call")
    print(f"{'':24} {'':22} {'alone':>9} {'plain':>9} {'ratio':>6}  {'between':>9} {'plain':>9} {'ratio':>6}")
    for shape, sizes in SHAPES.items():
        other = torch.randn(sizes[:3], device="cuda", dtype=_BFLOAT16)
        for name, ours, plain, operands in cases(*sizes):
            if arguments.pattern not in name:
                continue
            forms = []
            for form in (ours, plain, between(ours, other), between(plain, other)):
                torch._dynamo.reset()
                forms.append(torch.compile(form, fullgraph=True, dynamic=False))
                forms[-1](*operands)
            rounds = [[microseconds(f, operands) for f in forms] for _ in range(_ROUNDS)]
            a, b, c, d = (statistics.median(times) for times in zip(*rounds))
            print(
                f"{shape:24} {name:22} {a:9.1f} {b:9.1f} {a / b:6.2f}  {c:9.1f} {d:9.1f} {c / d:6.2f}",
                flush=True,
            )


if __name__ == "__main__":
    with torch.inference_mode():
        main()
