"""How much faster ``mindiesd.prepare`` makes models, step by step.

usage: python bench/prepare_bench.py [--device cpu|cuda] [--dtype NAME …] [--only TEXT] [--speed close|fast] [--small]
                                     [--threads N] [--rounds N] [--named STEP …] [--compiled] [--graphs] [--json FILE]

Each model (bench/prepare_models.py) is timed as it is, with each step alone, with all steps of the profile, with each
of the steps given by --named, which no profile has, and, with --compiled, under torch.compile as it is and prepared.
With --graphs, on CUDA, each is replayed as a graph, which leaves out what Python and launches take. The variants take
turns in every round, so that what else the machine does falls on all of them; a ratio is the median time of the
original over that of the variant, round by round. TF32 and cuDNN's search are settings of the process, and no variant
has them.
"""

import argparse
import copy
import json
import statistics
import sys
import time
from pathlib import Path

import torch
from torch.utils._pytree import tree_map_only

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "runtime" / "python"))

from prepare_models import CASES  # noqa: E402

import mindiesd  # noqa: E402
from mindiesd.prepare import STEPS  # noqa: E402
from mindiesd.prepare.step import SPEEDS  # noqa: E402


# Steps that set something for the process, and would fall on all variants.
PROCESS = ("tf32", "cudnn-search")


def variants(model, x, speed, named, compiled):
    """{name: (callable, error or None)}; a step that changes nothing is left out."""
    made = {"original": (model, None)}
    profiles = SPEEDS[: SPEEDS.index(speed) + 1]
    for name in [name for name, step in STEPS.items() if step.speed in profiles and not step.only_named]:
        other = copy.deepcopy(model)
        report = mindiesd.prepare(other, x, steps=[name], speed=speed)
        if name in PROCESS:
            report.restore()
        elif report.changes:
            made[name] = other, report.errors[name]
    prepared = copy.deepcopy(model)
    report = mindiesd.prepare(prepared, x, steps=[name for name in STEPS if name in made], speed=speed)
    made["prepared"] = prepared, max(report.errors.values(), default=None)
    for name in named:
        other = copy.deepcopy(model)
        report = mindiesd.prepare(other, x, steps=[name], speed=speed)
        if report.changes:
            made[name] = other, report.errors[name]
        else:
            print(f"{name}: {report.why('')}", file=sys.stderr)
    if compiled:
        made["compiled"] = torch.compile(copy.deepcopy(model)), None
        made["prepared, compiled"] = torch.compile(copy.deepcopy(prepared)), None
    return made


def called(model, x):
    return model(**x) if isinstance(x, dict) else model(x)


def replayed(model, x):
    """The model's kernels for this input as one graph."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            called(model, x)
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        called(model, x)
    return graph.replay


def moved(tensor, device, dtype):
    """A floating tensor in the model's type; time steps and the like keep theirs."""
    return tensor.to(device, dtype) if tensor.is_floating_point() else tensor.to(device)


def calls_for(call, seconds):
    """How many calls take about so many seconds."""
    begin, count = time.perf_counter(), 0
    while time.perf_counter() - begin < seconds:
        call()
        count += 1
    return max(count, 1)


def timed(call, count, wait):
    wait()
    begin = time.perf_counter()
    for _ in range(count):
        call()
    wait()
    return (time.perf_counter() - begin) / count


def measure(made, x, rounds, wait, *, graphs):
    """{name: (median seconds, median of original over variant)}"""
    calls = {name: (lambda model=model: called(model, x)) for name, (model, _) in made.items()}
    if graphs:
        calls = {name: replayed(model, x) for name, (model, _) in made.items()}
    for call in calls.values():
        for _ in range(3):
            call()
    wait()
    count = calls_for(lambda: (calls["original"](), wait()), 0.2)
    times = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            times[name].append(timed(call, count, wait))
    return {
        name: (
            statistics.median(own),
            statistics.median(a / b for a, b in zip(times["original"], own, strict=True)),
        )
        for name, own in times.items()
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--dtype", nargs="*", default=["float32"])
    parser.add_argument("--only", default="")
    parser.add_argument("--speed", default="close", choices=["close", "fast"])
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--named", nargs="*", default=[], choices=[n for n, step in STEPS.items() if step.only_named])
    parser.add_argument("--threads", type=int)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--compiled", action="store_true")
    parser.add_argument("--graphs", action="store_true")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if options.threads:
        torch.set_num_threads(options.threads)
    wait = torch.cuda.synchronize if options.device == "cuda" else (lambda: None)
    where = torch.cuda.get_device_name() if options.device == "cuda" else f"CPU, {torch.get_num_threads()} threads"
    graphs = ", as graphs" if options.graphs else ""
    print(f"torch {torch.__version__}, {where}{graphs}, speed {options.speed!r}")
    print("| model | dtype | original, ms | variant | original / variant | error |\n|---|---|---|---|---|---|")
    found = []
    for name, make in CASES.items():
        for dtype in options.dtype if options.only in name else ():
            torch.manual_seed(0)
            model, x = make(options.small)
            model = model.eval().requires_grad_(False).to(options.device, getattr(torch, dtype))
            x = tree_map_only(torch.Tensor, lambda t, to=getattr(torch, dtype): moved(t, options.device, to), x)
            with torch.no_grad():
                made = variants(model, x, options.speed, options.named, options.compiled)
                results = measure(made, x, options.rounds, wait, graphs=options.graphs)
            for variant, (seconds, ratio) in results.items():
                error = made[variant][1]
                shown = "" if error is None else f"{error:.1e}"
                if variant != "original":
                    base = results["original"][0] * 1e3
                    print(f"| {name} | {dtype} | {base:.2f} | {variant} | {ratio:.2f} | {shown} |", flush=True)
                found.append({"model": name, "dtype": dtype, "variant": variant, "seconds": seconds, "ratio": ratio,
                              "error": error, "device": where})  # fmt: skip
            del made, model
    if options.json:
        options.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
