"""Throughput of several instances of a model, two models side by side, and calls by CUDA graphs, in three tables.

    python3 bench/serving_bench.py [--device DEVICE] [--only REGEX] [--counts 1,2,4,8] [--seconds S]

Models are encoders of torch's modules, the text encoder of CLIP and the UNet of SDXL where transformers and diffusers
are installed, with random weights, in bfloat16 on a GPU and in float32, with few narrow layers, on the CPU. A rate is
the number of requests answered in --seconds, a time the median over rounds of the wall time of a call, in which the
variants take turns. On the CPU there are neither streams nor graphs, so the first table is the only one.
"""

import argparse
import copy
import re
import statistics
import sys
import time
from pathlib import Path

import torch

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "runtime" / "python"))

import mindiesd  # noqa: E402
from mindiesd import serving  # noqa: E402
from serving_cases import Cases  # noqa: E402

GRAPHED = ("small encoder", "CLIP text encoder")  # whose launches take longer than their computation


def table(title, header, rows):
    print(f"\n{title}")
    widths = [max(len(str(row[i])) for row in [header, *rows]) for i in range(len(header))]
    for row in [header, *rows]:
        first, *rest = (str(cell) for cell in row)
        print("  ".join([first.ljust(widths[0]), *(c.rjust(w) for c, w in zip(rest, widths[1:], strict=True))]))
    sys.stdout.flush()


def instances(cases, options):
    counts, rows = tuple(options.counts), []
    for name, case in cases.models().items():
        if not re.search(options.only, name):
            continue
        make, arguments = case()
        first = make()
        forms = {name: lambda first=first: copy.deepcopy(first)}  # faster than weights that are drawn anew
        if cases.device != "cpu" and name in GRAPHED:
            forms[f"{name}, graphed"] = lambda first=first: mindiesd.graphed(copy.deepcopy(first), warmup=1)
        for form, built in forms.items():
            measured = serving.throughput(built, arguments, counts, cases.device, seconds=options.seconds)
            rates = {rate.count: rate.per_second for rate in measured.rates}
            rows.append([form, *(f"{rates[count]:.1f}" for count in counts), measured.best])
        del first, forms, built
        if cases.device != "cpu":
            torch.cuda.empty_cache()
    table("instances: requests a second", ["model", *map(str, counts), "grows up to"], rows)


def milliseconds(variants, seconds):
    """The median time of a call of each of the variants, which take turns."""
    for function in variants.values():
        for _ in range(4):  # warm-up, capture, replay
            function()
    torch.cuda.synchronize()
    times, begin = {name: [] for name in variants}, time.perf_counter()
    while time.perf_counter() - begin < seconds * len(variants) or len(times[next(iter(times))]) < 3:
        for name, function in variants.items():
            calls = 3
            first = time.perf_counter()
            for _ in range(calls):
                function()
            torch.cuda.synchronize()
            times[name].append((time.perf_counter() - first) / calls * 1e3)
    return {name: statistics.median(each) for name, each in times.items()}


def side_by_side(cases, options):
    rows = []
    for name, pair in cases.pairs().items():
        if not re.search(options.only, name):
            continue
        (make_f, of_f), (make_g, of_g) = pair
        f, g = make_f(), make_g()

        def plain(x, y, f=f, g=g):
            return f(x), g(y)

        def both(x, y, f=f, g=g):
            return mindiesd.overlap(lambda: f(x), lambda: g(y))

        given = (*of_f.args, *of_g.args)
        variants = {"plain": plain, "overlap": both, "graphed": mindiesd.graphed(plain)}
        variants["overlap, graphed"] = mindiesd.graphed(both)
        calls = {kind: (lambda variant=variant: variant(*given)) for kind, variant in variants.items()}
        found = milliseconds(calls, options.seconds)
        check(variants, given, name)
        rows.append([name, *(f"{found[kind]:.3f}" for kind in variants)])
    table("side by side: ms", ["models", "plain", "overlap", "graphed", "overlap, graphed"], rows)


def check(variants, given, name):
    """Every variant gives what the first one gives, and the graphs are there."""
    first, *others = variants
    expected = variants[first](*given)
    for other in others:
        for found, one in zip(variants[other](*given), expected, strict=True):
            torch.testing.assert_close(found, one, rtol=2e-2, atol=2e-2)
        if "graphed" in other and not variants[other].graphs:
            print(f"{name}: {other} has no graph: {'; '.join(variants[other].reasons)}")


def graphs(cases, options):
    rows = []
    for name, case in cases.models().items():
        if not re.search(options.only, name):
            continue
        make, arguments = case()
        model = make()
        fast = mindiesd.graphed(model)
        calls = {
            "eager": lambda model=model, a=arguments: model(*a.args, **a.kwargs),
            "graphed": lambda fast=fast, a=arguments: fast(*a.args, **a.kwargs),
        }
        found = milliseconds(calls, options.seconds)
        if not fast.graphs:
            print(f"{name} has no graph: {'; '.join(fast.reasons)}")
        ratio = found["eager"] / found["graphed"]
        rows.append([name, f"{found['eager']:.3f}", f"{found['graphed']:.3f}", f"{ratio:.2f}"])
        del model, fast, calls
        torch.cuda.empty_cache()
    table("graphs: ms", ["model", "eager", "graphed", "times"], rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--only", default="", metavar="REGEX", help="cases whose name this finds")
    parser.add_argument("--counts", type=lambda text: [int(n) for n in text.split(",")], default=[1, 2, 4, 8])
    parser.add_argument("--seconds", type=float, default=0.7, help="for each measurement")
    options = parser.parse_args()
    on_gpu = options.device != "cpu"
    if not on_gpu:
        torch.set_num_threads(1)
    cases = Cases(options.device, torch.bfloat16 if on_gpu else torch.float32)
    print(f"torch {torch.__version__} on {torch.cuda.get_device_name() if on_gpu else 'the CPU, a thread an instance'}")
    with torch.no_grad():
        if on_gpu:
            graphs(cases, options)
            side_by_side(cases, options)
        instances(cases, options)


if __name__ == "__main__":
    main()
