"""Launches and passes over the hidden states of transformer blocks, outside matrix products and attention.

usage: python bench/models_bench.py [--original DIR] [--migrated DIR] [--only TEXT] [--details] [--no-compiled] [--json]
       python bench/models_bench.py --kernels [--migrated DIR] [--only TEXT]

DIR holds a package ``diffusers``; the original is otherwise the installed one, and the migrated one is made from it by
``./dev migrate`` in a scratch folder. Each block (bench/block_cases.py) runs once on the CPU in bfloat16, and
``mindiesd._traffic`` counts launches and bytes; a pass is one read or one write of the hidden states. One operator
stands for one kernel on a GPU, which --kernels shows there: it prints how many kernels torch.profiler sees for the
calls of each operator. *compiled* is what inductor counts for the kernels that it makes of the original. All counts
are the same from run to run.
"""

import argparse
import contextlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import torch
from torch.utils._pytree import tree_map

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "runtime" / "python"))

from mindiesd._traffic import Traffic  # noqa: E402


def built(case):
    from block_cases import CASES

    torch.manual_seed(0)
    block, inputs, unit = CASES[case]()
    block = block.to(torch.bfloat16).eval().requires_grad_(requires_grad=False)
    for parameter in block.parameters():
        torch.nn.init.normal_(parameter, std=0.05)
    return block, inputs, unit


def eager(case):
    """{"launches", "passes", "operators": {name: [launches, passes]}}"""
    block, inputs, unit = built(case)
    with torch.no_grad():
        block(**inputs)
        with Traffic() as traffic:
            block(**inputs)
    operators = {name: [traffic.launches[name], size / unit] for name, size in traffic.bytes.most_common()}
    return {
        "launches": traffic.launches.total(),
        "passes": traffic.bytes.total() / unit,
        "operators": operators,
    }


class _Counted(Exception):
    """Ends a compilation whose kernels have been counted."""


def compiled(case):
    """The same of the kernels that inductor would make, of which it writes none."""
    from torch._inductor import config
    from torch._inductor.graph import GraphLowering

    block, inputs, unit = built(case)
    found = {}

    def count(graph):
        graph.init_wrapper_code()
        graph._update_scheduler()
        own = [node for node in graph.scheduler.nodes if not (node.is_extern() or node.is_template())]
        sizes = [node.get_read_write_buffers_sizes() for node in own]
        found.update(launches=sum(map(bool, sizes)), passes=sum(sizes) / unit)
        raise _Counted

    original = GraphLowering.compile_to_module
    GraphLowering.compile_to_module = count
    try:
        with torch.no_grad(), config.patch(fx_graph_cache=False), contextlib.suppress(Exception):
            torch.compile(block, fullgraph=True)(**inputs)
    finally:
        GraphLowering.compile_to_module = original
    if not found:
        raise RuntimeError(f"inductor made no kernels of {case}")
    return found


def kernels(case):
    """{operator: [calls, kernels]} of the package's own operators on a GPU, by torch.profiler."""
    from torch.profiler import ProfilerActivity, profile

    block, inputs, _ = built(case)
    block = block.cuda()
    inputs = tree_map(lambda value: value.cuda() if isinstance(value, torch.Tensor) else value, inputs)
    found = {}
    with torch.no_grad():
        for _ in range(2):  # the first profile starts what the second one reads
            with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as seen:
                block(**inputs)
                torch.cuda.synchronize()
    # Not every kernel is linked to the operator that launched it, whose time holds the launch.
    launches = [e.time_range.start for e in seen.events() if "LaunchKernel" in e.name]
    for event in seen.events():
        if event.name.startswith("mindiesd::"):
            counts = found.setdefault(event.name, [0, 0])
            counts[0] += 1
            counts[1] += sum(event.time_range.start <= at <= event.time_range.end for at in launches)
    return found


def counted(root, cases, mode):
    """{case: counts} of the package in ``root``, in a process of its own."""
    path = os.pathsep.join(map(str, (root, ROOT / "runtime" / "python", ROOT / "bench")))
    environment = os.environ | {"PYTHONPATH": path}
    library = ROOT / "build" / "lib" / "libmindiesd.so"
    if library.is_file():
        environment.setdefault("MINDIESD_LIBRARY", str(library))
    command = [sys.executable, __file__, "--count", mode, *cases]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"counting the blocks of {root} failed:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def migrated_copy(folder):
    """The folder of a copy of the installed diffusers after ``refit migrate --write``."""
    installed = Path(importlib.util.find_spec("diffusers").origin).parent
    shutil.copytree(installed, folder / "diffusers", ignore=shutil.ignore_patterns("__pycache__"))
    refit = ROOT / "build" / "bin" / "refit"
    subprocess.run([refit, "migrate", folder, "--write", "--quiet"], stdout=subprocess.DEVNULL, check=False)
    return folder


def table(results, details):
    heads = ("block", "original", "", "compiled", "", "migrated", "", "of compiled")
    print("{:<27}{:>9}{:>8}{:>9}{:>8}{:>9}{:>8}{:>12}".format(*heads))
    print("{:<27}{:>9}{:>8}{:>9}{:>8}{:>9}{:>8}".format("", *("launches", "passes") * 3))
    for case, row in results.items():
        cells = []
        for mode in ("original", "compiled", "migrated"):
            counts = row.get(mode)
            cells += [f"{counts['launches']}", f"{counts['passes']:.1f}"] if counts else ["-", "-"]
        part = f"{row['migrated']['passes'] / row['compiled']['passes']:.2f}" if "compiled" in row else "-"
        print("{:<27}{:>9}{:>8}{:>9}{:>8}{:>9}{:>8}{:>12}".format(case, *cells, part))
        for name, (launches, passes) in row["migrated"]["operators"].items() if details else ():
            print(f"    {name:<45}{launches:>4} launches {passes:8.2f} passes")


def main():
    from block_cases import CASES

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--original", type=Path, help="a folder with a package diffusers")
    parser.add_argument("--migrated", type=Path, help="a folder with the migrated package")
    parser.add_argument("--only", default="", help="blocks whose name has this text")
    parser.add_argument("--details", action="store_true", help="what each operator of the migrated block moves")
    parser.add_argument("--no-compiled", action="store_true", help="without what inductor counts")
    parser.add_argument("--kernels", action="store_true", help="kernels of each operator on a GPU")
    parser.add_argument("--json", action="store_true", help="the counts as JSON")
    parser.add_argument("--count", nargs="+", metavar=("MODE", "BLOCK"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.count:
        mode, *cases = options.count
        count = {"eager": eager, "compiled": compiled, "kernels": kernels}[mode]
        print(json.dumps({case: count(case) for case in cases}))
        return
    cases = [case for case in CASES if options.only in case]
    with tempfile.TemporaryDirectory() as scratch:
        migrated = options.migrated or migrated_copy(Path(scratch))
        if options.kernels:
            for case, found in counted(migrated, cases, "kernels").items():
                for name, (calls, launched) in sorted(found.items()):
                    print(f"{case:<27}{name:<45}{calls:>4} calls {launched:>4} kernels")
            return
        original = options.original or Path(importlib.util.find_spec("diffusers").origin).parents[1]
        modes = {"original": (original, "eager"), "migrated": (migrated, "eager")}
        if not options.no_compiled:
            modes["compiled"] = (original, "compiled")
        counts = {name: counted(root, cases, mode) for name, (root, mode) in modes.items()}
    results = {case: {name: found[case] for name, found in counts.items()} for case in cases}
    print(json.dumps(results, indent=1)) if options.json else table(results, options.details)


if __name__ == "__main__":
    main()
