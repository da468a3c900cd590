"""Builds the wheel that users install. Entry points: parse, build.

scikit-build-core builds it with CMake in build-wheel/, every library but glibc's own linked statically
(cmake/StaticLibraries.cmake). auditwheel reads which versions of glibc's symbols the files need and gives
the wheel the platform that follows, the oldest on which it runs.
"""

import argparse
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from devtool import tree, venv
from devtool.steps import Stop, run_logged, say

BUILD = tree.ROOT / "build-wheel"
BUILD_CUDA = tree.ROOT / "build-wheel-cuda"
OUTPUT = tree.ROOT / "dist"
LOG = tree.LOGS / "wheel.log"

# Code for the GPUs that are measured, and PTX, which the driver of a newer GPU compiles.
ARCHITECTURES = "80-real;80-virtual;89-real;90a-real"


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./dev wheel", description="Builds the wheel that users install.")
    parser.add_argument("--cuda", action="store_true", help="with the CUDA kernels; needs nvcc 12.4 or newer")
    parser.add_argument(
        "--output", type=Path, default=OUTPUT, metavar="FOLDER", help="where the wheel goes; dist/ if not given"
    )
    return parser.parse_args(arguments)


def _defines(cuda: bool) -> dict[str, str]:
    # The compilers of ./dev's own build, by the names that it calls them: ccache takes c++ and g++ for two.
    cache = tree.BUILD / "CMakeCache.txt"
    text = cache.read_text() if cache.exists() else ""
    found = dict(re.findall(r"^(CMAKE_C(?:XX)?_COMPILER):\w+=(.+)$", text, re.MULTILINE))
    find = "CMAKE_REQUIRE_FIND_PACKAGE_CUDAToolkit" if cuda else "CMAKE_DISABLE_FIND_PACKAGE_CUDAToolkit"
    architectures = {"MINDIESD_CUDA_ARCHITECTURES": ARCHITECTURES} if cuda else {}
    # REFIT_WERROR as in ./dev's own build, whose objects ccache then has.
    return {**found, **architectures, find: "ON", "REFIT_STATIC_LIBRARIES": "ON", "REFIT_WERROR": "ON"}


def _settings(cuda: bool) -> list[str]:
    settings = {"build-dir": str(BUILD_CUDA if cuda else BUILD)}
    if cuda:
        settings["wheel.build-tag"] = "1cuda"  # a build number begins with a digit
    settings |= {f"cmake.define.{name}": value for name, value in _defines(cuda).items()}
    return [f"--config-settings={name}={value}" for name, value in settings.items()]


def needed(wheel: Path) -> str:
    """What auditwheel says of the symbols that the platform follows from."""
    shown = subprocess.run(
        [venv.python(), "-m", "auditwheel", "show", wheel],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if shown.returncode:
        raise Stop(f"auditwheel could not read {wheel.name}: {shown.stderr.strip()}", status=1)
    return " ".join(shown.stdout.split())


def build(cuda: bool, output: Path) -> Path:
    """Builds the wheel into the folder `output` and returns its path."""
    output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=output, prefix=".wheel-") as scratch:
        made, repaired = Path(scratch, "made"), Path(scratch, "repaired")
        say("wheel: compiling")
        run_logged(
            [venv.python(), "-m", "pip", "--disable-pip-version-check", "wheel", tree.ROOT, "--no-deps",
             "--no-build-isolation", "--wheel-dir", made, *_settings(cuda)],
            "the wheel could not be built", log=LOG,
            marks=("CMake Error", "error:", "ERROR:", "FAILED:"), env={"PYTHONNOUSERSITE": "1"},
        )  # fmt: skip
        (unnamed,) = made.glob("*.whl")
        run_logged(
            [venv.python(), "-m", "auditwheel", "repair", "--wheel-dir", repaired, unnamed],
            "auditwheel could not name the wheel's platform", log=LOG,
            env={"PATH": venv.environment()["PATH"]},
        )  # fmt: skip
        (wheel,) = repaired.glob("*.whl")
        place = output / wheel.name
        shutil.move(wheel, place)
    return place
