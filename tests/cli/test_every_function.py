"""A site in every function of the standard library: each function is lowered, and only the sites
change."""

import ast
import json
import os
import subprocess
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
REFIT = os.environ.get("REFIT_BINARY", ROOT / "build" / "bin" / "refit")
LIBRARY = Path(sysconfig.get_path("stdlib"))
SITE = ("import torch.nn.functional as refit_F", "refit_F.gelu(refit_x)")


def functions(body: list[ast.stmt]):
    """The functions that a body can come to, whatever they are nested in."""
    for statement in body:
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield statement
        for child in ast.iter_child_nodes(statement):
            if isinstance(child, (ast.ExceptHandler, ast.match_case)):
                yield from functions(child.body)
        for name in ("body", "orelse", "finalbody"):
            yield from functions(getattr(statement, name, []))
        if isinstance(statement, (ast.Return, ast.Raise, ast.Break, ast.Continue)):
            return


def with_sites(text: str) -> tuple[str, int]:
    """The text with a site first in each function that has lines of its own, and how many."""
    lines = text.split("\n")
    places = []
    for function in functions(ast.parse(text).body):
        first = function.body[0]
        if ast.get_docstring(function, clean=False) is not None and len(function.body) > 1:
            first = function.body[1]
        line = min([first.lineno, *(d.lineno for d in getattr(first, "decorator_list", []))])
        indent = lines[line - 1][: len(lines[line - 1]) - len(lines[line - 1].lstrip())]
        if line > function.lineno and len(indent.encode()) == first.col_offset:
            places.append((line - 1, indent))
    for at, indent in sorted(places, reverse=True):
        lines[at:at] = [indent + part for part in SITE]
    return "\n".join(lines), len(places)


@pytest.fixture(scope="module")
def migrated(tmp_path_factory: pytest.TempPathFactory):
    """What each file of the library becomes: its name, its text with sites, how many, its new text;
    and the report."""
    root = tmp_path_factory.mktemp("stdlib")
    made = {}
    for number, file in enumerate(sorted(LIBRARY.rglob("*.py"))):
        inside = file.relative_to(LIBRARY)
        if {"site-packages", "dist-packages", "lib2to3"} & set(inside.parts):
            continue
        try:
            text, sites = with_sites(file.read_text(encoding="utf-8"))
            compile(text, str(file), "exec", dont_inherit=True)
        except (SyntaxError, UnicodeDecodeError, ValueError, RecursionError, MemoryError):
            continue
        if sites and "\f" not in text and "\r" not in text:
            name = f"m{number}.py"
            (root / name).write_text(text, encoding="utf-8", newline="")
            made[name] = (inside.as_posix(), text, sites)
    out = root / "report.json"
    run = subprocess.run([REFIT, "migrate", root, "--write", "--quiet", "--report", f"json:{out}"],
                         capture_output=True, text=True, check=False)
    assert run.returncode in (0, 3), run.stderr[-2000:]
    report = json.loads(out.read_text())
    after = {name: (root / name).read_text(encoding="utf-8") for name in made}
    return {name: (*made[name], after[name]) for name in made}, report


def test_every_site_is_rewritten(migrated) -> None:
    files, report = migrated
    rewritten = dict.fromkeys(files, 0)
    for site in report["sites"]:
        if site["outcome"] == "rewritten":
            assert site["before"] == SITE[1], site
            rewritten[site["file"]] += 1
    assert sum(rewritten.values()) > 5000
    left = {problem["file"] for problem in report["problems"]}  # what the grammar does not know
    assert len(left) <= len(files) // 500, left
    missed = {where: (rewritten[name], sites)
              for name, (where, _, sites, _) in files.items()
              if rewritten[name] != sites and name not in left}
    assert not missed


def test_nothing_else_changes(migrated) -> None:
    files, _ = migrated

    def others(text: str) -> list[str]:
        """The lines that are no part of a site nor of the runtime's import."""
        words = ("refit_", "import mindiesd")
        return [line for line in text.split("\n") if line and not any(w in line for w in words)]

    for where, before, _, after in files.values():
        assert others(before) == others(after), where
        compile(after, where, "exec", dont_inherit=True)
