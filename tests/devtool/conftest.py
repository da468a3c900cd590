"""A tree of its own with fake tools, so that ./dev can be watched without a network or root."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from devtool import sources, tree


class Sandbox:
    """A copy of `dev` and `scripts`, and a PATH that holds nothing but what a test puts there."""

    def __init__(self, folder: Path):
        self.root = folder / "tree"
        self.bin = folder / "bin"
        self.bin.mkdir()
        shutil.copytree(
            tree.ROOT / "scripts", self.root / "scripts", ignore=shutil.ignore_patterns("__pycache__")
        )
        shutil.copy(tree.ROOT / "dev", self.root / "dev")
        for name in ("sh", "dirname", "env", "cat", "git"):
            (self.bin / name).symlink_to(shutil.which(name))
        (self.bin / "python3").symlink_to(sys.executable)

    def tool(self, name: str, script: str) -> Path:
        """Puts a shell script on the PATH, in the place of what was there under that name."""
        path = self.bin / name
        path.unlink(missing_ok=True)
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        return path

    def has_packages(self) -> None:
        """Makes dpkg know every package as installed; apt-get must not be started."""
        self.tool("dpkg-query", 'shift 2; for name; do echo "ii  $name"; done')
        self.tool("apt-get", "echo apt-get was started; exit 99")

    def has_sources(self) -> None:
        for name in sources.folders():
            (self.root / ".deps" / name).mkdir(parents=True)

    def has_build(self) -> None:
        """Makes a build folder that is configured and up to date, with a tool that answers."""
        build = self.root / "build"
        (build / "bin").mkdir(parents=True)
        (build / "CMakeCache.txt").write_text("CMAKE_BUILD_TYPE:STRING=RelWithDebInfo\n")
        (build / "build.ninja").touch()
        self.tool("ninja", "echo 'ninja: no work to do.'")
        refit = build / "bin" / "refit"
        refit.write_text('#!/bin/sh\necho "$@"\nexit 7\n')
        refit.chmod(0o755)

    def dev(self, *arguments: str, cwd: Path | None = None, **env: str) -> subprocess.CompletedProcess:
        return subprocess.run(
            [self.root / "dev", *arguments],
            cwd=cwd or self.root,
            env={"PATH": str(self.bin), "HOME": os.environ.get("HOME", "/"), **env},
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip


@pytest.fixture
def sandbox(tmp_path):
    return Sandbox(tmp_path)
