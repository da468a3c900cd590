"""Linear layers with an int8 weight beside those of the activations' type, at sizes of real models.

usage: python bench/int8_bench.py [--device cpu|cuda] [--type TYPE] [--rows N,N,…] [--only TEXT] [--json FILE]

Each cell is the time of ``torch.nn.functional.linear`` over that of ``mindiesd.ext.int8_linear``, and the latter's
microseconds. The weights of a layer take turns, as those of a model's layers do, so that none is in a cache: 600 MB of
int8 on a GPU, 256 MB on a CPU. On a GPU the calls are replayed from a graph.
"""

import argparse
import json
import statistics
import sys
import time
from pathlib import Path

import torch
import torch.nn.functional as F  # noqa: N812

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "runtime" / "python"))
from mindiesd import ext  # noqa: E402

# name: outputs, inputs
LAYERS = {
    "Llama-8B query, key, value": (6144, 4096),
    "Llama-8B output": (4096, 4096),
    "Llama-8B gate, up": (28672, 4096),
    "Llama-8B down": (4096, 14336),
    "Llama-8B vocabulary": (128256, 4096),
    "Qwen2.5-1.5B down": (1536, 8960),
    "Phi-3-mini output": (3072, 3072),
    "GPT-2 medium output": (1024, 1024),
}
_BYTES = {"cuda": 600_000_000, "cpu": 256_000_000}


def on_gpu(calls, rounds):
    """Median seconds of a call, replayed from a graph of all."""
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for call in calls:
            call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for call in calls:
            call()
    times = []
    for _ in range(rounds + 1):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        graph.replay()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end) / 1e3 / len(calls))
    return statistics.median(times[1:])


def on_cpu(calls, rounds):
    times = []
    for _ in range(rounds + 1):
        begin = time.perf_counter()
        for call in calls:
            call()
        times.append((time.perf_counter() - begin) / len(calls))
    return statistics.median(times[1:])


def layer(outputs, inputs, device, dtype):
    """(int8 weights and scales, weights of the type), several of each."""
    count = max(2, min(64, _BYTES[device] // (outputs * inputs)))
    narrow = []
    for _ in range(count):
        weight = torch.randint(-127, 128, (outputs, inputs), dtype=torch.int8, device=device)
        narrow.append((weight, torch.rand(outputs, device=device) * 0.01 + 0.001))
    return narrow, [(weight * scales[:, None]).to(dtype) for weight, scales in narrow]


def measure(outputs, inputs, rows, device, dtype, rounds):
    """{rows: (seconds of the layer in its type, seconds with int8)}"""
    narrow, wide = layer(outputs, inputs, device, dtype)
    timed, found = on_gpu if device == "cuda" else on_cpu, {}
    for count in rows:
        x = torch.randn(count, inputs, device=device).to(dtype)
        found[count] = (
            timed([lambda w=w: F.linear(x, w) for w in wide], rounds),
            timed([lambda w=w, s=s: ext.int8_linear(x, w, s) for w, s in narrow], rounds),
        )
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--type", default=None, help="bfloat16 on a GPU and float32 on a CPU, if not given")
    parser.add_argument("--rows", default="1,2,4,8,16")
    parser.add_argument("--only", default="")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json")
    options = parser.parse_args()
    device, rows = options.device, [int(count) for count in options.rows.split(",")]
    kind = options.type or ("bfloat16" if device == "cuda" else "float32")
    name = torch.cuda.get_device_name() if device == "cuda" else f"{torch.get_num_threads()} threads of a CPU"
    print(f"{name}, torch {torch.__version__}, {kind}: times as fast as torch's linear (µs with int8)\n")
    print("| layer | " + " | ".join(f"{count} rows" for count in rows) + " |")
    print("|---|" + "---|" * len(rows))
    results = {}
    with torch.inference_mode():
        for title, (outputs, inputs) in LAYERS.items():
            if options.only not in title or (device == "cpu" and outputs * inputs > 2**28):
                continue
            found = measure(outputs, inputs, rows, device, getattr(torch, kind), options.rounds)
            cells = (f"{wide / narrow:.2f} ({narrow * 1e6:.1f})" for wide, narrow in found.values())
            print(f"| {title}, {outputs} × {inputs} | " + " | ".join(cells) + " |", flush=True)
            results[title] = {count: list(pair) for count, pair in found.items()}
    if options.json:
        Path(options.json).write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
