"""The virtual environment inside the tree. Entry point: ensure.

Each set of Python packages is one file scripts/requirements/<set>.txt, every package at one
version with its hashes; pip resolves nothing. A set's digest is kept in the environment after it
was installed, and as long as that fits, pip is not started.
"""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

from devtool import tree
from devtool.steps import Stop, run_logged, say

FOLDER = tree.VENV


def python() -> Path:
    return FOLDER / "bin" / "python"


def _identity() -> str:
    """What an environment was made from: another Python means another environment. A bug-fix
    release of the same Python does not; its environments go on working."""
    return f"{sys.implementation.cache_tag} {sys.base_prefix}"


def _stamp(name: str) -> Path:
    return FOLDER / f"refit-{name}.stamp"


def _fits(name: str, text: str) -> bool:
    try:
        return _stamp(name).read_text() == text
    except OSError:
        return False


def create() -> None:
    """Makes the environment, or makes it anew when it belongs to another Python."""
    if python().exists() and _fits("python", _identity()):
        return
    if not all(importlib.util.find_spec(module) for module in ("venv", "ensurepip")):
        raise Stop(
            f"{sys.executable} has no venv module; install the Debian package python3-venv "
            f"(or python{sys.version_info[0]}.{sys.version_info[1]}-venv)."
        )
    say("setup: creating the virtual environment .venv")
    shutil.rmtree(FOLDER, ignore_errors=True)
    run_logged(
        [sys.executable, "-m", "venv", FOLDER],
        "the virtual environment .venv could not be created",
    )
    _stamp("python").write_text(_identity())


def pip(arguments: list[str | Path], failure: str) -> None:
    run_logged(
        [python(), "-m", "pip", "--disable-pip-version-check", "--no-input", *arguments],
        failure,
        env={"PYTHONNOUSERSITE": "1"},
    )


def install(name: str) -> None:
    """Installs the set `name` unless the environment has it already."""
    requirements = tree.REQUIREMENTS / f"{name}.txt"
    wanted = tree.digest(requirements.read_bytes())
    if _fits(name, wanted):
        return
    say(f"setup: installing Python packages ({tree.shown(requirements)})")
    pip(
        ["install", "--require-hashes", "--no-deps", "--only-binary", ":all:", "-r", requirements],
        f"pip could not install {tree.shown(requirements)}; is there a network?",
    )
    _stamp(name).write_text(wanted)


def _imports(module: str) -> bool:
    probe = subprocess.run(
        [python(), "-c", f"import {module}"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
    )
    return probe.returncode == 0


def _install_torch() -> None:
    """PyTorch's CPU build where pip finds one; otherwise what a plain index has, a CUDA build,
    which runs on a CPU too but only beside the CUDA libraries that it is linked to."""
    try:
        install("torch-cpu")
    except Stop:
        say(
            "setup: pip finds no CPU build of torch (PIP_EXTRA_INDEX_URL can name an index that "
            "has one); taking the CUDA build, which is several GB"
        )
        install("torch")
        install("torch-cuda")
    if not _imports("torch"):
        raise Stop(
            "torch was installed but cannot be imported; point pip at PyTorch's CPU wheels with "
            "PIP_EXTRA_INDEX_URL, remove .venv and try again."
        )


def ensure_test_packages() -> None:
    """What the Python tests import."""
    create()
    install("test")
    install("wheel")
    torch = tree.digest(*(p.read_bytes() for p in sorted(tree.REQUIREMENTS.glob("torch*.txt"))))
    if not _fits("torch-any", torch):
        _install_torch()
        _stamp("torch-any").write_text(torch)


def environment() -> dict[str, str]:
    """The process environment for programs that are to see .venv first."""
    return {
        **os.environ,
        "VIRTUAL_ENV": str(FOLDER),
        "PATH": f"{FOLDER / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}",
    }
