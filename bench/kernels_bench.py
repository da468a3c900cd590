"""The CUDA kernels against a copy kernel, torch and torch.compile, in one process.

    ./dev bench kernels [--only REGEX] [--sweep] [--seconds S] [--json FILE]

Every launch is captured in a CUDA graph, many to a graph, and the median over replays of graph time by
launches is what counts. Inputs are random normal numbers. *Cold* launches go round among so many sets
of tensors that none of them is in the second-level cache when its turn comes; *warm* ones use one
set over and over. The copy moves as many bytes (half of them read) in the same way. Bytes are those that
have to move once: every operand read, every result written.

Columns: bytes and rate of ours; ours as a part of the copy's rate; how many times faster ours is
than torch's functions and than torch.compile of the same lines; and than the latter a kernel would be
that moves its bytes as fast as the copy (``at most``).
"""

import argparse
import json
import math
import re
import statistics
import sys

import torch
from image_cases import image_cases
from joint_cases import joint_cases
from kernel_cases import activation_cases, norm_cases, rotary_cases, softmax_cases, sweep_cases

COLD_BYTES = 512 * 2**20
WARM_UP = 0.03  # seconds


def capture(run, sets, per_launch):
    """A graph of several rounds over the sets, how many launches it holds, and the results it keeps."""
    launches = max(len(sets), min(200, math.ceil(0.002 / per_launch)))
    launches = math.ceil(launches / len(sets)) * len(sets)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(2):
            run(sets[0])
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    kept = [None] * len(sets)  # results of torch's functions go round like the inputs
    with torch.cuda.graph(graph):
        for i in range(launches):
            kept[i % len(sets)] = run(sets[i % len(sets)])
    return graph, launches, kept


def measure(ways, per_launch, seconds):
    """Seconds of a launch of each way, a dict of (run, sets): median over replays of its graph.

    The ways take turns, and nothing counts before the device has been busy for a while: what ran first
    after an idle time (a compilation, allocations) used to lose up to a tenth.
    """
    graphs = {name: capture(run, sets, per_launch) for name, (run, sets) in ways.items()}
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    times = {name: [] for name in ways}
    spent = 0.0
    while spent < WARM_UP + seconds * len(ways) or len(times["ours"]) < 5:
        warm = spent >= WARM_UP
        for name, (graph, launches, _) in graphs.items():
            begin.record()
            graph.replay()
            end.record()
            end.synchronize()
            time = begin.elapsed_time(end) / 1e3
            spent += time
            if warm:
                times[name].append(time / launches)
    return {name: statistics.median(of) for name, of in times.items()}


def run_case(case, launchers, seconds, compiled=True, one_state=False):
    """Rows of results, one for each state of the cache; with `one_state` the cold one where there is
    one."""
    first = case.make()
    traffic = case.traffic(first)
    storages = (t.untyped_storage() for t in first.values())
    held = sum({s.data_ptr(): s.nbytes() for s in storages}.values())  # parts of one tensor count once
    count = max(2, math.ceil(COLD_BYTES / held)) if held >= 2**20 else 1
    sets = [first] + [case.make() for _ in range(count - 1)]
    guess = traffic / 3e12 + 2e-6
    source = torch.randn(count, max(traffic // 32 * 4, 16), device="cuda")  # rows of 16-byte vectors
    target = torch.empty_like(source)
    copies = [(source[i], target[i]) for i in range(count)]
    half = traffic // 2 // 16 * 16

    def copy(pair):
        launchers.copy(*pair, half)

    fast = None
    if compiled:
        torch.compiler.reset()
        fast = torch.compile(case.lines, dynamic=False)
    results = []
    states = ("cold", "warm") if count > 1 else ("warm",)
    for state in states[:1] if one_state else states:
        some = sets if state == "cold" else sets[:1]
        ways = {
            "ours": (case.ours, some),
            "copy": (copy, copies[: len(some)]),
            "torch": (case.torch or case.lines, some),
        }
        if fast is not None:
            ways["compile"] = (fast, some)
        times = measure(ways, guess, seconds)
        results.append({
            "group": case.group, "shape": case.shape, "state": state, "bytes": traffic, **times,
            **case.fields,
        })  # fmt: skip
    return results


def show(row):
    ours = row["ours"]

    def times(name):
        return f"{row[name] / ours:6.2f}" if name in row else "     -"

    print(
        f"{row['group']:<34} {row['shape']:<34} {row['state']:<5} {row['bytes'] / 2**20:8.1f} MiB "
        f"{ours * 1e6:8.2f} us {row['bytes'] / ours / 1e9:6.0f} GB/s  copy {row['copy'] / ours:5.3f}  "
        f"torch {times('torch')}  compile {times('compile')}"
        + (f" at most {row['compile'] / row['copy']:.2f}" if "compile" in row else ""),
        flush=True,
    )


def show_misses(rows):
    """Where ours is more than 3 % behind torch or torch.compile."""
    behind = [
        (row, name, row[name] / row["ours"])
        for row in rows
        for name in ("torch", "compile")
        if row.get(name, math.inf) < 0.97 * row["ours"]
    ]
    print(f"{len(behind)} of {len(rows)} measurements are more than 3 % behind:")
    for row, name, ratio in behind:
        print(f"  {row['group']} {row['shape']} {row['state']}: {ratio:.2f} of {name}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="cases whose name has this regular expression")
    parser.add_argument("--sweep", action="store_true", help="widths by rows instead of the table")
    parser.add_argument("--no-compile", action="store_true", help="leave torch.compile out")
    parser.add_argument("--seconds", type=float, default=0.02, help="of device time a measurement")
    parser.add_argument("--json", help="where to write the numbers")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        print("kernels_bench: no CUDA device; nothing to measure", file=sys.stderr)
        return 0
    import launchers

    print(
        f"{torch.cuda.get_device_name()}, torch {torch.__version__}, CUDA {torch.version.cuda}; "
        "us: time of ours; copy: part of the copy's rate; torch, compile: times faster than they"
    )
    makers = (
        (sweep_cases,) if options.sweep
        else (norm_cases, rotary_cases, joint_cases, image_cases, softmax_cases, activation_cases)
    )  # fmt: skip
    rows = []
    for maker in makers:
        for case in maker(launchers):
            if not re.search(options.only, f"{case.group} {case.shape}"):
                continue
            for row in run_case(
                case, launchers, options.seconds, not options.no_compile, options.sweep
            ):
                rows.append(row)
                show(row)
            torch.cuda.empty_cache()
    if options.sweep:
        show_misses(rows)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
