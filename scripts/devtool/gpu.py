"""Builds the runtime for the CUDA device of this machine and runs every test that needs one. Entry: run.

Needs nvcc, CMake, ninja and a Python with torch and pytest, which is the one that runs this, and
nothing of what ./dev setup installs: it is meant for a bare machine with an accelerator, over a copy of
the tree. The GoogleTest programs are run where GoogleTest is installed or lies in .deps/googletest.
"""

import importlib.util
import itertools
import os
import shutil
import subprocess
import sys

from devtool import testing, tree
from devtool.steps import Stop, say

BUILD = tree.ROOT / "build-gpu"
SUITES = ("tests/kernels/gpu", "tests/runtime/python")
# What the sanitizer runs: each kernel once or a few times, not every width; and what stands around cuDNN.
SANITIZED = (
    (SUITES[0], "(512 or 5120 or 130 or Wan or one_launch or halves or every_kernel_once or any_mean)"
     " and not more_"),
    (f"{SUITES[1]}/test_attention_cuda.py", "(cudnn_takes and lengths1) or lowest or packed_sequences"),
)  # fmt: skip


def _architecture() -> str:
    import torch

    if not torch.cuda.is_available():
        raise Stop("./dev test gpu needs a CUDA device, and torch sees none here.")
    major, minor = torch.cuda.get_device_capability()
    return f"{major}{minor}{'a' if major == 9 else ''}-real"


def _build() -> bool:
    """True where the GoogleTest programs were built too."""
    options = ["-DREFIT_BUILD_REWRITER=OFF", "-DREFIT_BUILD_BENCH=OFF", "-DCMAKE_BUILD_TYPE=Release",
               f"-DMINDIESD_CUDA_ARCHITECTURES={_architecture()}"]  # fmt: skip
    configure = ["cmake", "-S", tree.ROOT, "-B", BUILD, "-G", "Ninja", *options]
    for tests in ("ON", "OFF"):
        command = [*configure, f"-DREFIT_BUILD_TESTS={tests}"]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        if done.returncode == 0:
            break
    else:
        raise Stop(f"CMake could not configure {BUILD}:\n{done.stdout}{done.stderr}")
    targets = ["mindiesd", "mindiesd_launchers"] + ["kernels_cuda_test", "runtime_cuda_test"] * (tests == "ON")
    if subprocess.run(["cmake", "--build", BUILD, "--target", *targets], check=False).returncode:
        raise Stop("the build of the runtime failed.")
    return tests == "ON"


def _environment() -> dict[str, str]:
    env = dict(os.environ)
    env["MINDIESD_LIBRARY"] = str(BUILD / "lib" / "libmindiesd.so")
    env["MINDIESD_LAUNCHERS"] = str(BUILD / "lib" / "libmindiesd_launchers.so")
    env["PYTHONPATH"] = str(tree.ROOT / "runtime" / "python")
    return env


def _sanitize(env: dict[str, str]) -> testing.Count:
    """memcheck, racecheck and initcheck over a part of the tests."""
    sanitizer = shutil.which("compute-sanitizer")
    if sanitizer is None:
        say("no compute-sanitizer on PATH: not checked")
        return testing.Count(skipped=3 * len(SANITIZED))
    total = testing.Count()
    runs = itertools.product(("memcheck", "racecheck", "initcheck"), SANITIZED)
    for tool, (suite, selection) in runs:
        # Only our kernels are looked at; but what torch's kernels wrote has to be known to initcheck.
        ours = [] if tool == "initcheck" else ["--kernel-name", "kernel_substring=mindiesd"]
        command = [sanitizer, "--tool", tool, "--error-exitcode", "9", *ours,
                   sys.executable, "-m", "pytest", "-q",
                   "-x", "-k", selection, suite]  # fmt: skip
        # Memory that torch keeps and hands out again would count as written.
        fresh = {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"} if tool == "initcheck" else {}
        status = subprocess.run(command, cwd=tree.ROOT, env=env | fresh, check=False).returncode
        say(f"compute-sanitizer {tool}, {suite}: {'clean' if status == 0 else f'status {status}'}")
        total += testing.Count(passed=int(status == 0), failed=int(status != 0))
    return total


def run(arguments: list[str]) -> int:
    """`test gpu [--no-sanitizer] [arguments of pytest]`"""
    sanitize = "--no-sanitizer" not in arguments
    rest = [argument for argument in arguments if argument != "--no-sanitizer"]
    for module in ("torch", "pytest"):
        if importlib.util.find_spec(module) is None:
            raise Stop(f"./dev test gpu needs {module} in {sys.executable}; name another in REFIT_PYTHON.")
    have_gtest = _build()
    env = _environment()
    results = BUILD / "test-results"
    total = testing.Count()
    if not have_gtest:
        say("no GoogleTest: neither installed nor in .deps/googletest; its two programs are skipped")
        total += testing.Count(skipped=2)
    else:
        command = ["ctest", "--test-dir", BUILD, "-R", "Cuda", "--output-on-failure",
                   "--output-junit", results / "ctest.xml"]  # fmt: skip
        total += testing.run_counted("ctest", command, results / "ctest.xml", env)
    for suite in SUITES:
        xml = results / f"{suite.replace('/', '-')}.xml"
        command = [sys.executable, "-m", "pytest", "-q", f"--junit-xml={xml}", suite, *rest]
        total += testing.run_counted(suite, command, xml, env)
    if sanitize:
        total += _sanitize(env)
    return testing.report(total, [])
