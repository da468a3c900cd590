"""Attention on a CUDA device: the library's kernels beside torch's back ends, at sizes of real models.

    python bench/attention_bench.py [--only TEXT] [--columns NAMES] [--type TYPE] [--json FILE]

Prints TFLOP/s (4 * batch * heads * queries * keys * head_dim operations, half of it where causal), the
median of launches replayed from a graph, on random normal values in B S N D storage; "-": not computed.
Rows of torch: each back end of scaled_dot_product_attention alone, and "torch", which of them it takes
by itself. "default" is ``mindiesd.ext.attention_forward`` in its default mode. Where --columns names them:
"with_lse" is ``mindiesd.ext.attention_with_lse``, "cuDNN_with_lse" torch's call of cuDNN that gives the same (those of
"flash" always do). The run names versions and device.
"""

import argparse
import contextlib
import functools
import json
import statistics
import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

_HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(_HERE), str(_HERE.parent / "runtime" / "python")]
import launchers  # noqa: E402
from mindiesd import ext  # noqa: E402

# name: batch, heads, key heads, queries, keys, head_dim, what else
CASES = {
    "Flux.1-dev": (1, 24, 24, 4608, 4608, 128, None),
    "Flux.1-dev, text mask": (1, 24, 24, 4608, 4608, 128, "padding"),
    "Flux.1-dev, bias a head": (1, 24, 24, 4608, 4608, 128, "bias a head"),
    "Wan2.1-14B": (1, 40, 40, 32760, 32760, 128, None),
    "Wan2.1-14B cross": (1, 40, 40, 32760, 512, 128, None),
    "Wan2.1-1.3B": (1, 12, 12, 32760, 32760, 128, None),
    "CogVideoX": (2, 48, 48, 17776, 17776, 64, None),
    "SD3": (2, 24, 24, 4250, 4250, 64, None),
    "LTX-Video": (2, 32, 32, 4992, 4992, 64, None),
    "LTX-Video cross, mask": (2, 32, 32, 4992, 128, 64, "padding"),
    "SDXL 64x64": (2, 10, 10, 4096, 4096, 64, None),
    "SDXL 32x32": (2, 20, 20, 1024, 1024, 64, None),
    "SD1.5 64x64": (2, 8, 8, 4096, 4096, 40, None),
    "PixArt, bias": (2, 16, 16, 4096, 4096, 72, "bias"),
    "PixArt, float32 bias": (2, 16, 16, 4096, 4096, 72, "float32 bias"),
    "full boolean mask": (2, 16, 16, 4096, 4096, 128, "boolean"),
    "head 72": (2, 16, 16, 4096, 4096, 72, None),
    "head 80": (2, 16, 16, 4096, 4096, 80, None),
    "head 96": (2, 16, 16, 4096, 4096, 96, None),
    "head 160": (2, 8, 8, 4096, 4096, 160, None),
    "head 192": (2, 8, 8, 4096, 4096, 192, None),
    "head 256": (2, 8, 8, 4096, 4096, 256, None),
    "VAE middle": (1, 1, 1, 4096, 4096, 512, None),
    "VAE middle, 1024x1024": (1, 1, 1, 16384, 16384, 512, None),
    "VAE middle, batch 2": (2, 1, 1, 4096, 4096, 512, None),
    "VAE middle, 256x256": (1, 1, 1, 1024, 1024, 512, None),
    "VAE middle, boolean mask": (1, 1, 1, 4096, 4096, 512, "boolean"),
    "head 160, boolean mask": (2, 8, 8, 4096, 4096, 160, "boolean"),
    "head 192, boolean mask": (2, 8, 8, 4096, 4096, 192, "boolean"),
    "head 256, boolean mask": (2, 8, 8, 4096, 4096, 256, "boolean"),
    "head 160, bias": (2, 8, 8, 4096, 4096, 160, "bias"),
    "head 256, bias": (2, 8, 8, 4096, 4096, 256, "bias"),
    "head 256, float32 bias": (2, 8, 8, 4096, 4096, 256, "float32 bias"),
    "head 320": (1, 1, 1, 4096, 4096, 320, None),
    "head 384": (1, 8, 8, 4096, 4096, 384, None),
    "Llama, causal, 32 key heads": (2, 32, 32, 4096, 4096, 128, "causal"),
    "Llama-8B, causal": (2, 32, 8, 4096, 4096, 128, "causal"),
    "Llama-8B, causal, padded": (2, 32, 8, 4096, 4096, 128, "causal, padding"),
    "Mistral-7B, window": (1, 32, 8, 8192, 8192, 128, "window"),
    "short": (8, 16, 16, 256, 256, 64, None),
    "CLIP ViT-L": (32, 16, 16, 257, 257, 64, None),
    "SDXL cross 64x64": (2, 10, 10, 4096, 77, 64, None),
    "SDXL cross 32x32": (2, 20, 20, 1024, 77, 64, None),
    "SAM window": (25, 16, 16, 196, 196, 80, "bias a head"),
    "Llama-8B, one token": (1, 32, 8, 1, 4096, 128, None),
    "Llama-8B, one token, 16 sequences": (16, 32, 8, 1, 4096, 128, None),
    "Llama-8B, one token, 32768 keys": (1, 32, 8, 1, 32768, 128, None),
    "Llama-8B, eight tokens": (1, 32, 8, 8, 4096, 128, None),
    "Whisper, one token": (1, 20, 20, 1, 1500, 64, None),
}
TORCH = {
    "flash": SDPBackend.FLASH_ATTENTION,
    "cuDNN": SDPBackend.CUDNN_ATTENTION,
    "efficient": SDPBackend.EFFICIENT_ATTENTION,
}
OURS = {"hopper": "hopper", "tensor_core": "mma", "cudnn": "cudnn", "multiply_add": "plain"}
COLUMNS = ("hopper", "tensor_core", "cudnn", "default", *TORCH, "torch")
WITH_LSE = ("with_lse", "cuDNN_with_lse")


WINDOW = 4096  # keys before a query's own that it sees, in "window"


def mask_of(kind, batch, heads, queries, keys):
    if kind in ("padding", "causal, padding"):
        return (torch.arange(keys, device="cuda") < keys - 17).expand(batch, 1, 1, keys)
    if kind in ("bias", "float32 bias", "bias a head"):
        return torch.randn(batch, heads if kind == "bias a head" else 1, queries, keys, device="cuda")
    if kind == "boolean":
        return torch.rand(batch, 1, queries, keys, device="cuda") < 0.9
    return None


def seconds(launch, repeats=9):
    """The median time of a launch, as replayed from a graph: what the device takes, not its host."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            launch()
    torch.cuda.synchronize()
    start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    launch()
    stop.record()
    torch.cuda.synchronize()
    inner = max(1, min(50, int(4.0 / max(start.elapsed_time(stop), 1e-3))))
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(inner):
            launch()
    times = []
    for _ in range(repeats + 1):
        start.record()
        graph.replay()
        stop.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(stop) / inner)
    return statistics.median(times[1:]) / 1e3


def measure(case, columns, dtype):
    batch, heads, key_heads, queries, keys, width, kind = case
    q, k, v = (
        torch.randn(batch, length, n, width, device="cuda").to(dtype).transpose(1, 2)
        for length, n in ((queries, heads), (keys, key_heads), (keys, key_heads))
    )
    mask = mask_of(kind, batch, heads, queries, keys)
    if kind in ("bias", "bias a head"):
        mask = mask.to(dtype)
    output = torch.empty_like(q)
    window = kind == "window"
    causal = window or kind in ("causal", "causal, padding")
    work = 4 * batch * heads * queries * keys * width / (2 if causal else 1)
    torchs_mask = mask
    if window or (causal and mask is not None):  # torch takes a mask or causality
        torchs_mask = torch.ones(queries, keys, dtype=torch.bool, device="cuda").tril()
        if window:
            torchs_mask = torchs_mask.triu(-WINDOW)
            work = 4 * batch * heads * width * torchs_mask.sum().item()
        else:
            torchs_mask = torchs_mask & mask

    def torchs():
        return F.scaled_dot_product_attention(
            q, k, v, torchs_mask, is_causal=causal and torchs_mask is None,
            enable_gqa=key_heads != heads,
        )  # fmt: skip

    def ours(backend):
        launchers.attention(
            backend, q, k, v, output, mask=mask, causal=int(causal),
            window_left=WINDOW if window else -1,
        )  # fmt: skip

    def default():
        ext.attention_forward(
            q, k, v, mask, head_first=True, is_causal=causal, window_size=(WINDOW, -1) if window else (-1, -1)
        )

    def with_lse():
        if kind == "causal" and queries != keys:
            raise RuntimeError("the last query sees the last key here")
        ext.attention_with_lse(
            q, k, v, attn_mask=mask, head_first=True, causal=causal, window_size=(WINDOW, -1) if window else (-1, -1)
        )

    def cudnn_with_lse():
        if key_heads != heads or torchs_mask is not None:
            raise RuntimeError("not by this call")
        torch.ops.aten._scaled_dot_product_cudnn_attention(q, k, v, None, True, 0.0, causal)

    calls = {"default": default, "with_lse": with_lse, "cuDNN_with_lse": cudnn_with_lse}
    found = {}
    for name in columns:
        chosen = sdpa_kernel(TORCH[name]) if name in TORCH else contextlib.nullcontext()
        launch = calls.get(name, torchs)
        if name in OURS:
            launch = functools.partial(ours, OURS[name])
        with chosen, contextlib.suppress(RuntimeError):  # it does not compute this problem
            found[name] = seconds(launch)
    return {name: work / s / 1e12 for name, s in found.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="cases whose name contains this")
    parser.add_argument("--columns", default=",".join(COLUMNS), help="default: %(default)s")
    parser.add_argument("--type", default="bfloat16", choices=("bfloat16", "float16", "float32"))
    parser.add_argument("--json", help="also write the numbers there")
    arguments = parser.parse_args()
    print(
        f"{torch.cuda.get_device_name()}, torch {torch.__version__}, "
        f"cuDNN {torch.backends.cudnn.version()}, {arguments.type}, TFLOP/s"
    )
    rows, columns = {}, arguments.columns.split(",")
    known = dict.fromkeys((*COLUMNS, *OURS, *WITH_LSE))
    if unknown := set(columns) - set(known):
        parser.error(f"no column {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    print("| case | " + " | ".join(columns) + " |")
    print("|---|" + "---|" * len(columns))
    for name, case in CASES.items():
        if arguments.only not in name:
            continue
        rows[name] = measure(case, columns, getattr(torch, arguments.type))
        cells = (f"{rows[name][c]:.0f}" if c in rows[name] else "-" for c in columns)
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)
    if arguments.json:
        Path(arguments.json).write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    with torch.inference_mode():
        main()
