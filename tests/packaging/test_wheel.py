"""`pip install .` gives `import mindiesd` and the command `refit`, both from the wheel alone.

The wheel is built with the compilers and flags of ./dev's own build, so that ccache has its objects.
"""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

ATTENTION = """
import torch
import mindiesd
from mindiesd import ext
print(mindiesd.__file__)
query, key, value = (torch.randn(2, 7, 3, 16) for _ in range(3))
expected = torch.nn.functional.scaled_dot_product_attention(
    query.transpose(1, 2), key.transpose(1, 2), value.transpose(1, 2)).transpose(1, 2)
torch.testing.assert_close(mindiesd.attention_forward(query, key, value), expected)
"""

MODEL_CPP = """#include <torch/torch.h>

torch::Tensor attend(torch::Tensor query, torch::Tensor key, torch::Tensor value) {
  return torch::scaled_dot_product_attention(query, key, value);
}
"""

MODEL = """from torch.nn.functional import scaled_dot_product_attention


def attend(query, key, value):
    return scaled_dot_product_attention(query, key, value)
"""


def pip(*arguments):
    environment = {**os.environ, "CCACHE_NOHASHDIR": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    command = [sys.executable, "-m", "pip", *map(str, arguments)]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr


def compilers() -> list[str]:
    """Those of ./dev's build by the names it calls them: to ccache, c++ and g++ are two compilers."""
    cache = ROOT / "build" / "CMakeCache.txt"
    text = cache.read_text() if cache.exists() else ""
    found = re.findall(r"^(CMAKE_C(?:XX)?_COMPILER):\w+=(.+)$", text, re.MULTILINE)
    return [f"--config-settings=cmake.define.{name}={path}" for name, path in found]


@pytest.fixture(scope="session")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    pip(
        "wheel", ROOT, "--no-deps", "--no-build-isolation", "--wheel-dir", folder,
        "--config-settings=cmake.build-type=RelWithDebInfo",
        "--config-settings=cmake.define.REFIT_WERROR=ON",
        # As deep in the tree as ./dev's own, for ccache sees paths from there.
        f"--config-settings=build-dir={ROOT / 'build-wheel'}",
        *compilers(),
    )  # fmt: skip
    (file,) = folder.glob("*.whl")
    return file


@pytest.fixture(scope="session")
def prefix(wheel, tmp_path_factory):
    """The wheel installed where nothing else is."""
    folder = tmp_path_factory.mktemp("prefix")
    pip("install", "--no-deps", "--no-index", "--ignore-installed", "--prefix", folder, wheel)
    return folder


def environment(prefix):
    packages = sysconfig.get_path("purelib", vars={"base": str(prefix), "platbase": str(prefix)})
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("MINDIESD", "REFIT"))}
    return {**kept, "PYTHONPATH": packages}


def test_wheel_serves_every_python_3(wheel):
    assert wheel.name.split("-")[2:4] == ["py3", "none"]
    names = zipfile.ZipFile(wheel).namelist()
    assert {"mindiesd/lib/libmindiesd.so", "mindiesd/lib/libmindiesd_python.so"} <= set(names)
    assert not [name for name in names if name.endswith((".a", ".hpp", ".cpp"))]


def test_import_and_compute(prefix, tmp_path):
    run = subprocess.run(
        [sys.executable, "-c", ATTENTION],
        env=environment(prefix), cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    assert Path(run.stdout.strip()).is_relative_to(prefix)


def migrate(prefix, folder, name="model.py", text=MODEL):
    (folder / name).write_text(text)
    return subprocess.run(
        [prefix / "bin" / "refit", "migrate", folder],
        env=environment(prefix), cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_refit_finds_its_rules(prefix, tmp_path):
    run = migrate(prefix, tmp_path)
    assert run.returncode == 0, run.stderr
    assert "+    return mindiesd" in run.stdout


def test_refit_reads_the_rules_that_were_installed_with_it(prefix, tmp_path):
    """And not those of the source tree, which the wheel's user may have deleted."""
    moved = tmp_path / "moved"
    shutil.copytree(prefix / "bin", moved / "bin")
    (moved / "share" / "refit" / "rules").mkdir(parents=True)
    (tmp_path / "model").mkdir()
    run = migrate(moved, tmp_path / "model")
    assert run.returncode != 0
    assert str(moved / "share" / "refit" / "rules") in run.stderr


def test_cpp_is_read_by_what_was_installed(prefix, tmp_path):
    run = migrate(prefix, tmp_path, "model.cpp", MODEL_CPP)
    assert run.returncode == 0, run.stderr
    assert "+  return mindiesd::ext::attention_forward(query" in run.stdout
