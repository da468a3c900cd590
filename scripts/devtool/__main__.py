"""The command line of ./dev. Entry point: main.

A verb is a function over its arguments that gives the exit status; its docstring's first line is
its line in `./dev help`.
"""

import os
import shutil
import sys
from collections.abc import Callable

from devtool import bench, build, debian, fuzz, gpu, lint, public, sanitize, sources, testing, tree, venv, wheel
from devtool.steps import Stop, Stopwatch, alone_in_tree, say

# What `test` and `lint` look at. The benchmarks are in it, so that they cannot rot unseen.
EVERYTHING = {
    "REFIT_BUILD_TESTS": "ON",
    "REFIT_BUILD_BENCH": "ON",
}
GROUPS = ["build", "test", "bench", "lint", "browser", "wheel"]


def _build_tool() -> None:
    with alone_in_tree():
        debian.ensure(["build"])
        sources.ensure()
        build.build(["refit"])


def setup(arguments: list[str]) -> int:
    """install what building and testing need and is missing"""
    _refuse("setup", arguments)
    with alone_in_tree():
        debian.ensure(GROUPS)
        sources.ensure()
        venv.ensure_test_packages()
        public.ensure()
    return 0


def build_all(arguments: list[str]) -> int:
    """build build/bin/refit and build/lib/libmindiesd.so"""
    _refuse("build", arguments)
    with alone_in_tree():
        debian.ensure(["build"])
        sources.ensure()
        build.build(["refit", "mindiesd"])
    return 0


def migrate(arguments: list[str]) -> int:
    """build the tool and show what it would change: migrate PATH [options of refit]"""
    _build_tool()
    os.execv(tree.REFIT, [str(tree.REFIT), "migrate", *arguments])


def test(arguments: list[str]) -> int:
    """build, lint and run every test; `test cpp ...`, `py ...`, `gpu ...`, `sanitize ...` run one part"""
    part, rest = (arguments[0], arguments[1:]) if arguments else ("all", [])
    if part == "gpu":
        return gpu.run(rest)
    if part == "sanitize":
        with alone_in_tree():
            debian.ensure(GROUPS)
            sources.ensure()
            venv.ensure_test_packages()
            public.ensure()
        return sanitize.run(rest)
    if part not in ("all", "cpp", "py"):
        raise Stop(
            "./dev test takes cpp, py, gpu or sanitize, with that runner's arguments, and found "
            f"{part!r}."
        )
    watch = Stopwatch()
    with alone_in_tree():
        debian.ensure(GROUPS)
        sources.ensure()
        if part != "cpp":
            venv.ensure_test_packages()
            public.ensure()
        watch.lap("set-up")
        build.build(["all"], EVERYTHING)
        watch.lap("build")
    complaints = lint.check() if part == "all" else []
    watch.lap("lint")
    total = testing.Count()
    if part != "py":
        total += testing.ctest(rest)
        watch.lap("ctest")
    if part != "cpp":
        total += testing.pytest(rest)
        watch.lap("pytest")
    say(watch.line())
    return testing.report(total, complaints)


def run_bench(arguments: list[str]) -> int:
    """build and run the benchmarks, or those whose name contains the argument"""
    with alone_in_tree():
        debian.ensure(["build", "bench"])
        sources.ensure()
        venv.ensure_test_packages()
        # kernels_bench.py measures through the launchers, which only a build with the toolkit has.
        launchers = ["mindiesd_launchers"] if shutil.which("nvcc") else []
        venv.install("bench")
        targets = ["refit", "runtime_bench", *launchers]
        build.build(targets, {"REFIT_BUILD_BENCH": "ON"})
    return bench.run(arguments)


def build_wheel(arguments: list[str]) -> int:
    """build a wheel that installs on other machines into dist/: wheel [--cuda] [--output FOLDER]"""
    options = wheel.parse(arguments)
    with alone_in_tree():
        debian.ensure(["build", "wheel"])
        sources.ensure()
        venv.create()
        venv.install("wheel")
        build.check_compiler()
        made = wheel.build(options.cuda, options.output)
    say(f"wheel: {wheel.needed(made)}")
    print(made)
    return 0


def run_fuzz(arguments: list[str]) -> int:
    """fuzz a target with libFuzzer: fuzz source|cpp|rules|commands [--seconds N]"""
    with alone_in_tree():
        debian.ensure(["build", "fuzz"])
        sources.ensure()
    return fuzz.run(arguments)


def fmt(arguments: list[str]) -> int:
    """format the C++ sources in place"""
    _refuse("fmt", arguments)
    debian.ensure(["lint"])
    return lint.fmt()


def run_lint(arguments: list[str]) -> int:
    """check the format and run clang-tidy"""
    _refuse("lint", arguments)
    with alone_in_tree():
        debian.ensure(GROUPS)
        sources.ensure()
        build.build(["all"], EVERYTHING)
    complaints = lint.check()
    for complaint in complaints:
        say(complaint)
    return 1 if complaints else 0


def clean(arguments: list[str]) -> int:
    """remove what builds made; keeps .venv, .deps and the caches"""
    _refuse("clean", arguments)
    for folder in tree.ROOT.glob("build*"):
        if (folder / "CMakeCache.txt").exists() or folder == tree.BUILD:
            shutil.rmtree(folder)
    return 0


def show_help(arguments: list[str]) -> int:
    """print this"""
    del arguments
    print("usage: ./dev VERB [arguments]\n")
    for name, verb in VERBS.items():
        print(f"  {name:<8} {(verb.__doc__ or '').splitlines()[0]}")
    return 0


VERBS: dict[str, Callable[[list[str]], int]] = {
    "setup": setup,
    "build": build_all,
    "migrate": migrate,
    "test": test,
    "bench": run_bench,
    "wheel": build_wheel,
    "fuzz": run_fuzz,
    "fmt": fmt,
    "lint": run_lint,
    "clean": clean,
    "help": show_help,
}


def _refuse(verb: str, arguments: list[str]) -> None:
    if arguments:
        raise Stop(f"./dev {verb} takes no arguments and found {' '.join(arguments)!r}.")


def main(arguments: list[str]) -> int:
    if not arguments or arguments[0] in ("-h", "--help"):
        return show_help([])
    verb = VERBS.get(arguments[0])
    try:
        if verb is None:
            raise Stop(f"./dev knows no verb {arguments[0]!r}; its verbs are {', '.join(VERBS)}.")
        return verb(arguments[1:])
    except Stop as stop:
        say(str(stop))
        return stop.status
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
