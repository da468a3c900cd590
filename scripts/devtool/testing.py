"""Runs the C++ tests with ctest and the Python tests with pytest and sums them. Entry: run.

Both runners write JUnit XML, which is what is counted; a runner that died without a result, or a
run in which no test ran, is a failure.
"""

import os
import subprocess
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from devtool import tree, venv
from devtool.steps import say

RESULTS = tree.BUILD / "test-results"


@dataclass
class Count:
    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def __add__(self, other: "Count") -> "Count":
        return Count(
            self.passed + other.passed, self.failed + other.failed, self.skipped + other.skipped
        )

    def line(self) -> str:
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


def count(results: Path) -> Count:
    """Sums one JUnit file by its test cases. A case that is disabled or not run was skipped."""
    total = Count()
    for case in ElementTree.parse(results).iter("testcase"):
        marks = {child.tag for child in case}
        if marks & {"failure", "error"} or case.get("status") == "fail":
            total.failed += 1
        elif "skipped" in marks or case.get("status") in ("notrun", "disabled"):
            total.skipped += 1
        else:
            total.passed += 1
    return total


def run_counted(
    runner: str, command: Sequence[str | Path], results: Path, env: Mapping[str, str]
) -> Count:
    results.parent.mkdir(parents=True, exist_ok=True)
    results.unlink(missing_ok=True)
    status = subprocess.run(
        [str(part) for part in command],
        cwd=tree.ROOT, env=env, stdin=subprocess.DEVNULL, check=False,
    ).returncode  # fmt: skip
    try:
        total = count(results)
    except (OSError, ElementTree.ParseError):
        say(f"{runner} ended with status {status} and left no results")
        return Count(failed=1)
    if total == Count():
        say(f"{runner} ran no test, which counts as a failure")
        return Count(failed=1)
    if status and not total.failed:
        say(f"{runner} ended with status {status} although no test failed")
        total.failed += 1
    return total


def environment() -> dict[str, str]:
    """What tests and benchmarks see: this build's tool, library and package, none installed."""
    env = venv.environment()
    env["REFIT_BINARY"] = str(tree.REFIT)
    env["MINDIESD_LIBRARY"] = str(tree.LIBRARY)
    env["PATH"] = f"{tree.BUILD / 'bin'}{os.pathsep}{env['PATH']}"
    env["PYTHONPATH"] = f"{tree.ROOT / 'runtime' / 'python'}"
    return env


def ctest(arguments: Sequence[str]) -> Count:
    results = RESULTS / "ctest.xml"
    command = ["ctest", "--test-dir", tree.BUILD, "--output-on-failure", "--progress",
               "--parallel", str(os.cpu_count() or 1), "--output-junit", results]  # fmt: skip
    return run_counted("ctest", [*command, *arguments], results, environment())


def pytest(arguments: Sequence[str]) -> Count:
    results = RESULTS / "pytest.xml"
    command = [venv.python(), "-m", "pytest", f"--junit-xml={results}"]
    return run_counted("pytest", [*command, *arguments], results, environment())


def report(total: Count, complaints: Sequence[str]) -> int:
    """Prints what lint found and then the closing line, and gives the exit status."""
    for complaint in complaints:
        say(complaint)
    if complaints:
        say(f"lint failed: {len(complaints)} files")
    print(total.line(), flush=True)
    return 1 if total.failed or complaints else 0
