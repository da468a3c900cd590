"""Configuring and compiling with CMake and Ninja. Entry point: build.

One build folder serves every verb. It is configured for the tool and the runtime first; tests and
benchmarks are switched on by the verb that needs them and stay on, so that verbs in turn do not
undo each other's work.
"""

import os
import re
import shutil
import subprocess
import sys

from devtool import tree
from devtool.steps import Stop, run_logged, say

CONFIGURE_LOG = tree.LOGS / "configure.log"
OLDEST_COMPILER = {"g++": 12, "clang": 16}
# CMake's own order of looking for a C++ compiler.
COMPILERS = ("c++", "g++", "clang++")


def check_compiler() -> None:
    """Stops when the compiler that CMake will take is too old for this code's C++20."""
    named = os.environ.get("CXX")
    compiler = shutil.which(named) if named else next(filter(None, map(shutil.which, COMPILERS)), None)
    if compiler is None:
        raise Stop(f"no C++ compiler: {named or ', '.join(COMPILERS)} is not on PATH; install g++.")
    banner = subprocess.run(
        [compiler, "--version"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    ).stdout
    family = "clang" if "clang" in banner.lower() else "g++"
    version = re.search(r"\b(\d+)\.\d+", banner)
    if version is None:
        raise Stop(f"{compiler} --version printed no version; name another compiler in CXX.")
    if int(version[1]) < OLDEST_COMPILER[family]:
        raise Stop(
            f"{compiler} is {family} {version[0]}, and this code needs g++ 12 or clang 16 or newer; "
            "install one and name it in CXX."
        )


def _cache() -> dict[str, str]:
    """What CMake remembers of the build folder; empty when it was not configured to the end."""
    try:
        text = (tree.BUILD / "CMakeCache.txt").read_text()
    except OSError:
        return {}
    if not (tree.BUILD / "build.ninja").exists():
        return {}
    return dict(re.findall(r"^(\w+):\w+=(.*)$", text, re.MULTILINE))


def configure(options: dict[str, str]) -> None:
    """Runs CMake when the build folder lacks these options. Changed files are CMake's own care."""
    cache = _cache()
    if cache.get("CMAKE_HOME_DIRECTORY", str(tree.ROOT)) != str(tree.ROOT):
        say("build: this tree was moved or copied, so it is built anew")
        shutil.rmtree(tree.BUILD)
        cache = {}
    if cache and all(cache.get(name) == value for name, value in options.items()):
        return
    check_compiler()
    say("build: configuring")
    defaults = {} if cache else {"REFIT_BUILD_TESTS": "OFF", "REFIT_BUILD_BENCH": "OFF"}
    settings = {**defaults, **options}
    run_logged(
        ["cmake", "--preset", "dev", "-S", tree.ROOT, "-B", tree.BUILD]
        + [f"-D{name}={value}" for name, value in settings.items()],
        "cmake could not configure the build",
        log=CONFIGURE_LOG,
        marks=("CMake Error",),
    )


def use(options: dict[str, str]) -> None:
    """Gives an existing build folder options for what set-up has installed since."""
    if _cache():
        configure(options)


def compile_targets(targets: list[str]) -> None:
    """Runs Ninja. Says nothing when there is nothing to do, so that `migrate` starts at once."""
    ninja = ["ninja", "-C", str(tree.BUILD)]
    plan = subprocess.run([*ninja, "-n", *targets], capture_output=True, text=True, check=False)
    if plan.returncode == 0 and "no work to do" in plan.stdout:
        return
    steps = re.findall(r"^\[\d+/(\d+)\]", plan.stdout, re.MULTILINE)
    say(f"build: {steps[-1] if steps else 'some'} steps")
    quiet = [] if sys.stderr.isatty() else ["--quiet"]
    status = subprocess.run(
        [*ninja, *quiet, *targets], stdin=subprocess.DEVNULL, stdout=sys.stderr, check=False
    ).returncode
    if status:
        raise Stop("the build failed; the first error above says where.", status=1)


def build(targets: list[str], options: dict[str, str] | None = None) -> None:
    configure(options or {})
    compile_targets(targets)
