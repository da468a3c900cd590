"""Copies the pinned diffusers package, migrates the copy with refit, and reads the report.

Entry points: `find_library`, `copy_package`, `migrate`, `Report`. Used by the fixtures in
conftest.py and by scripts/update_diffusers.py.
"""

import bisect
import difflib
import importlib.metadata
import importlib.util
import json
import os
import pathlib
import re
import shutil
import subprocess

PACKAGE = "diffusers"
VERSION = "0.42.1"
REPOSITORY = pathlib.Path(__file__).resolve().parents[3]


class SetupError(Exception):
    """The tests cannot run here; the text says what was expected, found, and what to do."""


def find_library() -> pathlib.Path | None:
    """Directory of the installed diffusers package, None where it is not installed.

    Raises SetupError where another version than the pinned one is installed.
    """
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        return None
    found = importlib.metadata.version(PACKAGE)
    if found != VERSION:
        raise SetupError(
            f"these tests are written for {PACKAGE} {VERSION} and found {found}; install the "
            "pinned version (./dev test does) or move pin, score and docs/diffusers.md together"
        )
    return pathlib.Path(spec.origin).parent


def find_refit() -> pathlib.Path:
    """The built tool: REFIT_BINARY, else build/bin/refit. Raises SetupError where it is missing."""
    named = os.environ.get("REFIT_BINARY")
    binary = pathlib.Path(named) if named else REPOSITORY / "build" / "bin" / "refit"
    if not os.access(binary, os.X_OK):
        raise SetupError(
            f"no refit at {binary}: build it (./dev build) or name one in REFIT_BINARY"
        )
    return binary


def copy_package(library: pathlib.Path, root: pathlib.Path) -> pathlib.Path:
    """Copies the package's sources to root/diffusers, without byte code; returns root."""
    shutil.copytree(library, root / PACKAGE, ignore=shutil.ignore_patterns("__pycache__"))
    return root


def run_refit(*arguments: str | pathlib.Path) -> subprocess.CompletedProcess:
    """Runs refit; the result carries returncode, stdout and stderr as text."""
    command = [str(find_refit()), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def migrate(root: pathlib.Path, report: pathlib.Path) -> "Report":
    """Migrates root in place; the report. Raises SetupError where refit fails."""
    done = run_refit("migrate", root, "--write", "--quiet", "--report", f"json:{report}")
    if done.returncode != 0:
        raise SetupError(
            f"refit migrate ended with {done.returncode}, expected 0:\n{done.stderr or done.stdout}"
        )
    return Report(report)


def python_files(root: pathlib.Path) -> dict[str, bytes]:
    """Every file below root by its relative name with '/', byte code left out."""
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    }


# The kind of computation that a rule is about, by a word in its id or in the callee.
_KIND_WORDS = (
    (re.compile(r"rotary|rope", re.I), "rotary"),
    (re.compile(r"rms|norm", re.I), "norm"),
    (re.compile(r"attention|sdpa|attn|flash", re.I), "attention"),
)


def kind_of(site: dict) -> str:
    """attention, rotary, norm or other, from the site's rule id, else from its callee."""
    for text in (site["rule"], site["callee"]):
        for pattern, kind in _KIND_WORDS:
            if pattern.search(text):
                return kind
    return "other"


class Report:
    """One JSON report of refit, as rewriter/report/report.schema.json describes it.

    content: the whole report. sites: its sites, each with file, line, rule, outcome and the rest.
    """

    def __init__(self, path: pathlib.Path):
        self.content = json.loads(path.read_text(encoding="utf-8"))
        self.sites: list[dict] = self.content["sites"]

    def overlapping(self, file: str, first: int, last: int, kind: str) -> list[dict]:
        """Sites of one kind with a line between first and last of the file as it was."""
        return [
            site
            for site in self.sites
            if site["file"] == file
            and site["line"] <= last
            and first <= site["end_line"]
            and kind_of(site) == kind
        ]

    def changed_files(self) -> set[str]:
        """Files in which a site was rewritten, not merely reached through a definition."""
        return {
            s["file"] for s in self.sites if s["outcome"] == "rewritten" and s["through"] is None
        }


class LineMap:
    """Lines of a migrated file as lines of the original; lines that an edit made map to None."""

    def __init__(self, before: str, after: str):
        matcher = difflib.SequenceMatcher(None, before.splitlines(), after.splitlines())
        self._blocks = [(block.b, block.a, block.size) for block in matcher.get_matching_blocks()]
        self._starts = [block[0] for block in self._blocks]

    def original(self, line: int) -> int | None:
        """The 1-based original line of a 1-based migrated line."""
        at = bisect.bisect_right(self._starts, line - 1) - 1
        if at < 0:
            return None
        start_after, start_before, size = self._blocks[at]
        offset = line - 1 - start_after
        return start_before + offset + 1 if offset < size else None
