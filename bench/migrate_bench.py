"""How long refit needs for the pinned diffusers, beside ripgrep looking for one word in every file.

Run by `./dev bench migrate`. ripgrep's time is the floor for anything that reads the whole tree.
"""

import importlib.util
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RUNS = 9


def seconds(command: list[str | Path]) -> float:
    """The median of several runs, after one that fills the file cache."""
    times = []
    for _ in range(RUNS + 1):
        start = time.perf_counter()
        status = subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode
        times.append(time.perf_counter() - start)
        if status:
            sys.exit(f"{command[0]} ended with status {status}")
    return statistics.median(times[1:])


def main() -> None:
    package = Path(importlib.util.find_spec("diffusers").origin).parent
    sizes = [file.stat().st_size for file in package.rglob("*.py")]
    refit = seconds([ROOT / "build/bin/refit", "migrate", package, "--quiet"])
    ripgrep = seconds(["rg", "--no-ignore", "-c", "scaled_dot_product_attention", package])
    print(f"{len(sizes)} files, {sum(sizes) / 1e6:.1f} MB of Python")
    print(f"refit migrate  {refit:.3f} s  {len(sizes) / refit:6.0f} files/s")
    print(f"rg, one word   {ripgrep:.3f} s  {len(sizes) / ripgrep:6.0f} files/s")
    print(f"refit takes {refit / ripgrep:.0f} times as long as ripgrep")


if __name__ == "__main__":
    main()
