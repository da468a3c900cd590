"""The built refit as a function, and a tree to run it in."""

import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@dataclass
class Done:
    code: int
    out: bytes
    err: str


@pytest.fixture(scope="session", autouse=True)
def state(tmp_path_factory) -> None:
    """refit keeps what undo needs there, and not in the home of whoever runs the tests."""
    os.environ["XDG_STATE_HOME"] = str(tmp_path_factory.mktemp("state"))


@pytest.fixture(scope="session")
def binary() -> Path:
    path = Path(os.environ.get("REFIT_BINARY", ROOT / "build" / "bin" / "refit"))
    assert path.exists(), f"expected the built tool at {path}; run ./dev build first"
    return path


@pytest.fixture(scope="session")
def refit(binary) -> Callable[..., Done]:
    def run(*arguments: str | Path, **options) -> Done:
        done = subprocess.run(
            [binary, *arguments], capture_output=True, check=False, timeout=120, **options
        )
        return Done(done.returncode, done.stdout, done.stderr.decode("utf-8", "replace"))

    return run


@pytest.fixture(scope="session")
def open_refit(binary, tmp_path_factory) -> Callable[..., Done]:
    """The same tool where every user may reach it, which a checkout below /root is not."""
    folder = tmp_path_factory.mktemp("reachable")
    (folder / "bin").mkdir()
    program = Path(shutil.copy2(binary, folder / "bin" / "refit"))
    shutil.copytree(ROOT / "rules", folder / "share" / "refit" / "rules")
    for path in [folder, *folder.rglob("*")]:
        path.chmod(path.stat().st_mode | (0o755 if path.is_dir() or path == program else 0o644))
    for path in list(folder.parents)[:-2]:
        path.chmod(path.stat().st_mode | 0o711)

    def run(*arguments: str | Path, **options) -> Done:
        done = subprocess.run(
            [program, *arguments],
            capture_output=True,
            check=False,
            timeout=120,
            cwd=folder,
            **options,
        )
        return Done(done.returncode, done.stdout, done.stderr.decode("utf-8", "replace"))

    return run


@pytest.fixture
def tree(tmp_path) -> Path:
    folder = tmp_path / "tree"
    folder.mkdir()
    return folder


@pytest.fixture(scope="session")
def source() -> Callable[..., bytes]:
    """A module with one site. Lines may be put before it and into the function."""

    def make(head: bytes = b"", body: bytes = b"", indent: bytes = b"    ") -> bytes:
        return (
            head
            + b"import torch.nn.functional as F\n\n\ndef attend(q, k, v):\n"
            + body
            + indent
            + b"return F.scaled_dot_product_attention(q, k, v)\n"
        )

    return make
