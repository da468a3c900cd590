"""The built refit as a function, and a tree to run it in."""

import os
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
