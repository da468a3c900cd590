"""The public packages: where their sources are, and what refit makes of a copy of them.

Entry points: `PACKAGES`, `Package.migrate`, `Migration`. Those of scripts/requirements/public.txt
lie unpacked below .deps; those that tests import as well are copied from where they are installed.
"""

import dataclasses
import functools
import importlib.metadata
import importlib.util
import os
import pathlib
import shutil

from devtool import public
from proof import migration
from survey import pairs, undone

REPOSITORY = migration.REPOSITORY
# What writes the files under tests/score that are compared with a run.
COMMAND = "PYTHONPATH=runtime/python .venv/bin/python scripts/update_public.py"
# Distributions that test.txt installs, and the module that each of them holds.
INSTALLED = {
    "diffusers": "diffusers",
    "rotary-embedding-torch": "rotary_embedding_torch",
    "transformers": "transformers",
}


@dataclasses.dataclass(frozen=True)
class Package:
    """One package at one version; installed: the name of its module where it is installed."""

    name: str
    version: str
    installed: str = ""

    def sources(self) -> pathlib.Path:
        """The folder to copy from: for an installed one, that of the module itself.

        Raises migration.SetupError where the package is not there at its version.
        """
        if not self.installed:
            folder = public.FOLDER / f"{self.name}-{self.version}"
            if not folder.is_dir():
                raise migration.SetupError(f"{folder} is missing; ./dev setup downloads it")
            return folder
        spec = importlib.util.find_spec(self.installed)
        if spec is None or spec.origin is None:
            raise migration.SetupError(f"{self.name} is not installed; ./dev setup installs it")
        found = importlib.metadata.version(self.name)
        if found != self.version:
            raise migration.SetupError(
                f"tests/score is written for {self.name} {self.version} and found {found}"
            )
        return pathlib.Path(spec.origin).parent

    def copy(self, into: pathlib.Path) -> pathlib.Path:
        """Copies the Python files below `into`; the root that a report's names are relative to."""
        sources = self.sources()
        target = into / self.installed if self.installed else into
        for folder, _, files in os.walk(sources):
            below = target / pathlib.Path(folder).relative_to(sources)
            for file in files:
                if file.endswith(".py"):
                    below.mkdir(parents=True, exist_ok=True)
                    shutil.copyfile(pathlib.Path(folder, file), below / file)
        return into

    def migrate(self, scratch: pathlib.Path) -> "Migration":
        """Migrates a copy below `scratch`. Raises migration.SetupError where refit fails."""
        before = self.copy(scratch / "before" / self.name)
        root = self.copy(scratch / "after" / self.name)
        report = migration.migrate(root, scratch / f"{self.name}.json")
        return Migration(self, before, root, report)


@dataclasses.dataclass(frozen=True)
class Migration:
    """A package's sources as they were (before), migrated (after), and the report."""

    package: Package
    before: pathlib.Path
    after: pathlib.Path
    report: migration.Report

    @functools.cached_property
    def changes(self) -> list[tuple[str, pairs.Change]]:
        """(file, what changed in one function of it), every function that changed."""
        found = []
        for file in sorted(self.report.content["files"]["written"]):
            texts = [(root / file).read_text(encoding="utf-8") for root in (self.before, self.after)]
            found += [(file, change) for change in pairs.changes(*texts)]
        return found

    @functools.cached_property
    def not_undone(self) -> set[str]:
        """Digests of the changes that undone.py does not show to be right wherever they stand."""
        left: set[str] = set()
        for file, change in self.changes:
            if change.digest not in left:
                source = (self.before / file).read_text(encoding="utf-8")
                if not undone.undone(source, change):
                    left.add(change.digest)
        return left


def _pinned() -> list[Package]:
    found = [Package(name, version) for name, version in public.folders().items()]
    locked = (REPOSITORY / "scripts" / "requirements" / "test.txt").read_text(encoding="utf-8")
    for line in locked.splitlines():
        name, _, version = line.removesuffix("\\").strip().partition("==")
        if name in INSTALLED:
            found.append(Package(name, version, INSTALLED[name]))
    return sorted(found, key=lambda package: package.name)


PACKAGES = _pinned()
