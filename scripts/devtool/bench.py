"""Runs the benchmarks that were built into build/bin/bench. Entry point: run."""

import subprocess

from devtool import tree
from devtool.steps import Stop

FOLDER = tree.BUILD / "bin" / "bench"


def run(arguments: list[str]) -> int:
    """Runs each program whose name contains the first argument; the rest goes to the programs."""
    wanted, rest = (arguments[0], arguments[1:]) if arguments else ("", [])
    programs = sorted(p for p in FOLDER.glob("*") if p.is_file() and wanted in p.name)
    if not programs:
        raise Stop(f"no benchmark in {tree.shown(FOLDER)} has {wanted!r} in its name.")
    statuses = [subprocess.run([program, *rest], check=False).returncode for program in programs]
    return 1 if any(statuses) else 0
