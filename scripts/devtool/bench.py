"""Runs the benchmarks: the programs of build/bin/bench and the scripts bench/*.py. Entry: run."""

import subprocess
from pathlib import Path

from devtool import testing, tree, venv
from devtool.steps import Stop, say

PROGRAMS = tree.BUILD / "bin" / "bench"
SCRIPTS = tree.ROOT / "bench"


def command(benchmark: Path) -> list[str | Path]:
    return [venv.python(), benchmark] if benchmark.suffix == ".py" else [benchmark]


def run(arguments: list[str]) -> int:
    """Runs those whose name contains the first argument; the rest goes to them."""
    wanted, rest = (arguments[0], arguments[1:]) if arguments else ("", [])
    found = [*PROGRAMS.glob("*_bench"), *SCRIPTS.glob("*_bench.py")]
    chosen = sorted((path for path in found if wanted in path.name), key=lambda path: path.name)
    if not chosen:
        names = ", ".join(sorted(path.name for path in found)) or "none"
        raise Stop(f"no benchmark has {wanted!r} in its name; there are {names}.")
    status = 0
    for benchmark in chosen:
        say(f"bench: {tree.shown(benchmark)}")
        run = subprocess.run([*command(benchmark), *rest], env=testing.environment(), check=False)
        status = status or run.returncode
    return 1 if status else 0
