"""Makes NAME.txt from NAME.in: every package, its dependencies too, at one version with hashes.

    python scripts/requirements/lock.py NAME...

It needs `uv` on PATH and the user's package index, and is run by hand when a version changes. The
hashes kept are those of wheels for 64-bit Linux (x86_64, aarch64) and CPython 3.11 to 3.14, or of
the source distribution for the sets `sources*`. A line `#- PACKAGE` in an .in file leaves a package
out, and with it what the set `test` installs already.
"""

import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
WHEEL = re.compile(
    r"-(py3|py2\.py3|cp311|cp312|cp313|cp314|cp3\d+-abi3)[-.].*(any|manylinux.*|linux.*)\.whl$"
)
ARCHITECTURE = re.compile(r"(x86_64|aarch64|any)\.whl$")
OTHER_SYSTEM = re.compile(r"sys_platform == '(?!linux)")
# A free-threaded interpreter has other wheels, which are not among those tried.
FREE_THREADED = re.compile(r"-cp3\d+t-")


def resolve(name: str, scratch: Path) -> list[dict]:
    """The packages of one set, as uv's lock file describes them."""
    override = scratch / "override.txt"
    # Packages that name torch as a dependency must not choose which torch it is.
    override.write_text("" if name.startswith("torch") else "torch ; sys_platform == 'never'\n")
    lock = scratch / "pylock.toml"
    alone = name in ("torch", "public") or name.startswith("sources")
    only_names = ["--no-deps"] if alone else []
    subprocess.run(
        ["uv", "pip", "compile", "--quiet", "--python-version", "3.11", "--universal",
         "--fork-strategy", "fewest", "--format", "pylock.toml", "--override", override,
         *only_names, HERE / f"{name}.in", "-o", lock],
        check=True,
    )  # fmt: skip
    packages = tomllib.loads(lock.read_text())["packages"]
    return [package for package in packages if not OTHER_SYSTEM.search(package.get("marker", ""))]


def accepted(package: dict, from_source: bool) -> list[str]:
    if from_source:
        return [package["sdist"]["hashes"]["sha256"]]
    hashes = set()
    for wheel in package.get("wheels", []):
        file = wheel.get("name") or wheel["url"].rsplit("/", 1)[1]
        if WHEEL.search(file) and ARCHITECTURE.search(file) and not FREE_THREADED.search(file):
            hashes.add(wheel["hashes"]["sha256"])
    return sorted(hashes)


def lock(name: str) -> None:
    text = (HERE / f"{name}.in").read_text()
    left_out = set(re.findall(r"^#- (\S+)$", text, re.MULTILINE))
    if left_out:
        left_out |= set(re.findall(r"^(\S+)==", (HERE / "test.txt").read_text(), re.MULTILINE))
    lines = [f"# Made by lock.py from {name}.in; do not edit."]
    with tempfile.TemporaryDirectory() as scratch:
        for package in resolve(name, Path(scratch)):
            if package["name"] in left_out:
                continue
            hashes = accepted(package, from_source=name.startswith("sources"))
            if not hashes:
                sys.exit(f"{package['name']} {package['version']} has no file that fits")
            lines.append(f"{package['name']}=={package['version']} \\")
            lines += [f"    --hash=sha256:{digest} \\" for digest in hashes]
            lines[-1] = lines[-1].removesuffix(" \\")
    (HERE / f"{name}.txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    for requested in sys.argv[1:]:
        lock(requested)
