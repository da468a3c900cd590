"""The folders of corpus/ as test cases. Entry point: CASES.

A case is one expectation of one folder: `expect.yaml` with `after/`, or `expect.NAME.yaml` with
`after.NAME/`. corpus/README.md describes the keys.
"""

import os
import pathlib
import re
import subprocess
from dataclasses import dataclass
from functools import cached_property

import yaml

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
CORPUS = REPOSITORY / "corpus"
RULES = REPOSITORY / "rules"

KEYS = {"what", "options", "unchanged", "exit", "sites", "notes", "problems"}
SITE_KEYS = {
    "file", "line", "rule", "refused", "says", "absorbed", "through", "assumes", "calls",
}  # fmt: skip


@dataclass(frozen=True)
class Case:
    folder: pathlib.Path
    variant: str  # "" for expect.yaml

    @property
    def name(self) -> str:
        return self.folder.name + (f":{self.variant}" if self.variant else "")

    @property
    def file(self) -> pathlib.Path:
        return self.folder / (f"expect.{self.variant}.yaml" if self.variant else "expect.yaml")

    @property
    def before(self) -> pathlib.Path:
        return self.folder / "before"

    @property
    def after(self) -> pathlib.Path:
        """The expected tree; that of `before` where the expectation says `unchanged`."""
        if self.expect.get("unchanged"):
            return self.before
        return self.folder / (f"after.{self.variant}" if self.variant else "after")

    @cached_property
    def expect(self) -> dict:
        document = yaml.safe_load(self.file.read_text(encoding="utf-8"))
        unknown = set(document) - KEYS
        for site in document.get("sites", []):
            unknown |= set(site) - SITE_KEYS
        if unknown:
            raise ValueError(f"{self.file}: unknown keys {sorted(unknown)}; corpus/README.md")
        return document

    @property
    def options(self) -> list[str]:
        return [str(option) for option in self.expect.get("options", [])]

    @property
    def run(self) -> pathlib.Path | None:
        script = self.folder / "run.py"
        return script if script.exists() else None


def _cases() -> list[Case]:
    found = []
    for file in sorted(CORPUS.glob("*/expect*.yaml")):
        variant = re.fullmatch(r"expect(?:\.([a-z_]+))?\.yaml", file.name)
        if variant is None:
            raise ValueError(f"{file}: an expectation is expect.yaml or expect.NAME.yaml")
        found.append(Case(file.parent, variant[1] or ""))
    return found


CASES = _cases()


def refit() -> pathlib.Path:
    """The built tool: REFIT_BINARY, else build/bin/refit."""
    named = os.environ.get("REFIT_BINARY")
    binary = pathlib.Path(named) if named else REPOSITORY / "build" / "bin" / "refit"
    if not os.access(binary, os.X_OK):
        raise FileNotFoundError(
            f"no refit at {binary}: build it (./dev build) or name one in REFIT_BINARY"
        )
    return binary


def run_refit(*arguments: str | pathlib.Path) -> subprocess.CompletedProcess:
    """Runs refit on this tree's rules; stdout and stderr come as bytes."""
    environment = {**os.environ, "REFIT_RULES_DIR": str(RULES)}
    command = [str(refit()), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, env=environment, check=False)


def tree(root: pathlib.Path) -> dict[str, bytes]:
    """Every file below root by its name with '/', byte code left out."""
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    }


def site_of_report(site: dict, expected: dict) -> dict:
    """A site of the JSON report in the keys of an expectation; `says` and `calls` only if asked."""
    found = {"file": site["file"], "line": site["line"], "rule": site["rule"]}
    if site["outcome"] == "refused":
        found["refused"] = site["code"]
        if "says" in expected:
            same = expected["says"] in site["message"]
            found["says"] = expected["says"] if same else site["message"]
    if site["absorbed"] is not None:
        found["absorbed"] = site["absorbed"]
    if site["through"] is not None:
        found["through"] = site["through"]
    if site["assumes"]:
        found["assumes"] = site["assumes"]
    if "calls" in expected:
        called = re.search(r"([\w.:]+)\(", site["after"])
        found["calls"] = called[1] if called else ""
    return found
