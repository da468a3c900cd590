"""Fuzzing with clang's libFuzzer and the sanitizers. Entry point: run.

`./dev test` runs the same targets for some seconds each, without libFuzzer, from the objects of the
ordinary build; this builds them in build-fuzz, where coverage leads to new inputs.
"""

import argparse
import os
import subprocess
from pathlib import Path

from devtool import sanitize, tree
from devtool.steps import Stop, say

SEEDS = {
    "source": ["corpus"],
    "cpp": ["corpus/cpp_libtorch/before"],
    "rules": ["rules"],
    "commands": ["tests/fuzz/seeds"],
}
FOLDER = tree.ROOT / "build-fuzz"


def _seeds(name: str) -> list[Path]:
    """The folder that keeps what was found, and the folders of seeds, which libFuzzer leaves alone."""
    kept = FOLDER / "inputs" / name
    kept.mkdir(parents=True, exist_ok=True)
    return [kept, *(tree.ROOT / folder for folder in SEEDS[name])]


def run(arguments: list[str]) -> int:
    """`fuzz NAME [--seconds N]`"""
    parser = argparse.ArgumentParser(prog="./dev fuzz")
    parser.add_argument("name", choices=SEEDS)
    parser.add_argument("--seconds", type=int, default=60)
    options = parser.parse_args(arguments)
    sanitize.build("fuzz", [f"{options.name}_fuzz"])
    found = FOLDER / "found"
    found.mkdir(exist_ok=True)
    command = [FOLDER / "bin" / f"{options.name}_fuzz", f"-max_total_time={options.seconds}",
               "-max_len=65536", "-timeout=20", "-rss_limit_mb=4096",
               f"-artifact_prefix={found}/{options.name}-", *_seeds(options.name)]  # fmt: skip
    # LLVM's libraries are built without the sanitizer, and their containers are not annotated.
    checks = f"{sanitize.ENVIRONMENT['ASAN_OPTIONS']}:detect_container_overflow=0"
    env = {**os.environ, **sanitize.ENVIRONMENT, "ASAN_OPTIONS": checks}
    try:
        status = subprocess.run([str(part) for part in command], env=env, check=False).returncode
    except OSError as error:
        raise Stop(f"{command[0]} could not be run: {error}.") from error
    if status:
        say(f"an input that ends the target lies in {tree.shown(found)}")
    return 1 if status else 0
