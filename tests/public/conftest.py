"""Fixtures of the tests over public packages: each package, its migrated copy and its report."""

import pathlib
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "endtoend")]

from proof import migration  # noqa: E402
from survey import packages  # noqa: E402


@pytest.fixture(scope="session")
def migrate(tmp_path_factory):
    """Migrates a package, once in a session."""
    scratch = tmp_path_factory.mktemp("public")
    done: dict[str, packages.Migration] = {}

    def once(package: packages.Package) -> packages.Migration:
        if package.name not in done:
            try:
                done[package.name] = package.migrate(scratch)
            except migration.SetupError as error:
                pytest.fail(str(error))
        return done[package.name]

    return once


@pytest.fixture(params=packages.PACKAGES, ids=lambda package: package.name)
def migrated(request, migrate) -> packages.Migration:
    """Each package in turn."""
    return migrate(request.param)


@pytest.fixture(scope="session")
def everything(migrate) -> list[packages.Migration]:
    """All packages."""
    return [migrate(package) for package in packages.PACKAGES]
