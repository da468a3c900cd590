"""How long `refit migrate` needs, beside the floor: ripgrep's search for the rules' literals plus a
plain tree-sitter program that parses every file on which an outcome depends (bench/deciding.py).

Run by `./dev bench rewriter`. Options: `--tree FOLDER` (instead of the pinned diffusers), `--large`
(also a tree of 50,000 Python files, linked together from the packages of the environment),
`--runs N`, `--threads N`. Times are processor time, user and system, of all threads: it says the
same on a busy machine as on a quiet one. Ends with status 1 where a bound is missed.
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

import yaml
from deciding import deciding_files

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build"
MEMORY_MIB = 400
LARGE_FILES = 50_000


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


def run(command: list[str | Path], stdin: bytes = b"") -> Cost:
    """One run's cost; the output goes nowhere."""
    with tempfile.TemporaryFile() as given:
        given.write(stdin)
        given.seek(0)
        told = subprocess.run([sys.executable, "-S", "-E", "-c", LAUNCHER, *map(str, command)],
                              stdin=given, stdout=subprocess.PIPE, check=True, text=True)
    status, *cost = told.stdout.split()
    # ripgrep ends with 1 where nothing matched, refit with 3 where a file does not parse.
    if int(status) not in (0, 1, 3):
        sys.exit(f"{command[0]} ended with status {status}")
    return Cost(*map(float, cost))


def median(costs: list[Cost]) -> Cost:
    return Cost(*(statistics.median(getattr(c, name) for c in costs)
                  for name in ("cpu", "wall", "memory")))


def literals() -> list[str]:
    """The texts by which the rules that ship tell a file: their triggers, their callees' names."""
    found: set[str] = set()
    for file in sorted((ROOT / "rules").glob("*.yaml")):
        document = yaml.safe_load(file.read_text())
        for rule in document["rules"] if isinstance(document, dict) else []:
            for entry in rule.get("triggers", []):
                found.update([entry] if isinstance(entry, str) else map(str, entry))
            for key in ("call", "construct"):
                names = rule["match"].get(key, [])
                names = [names] if isinstance(names, str) else names
                found.update(name.rpartition(".")[2] for name in names)
    return sorted(found - {""})


def measure(name: str, tree: Path, bound: float, runs: int, threads: int) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        report, words = Path(folder, "report.json"), Path(folder, "words")
        words.write_text("\n".join(literals()) + "\n")
        migrate = [BUILD / "bin/refit", "migrate", tree, "--quiet", "--jobs", str(threads)]
        run([*migrate, "--report", f"json:{report}"])
        told = json.loads(report.read_text())
        held = {site["file"] for site in told["sites"]}
        decided = deciding_files(told, tree)
        files = "".join(f"{told['root']}/{file}\n" for file in decided).encode()
        search = ["rg", "--no-ignore", "--threads", str(threads), "--type", "py",
                  "--count", "--fixed-strings", "--file", words, tree]
        parse = [BUILD / "bin/bench/parse_floor", str(threads)]
        costs: dict[str, list[Cost]] = {"refit": [], "search": [], "parse": []}
        for _ in range(runs):  # in turn, so that what else the machine does falls on all of them
            costs["refit"].append(run(migrate))
            costs["search"].append(run(search))
            costs["parse"].append(run(parse, files))
    tool, search_cost, parse_cost = (median(costs[key]) for key in ("refit", "search", "parse"))
    floor = search_cost.cpu + parse_cost.cpu
    ratio = tool.cpu / floor
    counts = told["files"]
    print(f"{name}: {counts['seen']} files, {counts['parsed']} parsed, {len(held)} with a site, "
          f"{len(decided) - len(held)} more decide, "
          f"{told['summary']['total']['found']} sites, {counts['lowered_functions']} functions "
          f"lowered, {threads} threads, {runs} runs")
    print(f"  refit migrate       {tool.cpu:7.3f} s CPU  {tool.wall:7.3f} s  {tool.memory:5.0f} MiB")
    print(f"  floor: search       {search_cost.cpu:7.3f} s CPU  {search_cost.wall:7.3f} s")
    print(f"  floor: parse        {parse_cost.cpu:7.3f} s CPU  {parse_cost.wall:7.3f} s")
    print(f"  ratio {ratio:.2f} (bound {bound}), memory {tool.memory:.0f} MiB (bound {MEMORY_MIB})")
    return ratio <= bound and tool.memory <= MEMORY_MIB


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
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    tree = options.tree or Path(importlib.util.find_spec("diffusers").origin).parent
    good = measure(tree.name, tree, 1.3, options.runs, options.threads)
    if options.large:
        good = measure("large tree", large_tree(), 1.5, options.runs, options.threads) and good
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
