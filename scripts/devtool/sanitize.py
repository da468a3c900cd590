"""Builds the tool with the compiler's sanitizers and runs it over much code. Entry: run.

AddressSanitizer and UndefinedBehaviorSanitizer (preset `asan`) see the C++ tests of the rewriter,
the Python tests that feed the tool damaged and unusual files, and whole trees; ThreadSanitizer
(preset `tsan`) sees the trees with more threads than most machines have cores to give it. The trees
are the public packages of tests/public and whatever folders are named.
"""

import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from devtool import public, testing, tree, venv
from devtool.steps import Stop, run_logged, say

REPORTED = 99  # the exit status of a program in which a sanitizer found something
ENVIRONMENT = {
    # The tool asks how much is left of the stack, so its variables must lie there.
    # LLVM's headers poison the free part of an arena; its libraries, built without the sanitizer,
    # do not lift that where they allocate.
    "ASAN_OPTIONS": f"exitcode={REPORTED}:detect_stack_use_after_return=0:allow_user_poisoning=0",
    "UBSAN_OPTIONS": f"exitcode={REPORTED}:print_stacktrace=1",
    "TSAN_OPTIONS": f"exitcode={REPORTED}:halt_on_error=1",
}
SUITES = ("tests/cli/test_damaged.py", "tests/cli/test_stdlib.py", "tests/cli/test_every_function.py")
THREADS = 4


def _folder(preset: str) -> Path:
    return tree.ROOT / f"build-{preset}"


def build(preset: str, targets: Sequence[str]) -> None:
    run_logged(
        ["cmake", "--preset", preset, "-S", tree.ROOT, "-DREFIT_BUILD_RUNTIME=OFF"],
        f"cmake could not configure {tree.shown(_folder(preset))}",
        log=tree.LOGS / f"configure-{preset}.log",
        marks=("CMake Error",),
    )
    if subprocess.run(["ninja", "-C", _folder(preset), *targets], check=False).returncode:
        raise Stop(f"the build of preset {preset} failed; the first error above says where.", status=1)


def _migrate(preset: str, root: Path, env: Mapping[str, str]) -> testing.Count:
    """One whole run over a tree, whose report is thrown away; files that cannot be read or parsed
    are said by status 3."""
    with tempfile.TemporaryDirectory() as scratch:
        command = [_folder(preset) / "bin" / "refit", "migrate", root, "--quiet", "--jobs", str(THREADS),
                   "--report", f"json:{scratch}/report.json"]  # fmt: skip
        done = subprocess.run([str(part) for part in command], env=env, stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                              errors="replace", check=False)  # fmt: skip
    clean = done.returncode in (0, 3)
    say(f"{preset}: {tree.shown(root)}: {'clean' if clean else f'status {done.returncode}'}")
    if not clean:
        say(done.stderr[-6000:])
    return testing.Count(passed=int(clean), failed=int(not clean))


def run(arguments: list[str]) -> int:
    """`test sanitize [FOLDER ...]`"""
    named = [Path(argument).resolve() for argument in arguments]
    for path in named:
        if not path.exists():
            raise Stop(f"./dev test sanitize takes folders of sources, and {path} does not exist.")
    trees = [public.FOLDER / f"{name}-{version}" for name, version in public.folders().items()]
    env = {**testing.environment(), **ENVIRONMENT}
    build("asan", [])
    build("tsan", ["refit"])

    results = _folder("asan") / "test-results"
    command = ["ctest", "--test-dir", _folder("asan"), "--output-on-failure", "--progress",
               "--parallel", str(os.cpu_count() or 1), "--output-junit", results / "ctest.xml"]  # fmt: skip
    total = testing.run_counted("ctest", command, results / "ctest.xml", env)
    env["REFIT_BINARY"] = str(_folder("asan") / "bin" / "refit")
    command = [venv.python(), "-m", "pytest", f"--junit-xml={results / 'pytest.xml'}", *SUITES]
    total += testing.run_counted("pytest", command, results / "pytest.xml", env)
    for root in [*trees, *named]:
        for preset in ("asan", "tsan"):
            total += _migrate(preset, root, env)
    return testing.report(total, [])
