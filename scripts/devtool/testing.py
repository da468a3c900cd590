"""Runs the C++ tests with ctest and the Python tests with pytest and sums them. Entries: ctest, pytest.

Both runners write JUnit XML, which is what is counted; a runner that died without a result, or a
run in which no test ran, is a failure. So is a test that was skipped for something that set-up
installs or the build makes: on a machine where ./dev test prepared everything, only a device may be
missing.
"""

import concurrent.futures
import contextlib
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from devtool import tree, venv
from devtool.steps import say

RESULTS = tree.BUILD / "test-results"

# The reasons for which a test may be skipped where ./dev set everything up: a device, the CUDA
# toolkit (without which there are no launchers), a browser (which Ubuntu's packages lack), a schema
# that no package has, and what the tests expect to fail.
EXCUSES = re.compile(
    r"(no|there is a) CUDA device|no library of launchers|no Chromium on PATH|needs \d+ GiB of device memory|the OASIS schema|pytest\.xfail"
)


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


def _excused(case: ElementTree.Element) -> bool:
    """Whether what a skipped case says of itself names one of EXCUSES."""
    texts = [text for part in case.iter() for text in (part.text, *part.attrib.values()) if text]
    return any(EXCUSES.search(text) for text in texts)


def count(results: Path, prepared: bool = False) -> Count:
    """Sums one JUnit file by its test cases. A case that is disabled or not run was skipped; where
    everything was `prepared`, a skip without an excuse is a failure and is said."""
    total = Count()
    for case in ElementTree.parse(results).iter("testcase"):
        marks = {child.tag for child in case}
        if marks & {"failure", "error"} or case.get("status") == "fail":
            total.failed += 1
        elif "skipped" in marks or case.get("status") in ("notrun", "disabled"):
            if prepared and not _excused(case):
                say(f"{case.get('name')} was skipped although ./dev prepared all that it needs")
                total.failed += 1
            else:
                total.skipped += 1
        else:
            total.passed += 1
    return total


def run_counted(
    runner: str,
    command: Sequence[str | Path],
    results: Path,
    env: Mapping[str, str],
    prepared: bool = False,
    log: Path | None = None,
) -> Count:
    """Runs a runner and counts its results. With `log` what it prints goes there and is printed
    when it ends, so that several at once do not mix their lines."""
    results.parent.mkdir(parents=True, exist_ok=True)
    results.unlink(missing_ok=True)
    with open(log, "wb") if log else contextlib.nullcontext() as out:
        status = subprocess.run(
            [str(part) for part in command], cwd=tree.ROOT, env=env,
            stdin=subprocess.DEVNULL, stdout=out, stderr=out and subprocess.STDOUT, check=False,
        ).returncode  # fmt: skip
    if log:
        sys.stdout.write(log.read_text(errors="replace"))
        sys.stdout.flush()
    try:
        total = count(results, prepared)
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
    # What refit keeps for undo of the trees that the tests migrate.
    env["XDG_STATE_HOME"] = str(tree.BUILD / "state")
    return env


def ctest(arguments: Sequence[str]) -> Count:
    results = RESULTS / "ctest.xml"
    command = ["ctest", "--test-dir", tree.BUILD, "--output-on-failure", "--progress",
               "--parallel", str(os.cpu_count() or 1), "--output-junit", results]  # fmt: skip
    return run_counted("ctest", [*command, *arguments], results, environment(), prepared=True)


def parts() -> dict[str, list[str]]:
    """The folders of Python tests as pytest runs them side by side, the longest run first: tests of
    one folder share what costs minutes, such as the migrated models' results."""
    folders = {path.relative_to(tree.ROOT / "tests").parts[0]
               for path in (tree.ROOT / "tests").rglob("test_*.py")}  # fmt: skip
    alone = [name for name in ("endtoend", "public", "runtime") if name in folders]
    others = sorted(folders.difference(alone))
    named = {name: [f"tests/{name}"] for name in alone}
    return {**named, "others": [f"tests/{name}" for name in others]} if others else named


def pytest(arguments: Sequence[str]) -> Count:
    env = environment()
    command = [venv.python(), "-m", "pytest"]
    if arguments:
        results = RESULTS / "pytest.xml"
        chosen = [*command, f"--junit-xml={results}", *arguments]
        return run_counted("pytest", chosen, results, env, prepared=True)

    def run(name: str, folders: list[str]) -> Count:
        results, log = RESULTS / f"pytest-{name}.xml", RESULTS / f"pytest-{name}.log"
        part = [*command, f"--junit-xml={results}", "-o", f"cache_dir=.cache/pytest-{name}", *folders]
        return run_counted(f"pytest {' '.join(folders)}", part, results, env, True, log)

    say("pytest: what a part prints comes when it is done")
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        counts = pool.map(lambda part: run(*part), parts().items())
        return sum(counts, Count())


def report(total: Count, complaints: Sequence[str]) -> int:
    """Prints what lint found and then the closing line, and gives the exit status."""
    for complaint in complaints:
        say(complaint)
    if complaints:
        say(f"lint failed: {len(complaints)} files")
    print(total.line(), flush=True)
    return 1 if total.failed or complaints else 0
