"""Row-wise operators and attention on the CPU against the torch functions that they replace, in one process.

    PYTHONPATH=runtime/python python bench/cpu_ops.py [--threads N] [--rounds N] [--only TEXT]

The two take turns, and each counts with its best round, so that other work on the machine counts in
neither. The last column is torch's time by ours: above 1 ours is faster.
"""

import argparse
import time

import torch
import torch.nn.functional as F

from mindiesd import ext


def cases():
    """(name, ours, torch's), each on its own operands."""
    for dtype in (torch.float32, torch.bfloat16):
        for rows, width in ((4096, 1152), (4608, 3072), (256, 64), (1, 4096)):
            x = torch.randn(rows, width).to(dtype)
            w, b = torch.randn(width).to(dtype), torch.randn(width).to(dtype)
            label = f"{str(dtype)[6:]} {rows} x {width}"
            yield (
                f"layer_norm {label}",
                lambda x=x, w=w, b=b, width=width: ext.layer_norm(x, (width,), w, b),
                lambda x=x, w=w, b=b, width=width: F.layer_norm(x, (width,), w, b),
            )
            yield (
                f"rms_norm {label}", lambda x=x, w=w: ext.rms_norm(x, w),
                lambda x=x, w=w, width=width: F.rms_norm(x, (width,), w, 1e-6),
            )  # fmt: skip
            yield (f"softmax {label}", lambda x=x: ext.softmax(x), lambda x=x: F.softmax(x, -1))
            yield (f"gelu {label}", lambda x=x: ext.gelu(x), lambda x=x: F.gelu(x))
            yield (
                f"gelu tanh {label}", lambda x=x: ext.gelu(x, approximate="tanh"),
                lambda x=x: F.gelu(x, approximate="tanh"),
            )  # fmt: skip
            yield (f"silu {label}", lambda x=x: ext.silu(x), lambda x=x: F.silu(x))
        for batch, heads, queries, keys, width, kind in ATTENTION:
            q, k, v = (
                torch.randn(batch, heads, n, width).to(dtype) for n in (queries, keys, keys)
            )
            options = {"is_causal": True} if kind == "causal" else {}
            if kind == "mask":
                options["attn_mask"] = torch.rand(batch, 1, 1, keys) < 0.9
            yield (
                f"attention {str(dtype)[6:]} {batch}, {heads}, {queries} to {keys}, {width} {kind}",
                lambda q=q, k=k, v=v, o=options: ext.attention_forward(q, k, v, head_first=True, **o),
                lambda q=q, k=k, v=v, o=options: F.scaled_dot_product_attention(q, k, v, **o),
            )


# batch, heads, queries, keys, head_dim, what else
ATTENTION = (
    (1, 8, 1024, 1024, 64, ""), (2, 4, 256, 256, 128, ""), (1, 8, 1024, 77, 64, ""),
    (1, 8, 1024, 1024, 64, "causal"), (2, 8, 512, 512, 64, "mask"), (1, 2, 16, 16, 64, ""),
)  # fmt: skip


def seconds(call, calls):
    start = time.perf_counter()
    for _ in range(calls):
        call()
    return (time.perf_counter() - start) / calls


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--only", default="", help="cases whose name contains this")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    print(f"torch {torch.__version__}, {options.threads} threads; microseconds a call")
    with torch.inference_mode():
        for name, ours, torchs in cases():
            if options.only not in name:
                continue
            calls = max(1, int(0.005 / seconds(torchs, 3)))
            seconds(ours, 3)
            best = [float("inf"), float("inf")]
            for _ in range(options.rounds):
                for i, call in enumerate((ours, torchs)):
                    best[i] = min(best[i], seconds(call, calls))
            print(f"{name:44} {best[0] * 1e6:10.1f} {best[1] * 1e6:10.1f} {best[1] / best[0]:6.2f}",
                  flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
