"""How the package finds libmindiesd, and what it says when it does not."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import mindiesd
import pytest

PACKAGE = Path(mindiesd.__file__).resolve().parent


def run(path, library=None):
    """Imports the copy of the package under ``path`` in a new process."""
    environment = {k: v for k, v in os.environ.items() if k != "MINDIESD_LIBRARY"}
    environment["PYTHONPATH"] = str(path)
    if library is not None:
        environment["MINDIESD_LIBRARY"] = str(library)
    code = "import mindiesd; print(mindiesd.library_path)"
    return subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, cwd=path
    )


@pytest.fixture
def copy(tmp_path):
    ignore = shutil.ignore_patterns("lib", "__pycache__")
    shutil.copytree(PACKAGE, tmp_path / "mindiesd", ignore=ignore)
    return tmp_path


def test_inside_the_package(copy):
    (copy / "mindiesd" / "lib").mkdir()
    place = copy / "mindiesd" / "lib" / "libmindiesd.so"
    shutil.copy(mindiesd.library_path, place)
    result = run(copy)
    assert result.stdout.strip() == str(place), result.stderr


def test_by_environment(copy):
    result = run(copy, mindiesd.library_path)
    assert result.stdout.strip() == str(mindiesd.library_path), result.stderr


def test_in_the_build_tree_of_a_checkout(copy, tmp_path):
    source = tmp_path / "repository" / "runtime" / "python"
    shutil.copytree(copy / "mindiesd", source / "mindiesd")
    (tmp_path / "repository" / "runtime" / "include" / "mindiesd").mkdir(parents=True)
    place = tmp_path / "repository" / "build" / "lib" / "libmindiesd.so"
    place.parent.mkdir(parents=True)
    shutil.copy(mindiesd.library_path, place)
    result = run(source)
    assert result.stdout.strip() == str(place), result.stderr


def test_absent(copy):
    result = run(copy)
    assert result.returncode != 0
    assert "ImportError: mindiesd found no libmindiesd.so (looked for " in result.stderr
    assert "set MINDIESD_LIBRARY to its path" in result.stderr


def test_environment_names_nothing(copy):
    result = run(copy, copy / "nowhere.so")
    assert "ImportError: mindiesd found no libmindiesd.so" in result.stderr
    assert "nowhere.so" in result.stderr


def test_not_a_library(copy):
    broken = copy / "broken.so"
    broken.write_text("not a library")
    result = run(copy, broken)
    assert f"ImportError: mindiesd cannot load {broken}" in result.stderr


@pytest.mark.parametrize("name", ["libmindiesd.so", "libmindiesd_python.so"])
def test_it_links_the_system_alone(name):
    """One build serves every torch and Python; CUDA's libraries are looked for at run time."""
    file = mindiesd.library_path.parent / name
    listing = subprocess.run(["readelf", "-d", file], capture_output=True, text=True, check=True)
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", listing.stdout)
    system = "libc. libm. libdl. librt. libpthread. libgcc_s. libstdc++. ld-linux"
    allowed = tuple(f"{system} libasan. libubsan. libtsan.".split())  # the last: a sanitizer's build
    assert needed and [n for n in needed if not n.startswith(allowed)] == []


def test_importing_the_package_imports_little_beside_torch():
    """What torch has not imported either, such as sympy, may take longer than the package itself."""
    code = (
        "import sys, torch; before = set(sys.modules); import mindiesd; "
        "print(*sorted({name.split('.')[0] for name in set(sys.modules) - before}))"
    )
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE.parent)}
    result = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    added = {name for name in result.stdout.split() if not name.startswith("_sysconfigdata")}
    assert added.difference(sys.stdlib_module_names) == {"mindiesd"}
