"""docs/tutorial.md, and what docs/rules.md begins with: their commands, run in order, print what they show.

Of the tutorial, what fetches packages or measures is not run: pip, and Python, whose model imports torchvision.
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


def steps(text: str) -> list[tuple[str, str, list[str]]]:
    """What a page has its reader do, in order: ("console", a command, what is shown below it), or a
    language and the text that goes into a file."""
    found: list[tuple[str, str, list[str]]] = []
    for kind, block in re.findall(r"(?ms)^```(console|python|yaml)\n(.*?)^```$", text):
        if kind != "console":
            found.append((kind, block, []))
            continue
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((kind, line[2:], []))
            else:
                found[-1][2].append(line)
    return found


@pytest.fixture
def run(binary, tmp_path):
    """Runs a command as the reader does and holds its output to what the page shows: these lines in this
    order, with anything where … stands."""
    programs, tree = tmp_path / "programs", tmp_path / "work"
    programs.mkdir()
    tree.mkdir()
    (programs / "python3").write_text(f'#!/bin/sh\nexec {ROOT}/.venv/bin/python "$@"\n')
    (programs / "python3").chmod(0o755)
    (programs / "refit").symlink_to(binary)
    names = {f"GIT_{who}_{what}": f"a@{what}" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    environment = {
        **os.environ, **names, "PATH": f"{programs}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT / "runtime" / "python"),
    }  # fmt: skip

    def run(command: str, shown: list[str]) -> None:
        done = subprocess.run(
            ["sh", "-c", command], cwd=tree, env=environment, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, timeout=300, check=False,
        )  # fmt: skip
        may_fail = command.startswith("refit migrate")  # 1 says that files would change
        assert done.returncode in ((0, 1) if may_fail else (0,)), f"{command}\n{done.stdout[-2000:]}"
        at = 0
        for line in shown:
            if line == "…":
                continue
            pattern = ".*".join(re.escape(part.rstrip()) for part in line.split("…"))
            match = re.compile(rf"^{pattern} *$", re.MULTILINE).search(done.stdout, at)
            assert match, f"{command}\nthe page shows: {line}\n{done.stdout[-3000:]}"
            at = match.start()

    run.tree = tree
    return run


@pytest.mark.skipif(not PACKAGE.exists(), reason="needs vit-pytorch's sources (scripts/fetch_sources.py)")
def test_the_tutorial(run):
    shutil.copytree(PACKAGE, run.tree / "vit_pytorch", ignore=shutil.ignore_patterns("__pycache__"))
    todo = [(command, shown) for kind, command, shown in steps(PAGE.read_text()) if kind == "console"]
    todo = [(command, shown) for command, shown in todo if not command.startswith(LEFT_OUT)]
    assert len(todo) >= 12
    for command, shown in todo:
        run(command, shown)


def test_the_page_measures_what_it_shows():
    """The script of the page is one that Python takes."""
    (script,) = (text for kind, text, _ in steps(PAGE.read_text()) if kind == "python")
    compile(script, "measure.py", "exec")


def test_a_rule_in_five_steps(run):
    page = (ROOT / "docs" / "rules.md").read_text()
    section = page[page.index("## A rule in five steps") : page.index("## A rule from an example")]
    done = []
    for kind, text, shown in steps(section):
        if kind == "console":
            run(text, shown)
        else:
            with (run.tree / {"python": "model.py", "yaml": "my-silu.yaml"}[kind]).open("a") as stream:
                stream.write(text)
        done.append(kind)
    assert done.count("console") >= 7 and done.count("yaml") == 2
    assert "what --update writes" not in (run.tree / "my-silu.yaml").read_text()


def test_a_rule_from_an_example(run):
    page = (ROOT / "docs" / "rules.md").read_text()
    (model, *_) = (text for kind, text, _ in steps(page) if kind == "python")
    (run.tree / "model.py").write_text(model)
    section = page[page.index("## A rule from an example") : page.index("## One rule")]
    (_, _, after), (_, command, shown) = steps(section)
    (run.tree / "after.py").write_text("\n".join(after) + "\n")
    run(command, shown)
    run("refit rules test my-silu.yaml", ["1 of 1 test passed"])
