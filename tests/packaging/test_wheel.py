"""The wheel of ./dev wheel: its name and contents, and what works where nothing else is installed.

It is built with the compilers and flags of ./dev's own build, so that ccache has its objects.
"""

import base64
import csv
import hashlib
import io
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest
from devtool import venv
from devtool import wheel as verb
from elftools.elf.elffile import ELFFile

ROOT = Path(__file__).resolve().parents[2]

# What glibc itself consists of; every Linux that Python's wheels run on has these.
GLIBC = re.compile(r"(libc|libm|libpthread|libdl|librt|ld-linux.*)\.so\.\d+")
# Every library of Python packages may need these, and torch brings them where nothing else does.
COMPILER = {"libstdc++.so.6", "libgcc_s.so.1"}

ATTENTION = """
import torch
import mindiesd
from mindiesd import ext
print(mindiesd.__file__)
query, key, value = (torch.randn(2, 7, 3, 16) for _ in range(3))
expected = torch.nn.functional.scaled_dot_product_attention(
    query.transpose(1, 2), key.transpose(1, 2), value.transpose(1, 2)).transpose(1, 2)
torch.testing.assert_close(mindiesd.attention_forward(query, key, value), expected)
with torch.no_grad(), mindiesd.Instances(lambda: torch.nn.Linear(4, 4), 2, "cpu") as instances:
    rows = torch.randn(3, 4)
    torch.testing.assert_close(next(instances.map([rows])), instances.models[0](rows))
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


@pytest.fixture(scope="session")
def wheel(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        # The environment that runs the tests has what the wheel is built with.
        patch.setattr(venv, "FOLDER", Path(sys.prefix))
        return verb.build(cuda=False, output=tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="session")
def prefix(wheel, tmp_path_factory):
    """The wheel installed where nothing else is."""
    folder = tmp_path_factory.mktemp("prefix")
    pip("install", "--no-deps", "--no-index", "--ignore-installed", "--prefix", folder, wheel)
    return folder


@pytest.fixture(scope="session")
def bare(wheel, tmp_path_factory):
    """The bin folder of a virtual environment that holds the wheel and nothing else."""
    folder = tmp_path_factory.mktemp("bare") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    pip("--python", folder / "bin" / "python", "install", "--no-index", wheel)
    return folder / "bin"


def packages(prefix):
    return Path(sysconfig.get_path("purelib", vars={"base": str(prefix), "platbase": str(prefix)}))


def environment(prefix):
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("MINDIESD", "REFIT", "PYTHON"))}
    return {**kept, "PYTHONPATH": str(packages(prefix))}


def run(command, env, cwd):
    return subprocess.run(command, env=env, cwd=cwd, capture_output=True, text=True, check=False)


def test_the_name_says_for_what_it_is(wheel):
    name = re.fullmatch(
        r"refit-([0-9.]+)-py3-none-manylinux_2_(\d+)_(\w+)\.whl", wheel.name
    )
    assert name, wheel.name
    (declared,) = re.findall(r"^project\(refit VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text(), re.M)
    assert (name[1], name[3]) == (declared, platform.machine())
    # A program needs no newer glibc than the one that it was linked against; Debian 12's is 2.36, and
    # nothing in the wheel asks for more than 2.35.
    libc = int(platform.libc_ver()[1].split(".")[1])
    assert int(name[2]) <= (35 if libc <= 36 else libc)
    with zipfile.ZipFile(wheel) as archive:
        (tags,) = (n for n in archive.namelist() if n.endswith(".dist-info/WHEEL"))
        said = archive.read(tags).decode()
    assert re.findall(r"^Tag: (.+)$", said, re.M) == ["-".join(wheel.stem.split("-")[2:])]


def test_everything_is_inside(wheel):
    names = {re.sub(r"^refit-[^/]*\.data/(scripts|data)", r"\1", n) for n in zipfile.ZipFile(wheel).namelist()}
    assert names >= {
        "scripts/refit", "data/share/refit/notices/libgit2-dev", "data/share/refit/verify/__main__.py",
        "mindiesd/__init__.py", "mindiesd/py.typed",
        "mindiesd/lib/libmindiesd.so", "mindiesd/lib/libmindiesd_python.so",
        "mindiesd/lib/cmake/mindiesd/mindiesdConfig.cmake", "mindiesd/lib/pkgconfig/mindiesd.pc",
    }  # fmt: skip
    places = {"rules": "data/share/refit/rules", "runtime/include/mindiesd": "mindiesd/include/mindiesd"}
    for folder, place in places.items():
        tracked = subprocess.run(
            ["git", "ls-files", folder], cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout.splitlines()
        assert tracked
        assert names >= {place + name.removeprefix(folder) for name in tracked}
    assert not [name for name in names if name.endswith((".a", ".pyc")) or "libgit2.so" in name]


def test_the_record_names_each_file_with_its_digest(wheel):
    with zipfile.ZipFile(wheel) as archive:
        (record,) = (n for n in archive.namelist() if n.endswith(".dist-info/RECORD"))
        rows = list(csv.reader(io.StringIO(archive.read(record).decode())))
        assert sorted(row[0] for row in rows) == sorted(n for n in archive.namelist() if not n.endswith("/"))
        for name, digest, size in rows:
            if name == record:
                continue
            data = archive.read(name)
            found = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            assert (digest, int(size)) == (f"sha256={found}", len(data)), name


def test_no_library_but_glibc_is_needed(wheel):
    with zipfile.ZipFile(wheel) as archive:
        programs = [n for n in archive.namelist() if n.endswith((".so", "/refit"))]
        assert len(programs) == 3
        for name in programs:
            data = archive.read(name)
            assert str(ROOT).encode() not in data, f"{name} holds a path of this machine"
            dynamic = ELFFile(io.BytesIO(data)).get_section_by_name(".dynamic")
            needed = {tag.needed for tag in dynamic.iter_tags("DT_NEEDED")}
            others = {library for library in needed if not GLIBC.fullmatch(library)}
            assert others <= (set() if name.endswith("/refit") else COMPILER), name
            assert not list(dynamic.iter_tags("DT_RUNPATH")) + list(dynamic.iter_tags("DT_RPATH"))


def test_the_tool_opens_no_connections(wheel):
    """libgit2 comes without its transports."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (n for n in archive.namelist() if n.endswith("/refit"))
        symbols = ELFFile(io.BytesIO(archive.read(name))).get_section_by_name(".dynsym")
    names = {symbol.name for symbol in symbols.iter_symbols()}
    assert "open" in names or "open64" in names
    assert not names & {"socket", "connect", "getaddrinfo", "bind", "listen"}


def test_import_and_compute(prefix, tmp_path):
    done = run([sys.executable, "-c", ATTENTION], environment(prefix), tmp_path)
    assert done.returncode == 0, done.stderr
    assert Path(done.stdout.strip()).is_relative_to(prefix)


def test_the_package_says_its_version(wheel, prefix, tmp_path):
    code = "import mindiesd; print(mindiesd.__version__)"
    done = run([sys.executable, "-c", code], environment(prefix), tmp_path)
    assert done.stdout.strip() == wheel.name.split("-")[1], done.stderr


def test_without_torch_the_package_says_what_it_needs(bare, tmp_path):
    done = run([bare / "python", "-c", "import mindiesd"], environment(tmp_path), tmp_path)
    assert done.returncode != 0
    assert "mindiesd needs torch 2.4 or newer" in done.stderr.splitlines()[-1]


def test_programs_in_cpp_find_the_library(prefix, tmp_path):
    """By CMake and by pkg-config, each from the folder of the package."""
    package, source = packages(prefix) / "mindiesd", ROOT / "tests" / "runtime" / "consumer"
    env = {
        **environment(prefix),
        "PKG_CONFIG_PATH": str(package / "lib" / "pkgconfig"), "LD_LIBRARY_PATH": str(package / "lib"),
    }  # fmt: skip
    flags = run(["pkg-config", "--cflags", "--libs", "mindiesd"], env, tmp_path)
    assert flags.returncode == 0, flags.stderr
    builds = [
        ["c++", "-std=c++17", source / "main.cpp", "-o", "by-pkg-config", *flags.stdout.split()],
        ["cmake", "-S", source, "-B", "made", "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={package}"],
        ["cmake", "--build", "made"],
    ]  # fmt: skip
    for command in [*builds, [tmp_path / "by-pkg-config"], [tmp_path / "made" / "consumer"]]:
        done = run(command, env, tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr


def migrate(program, folder, name="model.py", text=MODEL):
    (folder / name).write_text(text)
    return run([program, "migrate", folder], environment(folder), folder)


def test_refit_finds_its_rules(bare, tmp_path):
    done = migrate(bare / "refit", tmp_path)
    assert done.returncode == 0, done.stderr
    assert "+    return mindiesd" in done.stdout


def test_refit_reads_a_repository(bare, tmp_path):
    """What git ignores is left out, and --since compares with a commit: both are libgit2's work."""
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", tmp_path]
    (tmp_path / ".gitignore").write_text("made.py\n")
    (tmp_path / "model.py").write_text(MODEL)
    (tmp_path / "made.py").write_text(MODEL)
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"]):
        subprocess.run([*git, *command], check=True)
    (tmp_path / "new.py").write_text(MODEL)
    done = run([bare / "refit", "migrate", tmp_path], environment(tmp_path), tmp_path)
    assert re.findall(r"^\+\+\+ b/(.+)$", done.stdout, re.M) == ["model.py", "new.py"], done.stderr
    done = run([bare / "refit", "migrate", "--since", "HEAD", tmp_path], environment(tmp_path), tmp_path)
    assert re.findall(r"^\+\+\+ b/(.+)$", done.stdout, re.M) == ["new.py"], done.stderr


def test_the_rules_pass_their_tests(bare, tmp_path):
    done = run([bare / "refit", "rules", "test", "--no-numeric"], environment(tmp_path), tmp_path)
    assert done.returncode == 0, done.stderr
    passed, total = map(int, re.search(r"(\d+) of (\d+) tests passed", done.stdout).groups())
    assert passed == total > 100


def test_refit_verifies_with_what_was_installed(prefix, tmp_path):
    assert migrate(prefix / "bin" / "refit", tmp_path).returncode == 0
    done = run(
        [prefix / "bin" / "refit", "verify", tmp_path, "--python", sys.executable], environment(prefix), tmp_path
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "attend" in done.stdout


def test_refit_reads_the_rules_that_were_installed_with_it(prefix, tmp_path):
    """And not those of the source tree, which the wheel's user may have deleted."""
    moved = tmp_path / "moved"
    shutil.copytree(prefix / "bin", moved / "bin")
    (moved / "share" / "refit" / "rules").mkdir(parents=True)
    (tmp_path / "model").mkdir()
    done = migrate(moved / "bin" / "refit", tmp_path / "model")
    assert done.returncode != 0
    assert str(moved / "share" / "refit" / "rules") in done.stderr
    (moved / "share" / "refit" / "rules").rmdir()
    done = migrate(moved / "bin" / "refit", tmp_path / "model")
    assert done.returncode != 0
    assert f"found no rules: there is no folder {moved / 'share' / 'refit' / 'rules'}; name" in done.stderr


def test_cpp_is_read_by_what_was_installed(bare, tmp_path):
    done = migrate(bare / "refit", tmp_path, "model.cpp", MODEL_CPP)
    assert done.returncode == 0, done.stderr
    assert "+  return mindiesd::ext::attention_forward(query" in done.stdout
