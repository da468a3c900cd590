"""Fixtures of the end-to-end tests: the pinned diffusers, its migrated copy, and what both compute.

The tests skip only where torch or diffusers is not installed; a missing refit or runtime, or
another version of diffusers, is a failure that says what to do.
"""

import dataclasses
import importlib.util
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from proof import migration, models, processes  # noqa: E402


@pytest.fixture(scope="session")
def library() -> pathlib.Path:
    """Directory of the installed diffusers package, at the pinned version."""
    try:
        found = migration.find_library()
    except migration.SetupError as error:
        pytest.fail(str(error))
    if found is None:
        pytest.skip(
            f"{migration.PACKAGE} is not installed; ./dev test installs {migration.VERSION}"
        )
    return found


@pytest.fixture(scope="session")
def original(library, tmp_path_factory) -> pathlib.Path:
    """Root of an untouched copy of the package."""
    return migration.copy_package(library, tmp_path_factory.mktemp("original"))


@dataclasses.dataclass
class Migrated:
    """The migrated copy, root/diffusers, and the report of its migration."""

    root: pathlib.Path
    report: migration.Report


@pytest.fixture(scope="session")
def migrated(library, tmp_path_factory) -> Migrated:
    """The package migrated in place, and its report."""
    scratch = tmp_path_factory.mktemp("migrated")
    root = migration.copy_package(library, scratch / "tree")
    try:
        return Migrated(root, migration.migrate(root, scratch / "report.json"))
    except migration.SetupError as error:
        pytest.fail(str(error))


@pytest.fixture(scope="session")
def weights(tmp_path_factory) -> pathlib.Path:
    """Directory for the drawn weights; the worker of the original package fills it."""
    if importlib.util.find_spec("torch") is None:
        pytest.skip("torch is not installed; ./dev test installs it")
    return tmp_path_factory.mktemp("weights")


def run(package_dir: pathlib.Path, out: pathlib.Path, weights: pathlib.Path, names) -> dict:
    try:
        return processes.run_worker(package_dir, out, weights, names, definitions=True)
    except migration.SetupError as error:
        pytest.fail(str(error))


@pytest.fixture(scope="session")
def original_results(original, weights, tmp_path_factory) -> dict:
    """What every model of models.CASES computes with the original package."""
    out = tmp_path_factory.mktemp("results") / "original.pt"
    return run(original, out, weights, models.CASES)


@pytest.fixture(scope="session")
def migrated_results(migrated, original_results, weights, tmp_path_factory) -> dict:
    """What every model computes with the migrated package and the original's weights."""
    out = tmp_path_factory.mktemp("results") / "migrated.pt"
    return run(migrated.root, out, weights, models.CASES)
