"""Builds the runtime for the CUDA device of this machine and runs every test that needs one. Entry: run.

Needs nvcc, CMake, ninja and a Python with torch and pytest, which is the one that runs this, and
nothing of what ./dev setup installs: it is meant for a bare machine with an accelerator, over a copy of
the tree. The GoogleTest programs are run where GoogleTest is installed or lies in .deps/googletest.
"""

import concurrent.futures
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from devtool import testing, tree
from devtool.steps import Stop, say

BUILD = tree.ROOT / "build-gpu"
SUITES = ("tests/kernels/gpu", "tests/runtime/python")
# What the sanitizer runs: each kernel once or a few times, not every width; and what stands around cuDNN.
# initcheck has to see torch's kernels too and takes ten times as long: fewer types.
_LAUNCHERS = "(512 or 130 or Wan or one_launch or halves or any_mean or activation_of_inf or fewer)"
_ROWS = ("not many_rows and not squares and not waves and ((gated and 1536) or nan or (dtype1"
         " and (72 or 80 or 96 or 128 or 160 or 256 or 512 or 1152 or 2048 or 5120)))")  # fmt: skip
_WAVES = "waves and dtype1 and 1536"
_SQUARES = "squares and (dtype1 or 100 or 1152)"
_MANY_ROWS = "many_rows and dtype0 and (1024 or 3072 or 16384) or many_rows and dtype1 and (5120 or 12288)"
_BLOCKS = "test_blocks and dtype2 and (72 or 3072) or modulated and dtype2 and (136 or 1536) or strides or tanh"
_JOINT = "forms and dtype1 and (72 or 128 or 74) or spans and dtype2 or squares or without_tokens"
_STAGED = ("(forms and dtype1) or packed_projection or (heads and 24) or nan or squares or one_operand"
           " or (half_precision and dtype1) or float32 or in_order or (without_a_norm and dtype1)")
_FEW = "(forms and dtype2 and (8 or 72 or 128)) or heads or layouts or squares or nan or in_order"
SANITIZED = (
    (f"{SUITES[0]}/test_launchers.py", f"{_LAUNCHERS} and not more_",
     f"{_LAUNCHERS} and dtype1 and not more_"),
    (f"{SUITES[0]}/test_norm_rows.py", f"{_ROWS} or {_WAVES} or {_MANY_ROWS} or {_SQUARES}",
     f"{_ROWS} or squares and dtype1 and (72 or 96 or 1152)"),
    (f"{SUITES[0]}/test_blocks.py", _BLOCKS, _BLOCKS),
    (f"{SUITES[0]}/test_joint.py", _JOINT, _JOINT),
    (f"{SUITES[0]}/test_group_norm.py", "other_types or in_place or nan", "other_types and dtype1"),
    (f"{SUITES[0]}/test_weighted_sum.py", "over_a_term or finite", "over_a_term"),
    (f"{SUITES[0]}/test_upsample.py", "dtype1", "dtype1 and planes"),
    (f"{SUITES[0]}/test_int8_linear.py", "strides or run_to_run or finite", "strides"),
    (f"{SUITES[0]}/test_rotary_staged.py", _STAGED, _STAGED),
    (f"{SUITES[0]}/test_rotary_few.py", _FEW, _FEW),
    (f"{SUITES[0]}/test_attention.py", "every_kernel_once or packed_seq or wrong_bound",
     "mma-dtype1 and every_kernel_once or packed_seq and integer0-dtype2 or wrong_bound"),
    (f"{SUITES[1]}/test_rotary_grid.py", "cuda and (many_samples or strides)", "cuda and many_samples"),
    (f"{SUITES[1]}/test_attention_cuda.py", "(cudnn_takes and lengths1) or lowest or packed_sequences",
     "(cudnn_takes and lengths1) or lowest or packed_sequences"),
)  # fmt: skip
SANITIZERS = ("racecheck", "memcheck", "initcheck")


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


def _sanitize_one(tool: str, suite: str, selection: str, env: dict[str, str]) -> tuple[str, bool]:
    """What one tool says of a part of the tests, and whether it found nothing."""
    # Only our kernels are looked at; but what torch's kernels wrote has to be known to initcheck,
    # for which memory that torch keeps and hands out again would count as written.
    ours, fresh = ["--kernel-name", "kernel_substring=mindiesd"], {}
    if tool == "initcheck":
        ours, fresh = [], {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}
    command = ["compute-sanitizer", "--tool", tool, "--error-exitcode", "9", *ours,
               sys.executable, "-m", "pytest", "-q", "-x", "-k", selection, suite]  # fmt: skip
    done = subprocess.run(command, cwd=tree.ROOT, env=env | fresh, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)  # fmt: skip
    log = BUILD / "test-results" / f"{tool}-{Path(suite).stem}.log"
    log.write_text(done.stdout)
    ran = re.search(r"\d+ passed", done.stdout)
    told = f"{ran.group() if ran else 'nothing passed'}, " + (
        "clean" if done.returncode == 0 else f"status {done.returncode}: see {log}"
    )
    return f"compute-sanitizer {tool}, {suite}: {told}", done.returncode == 0 and ran is not None


def _sanitize(env: dict[str, str]) -> testing.Count:
    """All three tools over a part of the tests, as many at once as there are processors."""
    if shutil.which("compute-sanitizer") is None:
        say("no compute-sanitizer on PATH: not checked")
        return testing.Count(skipped=len(SANITIZERS) * len(SANITIZED))
    jobs = [
        (tool, suite, less if tool == "initcheck" else selection, env)
        for suite, selection, less in SANITIZED
        for tool in SANITIZERS
    ]
    total = testing.Count()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for done in concurrent.futures.as_completed([pool.submit(_sanitize_one, *j) for j in jobs]):
            line, clean = done.result()
            say(line)
            total += testing.Count(passed=int(clean), failed=int(not clean))
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
