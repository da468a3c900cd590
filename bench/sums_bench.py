"""Sums of four tensors times numbers, as multistep schedulers have them, beside torch's operators.

usage: python bench/sums_bench.py [--device cpu|cuda]

Microseconds of a call, host time included: of the expression, of ``mindiesd.ext.weighted_sum``, and of the expression
under ``torch.compile`` on a GPU. Shapes are latents of an image and of two videos, and one tensor of 400 MB in bfloat16.
"""

import argparse
import sys
import time
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "runtime" / "python"))
from mindiesd import ext  # noqa: E402

SHAPES = ((2, 4, 128, 128), (1, 16, 21, 90, 160), (1, 16, 33, 160, 90), (16, 4096, 3072))


def written(e):
    return (1 / 24) * (55 * e[-1] - 59 * e[-2] + 37 * e[-3] - 9 * e[-4])


def ours(e):
    return ext.weighted_sum([e[-1], e[-2], e[-3], e[-4]], [55, -59, 37, -9], scale=1 / 24)


def microseconds(call, e, count):
    wait = torch.cuda.synchronize if e[0].is_cuda else lambda: None
    for _ in range(max(count // 10, 2)):
        call(e)
    wait()
    begin = time.perf_counter()
    for _ in range(count):
        call(e)
    wait()
    return (time.perf_counter() - begin) / count * 1e6


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    device = parser.parse_args().device
    shapes, calls = SHAPES, {"expression": written, "weighted_sum": ours}
    if device == "cuda":
        calls["compiled"] = torch.compile(written)
    else:
        shapes = SHAPES[:-1]
    print("| shape | type | " + " | ".join(f"{name}, µs" for name in calls) + " |")
    print("|---|---|" + "---|" * len(calls))
    with torch.no_grad():
        for shape in shapes:
            for dtype in (torch.float32, torch.bfloat16):
                e = [torch.randn(shape, device=device).to(dtype) for _ in range(4)]
                count = 200 if e[0].numel() < 10_000_000 else 20
                cells = " | ".join(f"{microseconds(call, e, count):.1f}" for call in calls.values())
                print(f"| {list(shape)} | {str(dtype).removeprefix('torch.')} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
