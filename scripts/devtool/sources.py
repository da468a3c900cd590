"""C sources that the build compiles: tree-sitter and its Python grammar. Entry point: ensure.

They are source distributions named, with hashes, in scripts/requirements/sources*.txt, and are
unpacked to .deps/<name>-<version>. pip is what downloads them: it knows the user's index, proxy
and certificates.
"""

import re
import shutil
import tarfile
import tempfile
from pathlib import Path

from devtool import tree, venv
from devtool.steps import Stop, say

# One file for each version of a package: pip takes no two of one package at once.
LISTS = sorted(tree.REQUIREMENTS.glob("sources*.txt"))


def folders() -> list[str]:
    """The names of the folders, as the archives hold them: tree_sitter-0.26.1 and so on."""
    text = "".join(path.read_text() for path in LISTS)
    found = re.findall(r"^([A-Za-z0-9_.-]+)==([^\s\\]+)", text, re.MULTILINE)
    return [f"{name.replace('-', '_')}-{version}" for name, version in found]


def unpack(archive: Path, into: Path) -> None:
    """Unpacks one archive so that its folder appears in `into` whole or not at all."""
    with tempfile.TemporaryDirectory(dir=into, prefix=".unpack-") as scratch:
        with tarfile.open(archive) as tar:
            # The filter is missing before Python 3.11.4; pip has checked the archive's hash.
            safe = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
            tar.extractall(scratch, **safe)
        (folder,) = Path(scratch).iterdir()
        shutil.rmtree(into / folder.name, ignore_errors=True)
        folder.rename(into / folder.name)


def ensure(into: Path = tree.DEPS) -> None:
    """Downloads and unpacks what the folder `into` does not have yet."""
    if all((into / name).is_dir() for name in folders()):
        return
    venv.create()
    # pip runs the archives' setup.py for their names; with setuptools at hand, it needs no more.
    venv.install("build")
    say("setup: downloading tree-sitter's sources")
    into.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=into, prefix=".download-") as scratch:
        for requirements in LISTS:
            venv.pip(
                ["download", "--require-hashes", "--no-deps", "--no-binary", ":all:",
                 "--no-build-isolation", "--dest", scratch, "-r", requirements],
                f"pip could not download {tree.shown(requirements)}; is there a network?",
            )  # fmt: skip
        for archive in sorted(Path(scratch).glob("*.tar.gz")):
            unpack(archive, into)
    absent = [name for name in folders() if not (into / name).is_dir()]
    if absent:
        raise Stop(f"pip downloaded no archive that holds {' and '.join(absent)}.")
