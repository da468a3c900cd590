"""The sources of public packages that tests/public migrates. Entry points: ensure, folders.

They are wheels named, with hashes, in scripts/requirements/public.txt; their Python files are
unpacked to .deps/public/<name>-<version> and never installed. pip is what downloads them: it knows
the user's index, proxy and certificates.
"""

import re
import shutil
import tempfile
import zipfile
from pathlib import Path

from devtool import tree, venv
from devtool.steps import Stop, say

LIST = tree.REQUIREMENTS / "public.txt"
FOLDER = tree.DEPS / "public"


def folders() -> dict[str, str]:
    """Version by name, as the list has them; each is the folder `<name>-<version>`."""
    return dict(re.findall(r"^([a-z0-9-]+)==([^\s\\]+)", LIST.read_text(), re.MULTILINE))


def unpack(wheel: Path, into: Path) -> None:
    """Unpacks a wheel's Python files so that `into` appears whole or not at all."""
    with tempfile.TemporaryDirectory(dir=into.parent, prefix=".unpack-") as scratch:
        with zipfile.ZipFile(wheel) as archive:
            for name in archive.namelist():
                if name.endswith(".py"):
                    archive.extract(name, Path(scratch) / into.name)
        shutil.rmtree(into, ignore_errors=True)
        (Path(scratch) / into.name).rename(into)


def ensure(into: Path = FOLDER) -> None:
    """Downloads and unpacks what the folder `into` does not have yet."""
    absent = {n: v for n, v in folders().items() if not (into / f"{n}-{v}").is_dir()}
    if not absent:
        return
    venv.create()
    say(f"setup: downloading {len(absent)} public packages ({tree.shown(LIST)})")
    into.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=into, prefix=".download-") as scratch:
        venv.pip(
            ["download", "--require-hashes", "--no-deps", "--only-binary", ":all:",
             "--dest", scratch, "-r", LIST],
            f"pip could not download {tree.shown(LIST)}; is there a network?",
        )  # fmt: skip
        for name, version in absent.items():
            found = list(Path(scratch).glob(f"{name.replace('-', '_')}-{version}-*.whl"))
            if len(found) != 1:
                raise Stop(f"pip downloaded no wheel of {name} {version}.")
            unpack(found[0], into / f"{name}-{version}")
