"""How long `refit migrate` needs, and its bounds: over diffusers by itself and beside ast-grep, which
scans the same tree for one pattern; over one small file; with `--large` over 50,000 Python files.

Run by `./dev bench rewriter`. Options: `--tree FOLDER` (instead of the pinned diffusers), `--large`
(also a tree of 50,000 Python files, linked together from the packages of the environment),
`--runs N`. One thread each. Times are processor time, user and system: it says the same on a busy
machine as on a quiet one. Ends with status 1 where a bound is missed.
"""

import argparse
import importlib.util
import itertools
import json
import os
import shutil
import statistics
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build"
SECONDS, RATIO = 3.0, 1.5  # over diffusers; beside ast-grep
SMALL_SECONDS = 0.15
LARGE_SECONDS, LARGE_MIB, LARGE_FILES = 60.0, 400, 50_000
PATTERN = "F.softmax($$$)"
SMALL = """import torch.nn.functional as F


def attend(query, key, value):
    return F.scaled_dot_product_attention(query, key, value)
"""


@dataclass
class Cost:
    cpu: float
    wall: float
    memory: float  # MiB


# Runs its arguments and prints the status and what it took. A child counts the memory of the process
# that it was forked from as its own, so that this is not done by the one that reads the reports.
LAUNCHER = """
import os, sys, time
begin = time.perf_counter()
out = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
child = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ, file_actions=out)
_, status, used = os.wait4(child, 0)
print(os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime,
      time.perf_counter() - begin, used.ru_maxrss / 1024)
"""


def run(command: list[str | Path]) -> Cost:
    """One run's cost; the output goes nowhere."""
    told = subprocess.run([sys.executable, "-S", "-E", "-c", LAUNCHER, *map(str, command)],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=True, text=True)
    status, *cost = told.stdout.split()
    # ast-grep ends with 1 where nothing matched, refit with 3 where a file does not parse.
    if int(status) not in (0, 1, 3):
        sys.exit(f"{command[0]} ended with status {status}")
    return Cost(*map(float, cost))


def median(costs: list[Cost]) -> Cost:
    return Cost(*(statistics.median(getattr(c, name) for c in costs)
                  for name in ("cpu", "wall", "memory")))


def migrate(tree: Path) -> list[str | Path]:
    return [BUILD / "bin/refit", "migrate", tree, "--quiet", "--jobs", "1"]


def counts(tree: Path) -> str:
    """What a run over a tree looked at."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.json")
        run([*migrate(tree), "--report", f"json:{report}"])
        told = json.loads(report.read_text())
    files = told["files"]
    return (f"{files['seen']} files, {files['parsed']} parsed, "
            f"{told['summary']['total']['found']} sites, "
            f"{files['lowered_functions']} functions lowered")


def said(name: str, cost: Cost, bound: float) -> bool:
    print(f"{name:24} {cost.cpu:7.3f} s CPU (bound {bound})  {cost.wall:7.3f} s  "
          f"{cost.memory:5.0f} MiB")
    return cost.cpu <= bound


def measure_tree(tree: Path, runs: int) -> bool:
    scan = [shutil.which("ast-grep"), "run", "--pattern", PATTERN, "--lang", "python", "--threads",
            "1", "--no-ignore", "hidden", tree]
    costs: dict[str, list[Cost]] = {"refit": [], "ast-grep": []}
    for _ in range(runs):  # in turn, so that what else the machine does falls on both
        costs["refit"].append(run(migrate(tree)))
        costs["ast-grep"].append(run(scan))
    tool, other = median(costs["refit"]), median(costs["ast-grep"])
    print(f"{tree.name}: {counts(tree)}, {runs} runs")
    good = said("refit migrate", tool, SECONDS)
    ratio = tool.cpu / other.cpu
    print(f"{'ast-grep':24} {other.cpu:7.3f} s CPU, ratio {ratio:.2f} (bound {RATIO})")
    return good and ratio <= RATIO


def measure_small(runs: int) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "attend.py").write_text(SMALL)
        return said("one small file", median([run(migrate(folder)) for _ in range(runs)]),
                    SMALL_SECONDS)


def measure_large() -> bool:
    tree = large_tree()
    cost = run(migrate(tree))
    print(f"{tree.name}: {counts(tree)}, 1 run")
    good = said("refit migrate", cost, LARGE_SECONDS)
    print(f"{'':24} {cost.memory:7.0f} MiB (bound {LARGE_MIB})")
    return good and cost.memory <= LARGE_MIB


def large_tree() -> Path:
    """50,000 Python files: the environment's packages and standard library, linked again and again."""
    target = BUILD / "bench-tree"
    stamp = target / "complete"
    if stamp.exists():
        return target
    sources = [sysconfig.get_path(name) for name in ("purelib", "stdlib")]
    files = [(root, os.path.join(folder, name)) for root in sources
             for folder, folders, names in sorted_walk(root, sources)
             for name in names if name.endswith(".py")]
    made: set[str] = set()
    for copy, (root, file) in zip(itertools.chain.from_iterable(
            itertools.repeat(n, len(files)) for n in itertools.count()),
            itertools.cycle(files)):
        if len(made) == LARGE_FILES:
            break
        link = f"{target}/copy{copy}/{os.path.relpath(file, root)}"
        made.add(link)
        os.makedirs(os.path.dirname(link), exist_ok=True)
        if os.path.exists(link):
            continue
        try:
            os.link(file, link)
        except OSError:  # another file system
            shutil.copyfile(file, link)
    stamp.touch()
    return target


def sorted_walk(root: str, others: list[str]) -> Iterator[tuple[str, list[str], list[str]]]:
    """os.walk in the order of the names, without caches and folders that are walked by themselves."""
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in ("__pycache__", "site-packages")
                            and os.path.join(folder, name) not in others)
        yield folder, folders, sorted(names)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tree", type=Path)
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    tree = options.tree or Path(importlib.util.find_spec("diffusers").origin).parent
    good = [measure_tree(tree, options.runs), measure_small(options.runs)]
    if options.large:
        good.append(measure_large())
    sys.exit(0 if all(good) else 1)


if __name__ == "__main__":
    main()
