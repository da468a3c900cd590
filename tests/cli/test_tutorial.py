"""docs/tutorial.md: its commands, run in order over the package that it names, print what it shows.

What fetches packages or measures is not run: pip, and Python, whose model imports torchvision.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "tutorial.md"
PACKAGE = ROOT / ".deps" / "public" / "vit-pytorch-1.26.11" / "vit_pytorch"
LEFT_OUT = ("export", "pip", "cd", "MINDIESD_CHECK=1 python3", "python3")


def commands() -> list[tuple[str, list[str]]]:
    """Each command with the lines that the page shows below it."""
    found: list[tuple[str, list[str]]] = []
    for block in re.findall(r"(?s)```console\n(.*?)```", PAGE.read_text()):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            else:
                found[-1][1].append(line)
    return found


@pytest.mark.skipif(not PACKAGE.exists(), reason="needs vit-pytorch's sources (scripts/fetch_sources.py)")
def test_its_commands_print_what_it_shows(binary, tmp_path):
    programs, tree = tmp_path / "programs", tmp_path / "work"
    programs.mkdir()
    tree.mkdir()
    (programs / "python3").write_text(f'#!/bin/sh\nexec {ROOT}/.venv/bin/python "$@"\n')
    (programs / "python3").chmod(0o755)
    (programs / "refit").symlink_to(binary)
    shutil.copytree(PACKAGE, tree / "vit_pytorch", ignore=shutil.ignore_patterns("__pycache__"))
    names = {f"GIT_{who}_{what}": f"a@{what}" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    environment = {
        **os.environ, **names, "PATH": f"{programs}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT / "runtime" / "python"),
    }  # fmt: skip
    run = 0
    for command, shown in commands():
        if command.startswith(LEFT_OUT):
            continue
        done = subprocess.run(
            ["sh", "-c", command], cwd=tree, env=environment, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, timeout=300, check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{command}\n{done.stdout[-2000:]}"
        run += 1
        at = 0
        for line in shown:
            if line == "…":
                continue
            pattern = ".*".join(re.escape(part.rstrip()) for part in line.split("…"))
            match = re.compile(rf"^{pattern} *$", re.MULTILINE).search(done.stdout, at)
            assert match, f"{command}\nthe page shows: {line}\n{done.stdout[-3000:]}"
            at = match.start()
    assert run >= 12


def test_the_page_measures_what_it_shows():
    """The script of the page is one that Python takes."""
    (script,) = re.findall(r"(?s)```python\n(.*?)```", PAGE.read_text())
    compile(script, "measure.py", "exec")
