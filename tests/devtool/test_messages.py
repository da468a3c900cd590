"""What ./dev says when something is missing: one sentence with what to do, and never a trace."""

import importlib.util
import os
import shutil

import pytest
from devtool import build, debian, sources, steps, tree, venv
from devtool.steps import Stop


def says(run, *parts, status=2):
    """The last line of standard error holds all parts; no trace; this exit status."""
    assert run.returncode == status, run.stderr
    assert run.stdout == ""
    assert "Traceback" not in run.stderr
    last = run.stderr.splitlines()[-1]
    for part in parts:
        assert part in last
    return run


def test_no_python_that_is_new_enough(sandbox):
    sandbox.tool("python3", 'case "$1" in --version) echo "Python 3.9.2";; *) exit 1;; esac')
    says(sandbox.dev("help"), "needs Python 3.11 or newer", "Python 3.9.2", "REFIT_PYTHON")


def test_no_python_at_all(sandbox):
    (sandbox.bin / "python3").unlink()
    says(sandbox.dev("help"), "needs Python 3.11 or newer", "no python3 on PATH")


def test_python_that_is_not_on_the_path(sandbox):
    real = os.readlink(sandbox.bin / "python3")
    (sandbox.bin / "python3").unlink()
    assert sandbox.dev("help", REFIT_PYTHON=real).returncode == 0


def test_unknown_verb(sandbox):
    says(sandbox.dev("bild"), "no verb 'bild'", "setup, build, migrate, test")


@pytest.mark.parametrize("verb", ["setup", "build", "fmt", "lint", "clean"])
def test_argument_where_none_belongs(sandbox, verb):
    says(sandbox.dev(verb, "--now"), f"./dev {verb} takes no arguments", "--now")


def test_unknown_part_of_the_tests(sandbox):
    says(sandbox.dev("test", "rust"), "takes cpp, py, gpu or sanitize", "'rust'")


def test_apt_without_network(sandbox):
    sandbox.tool("dpkg-query", "exit 1")
    sandbox.tool("sudo", 'case "$1" in -n) exit 0;; *) exec "$@";; esac')
    sandbox.tool("apt-get", "echo \"E: Failed to fetch the package list\"; echo done; exit 100")
    run = says(
        sandbox.dev("build"), "apt-get update failed", "is there a network?",
        "build/log/setup.log", "E: Failed to fetch the package list",
    )  # fmt: skip
    assert "installing" in run.stderr
    assert "Failed to fetch" in (sandbox.root / "build/log/setup.log").read_text()


def test_apt_that_cannot_install(sandbox):
    sandbox.tool("dpkg-query", "exit 1")
    sandbox.tool("sudo", 'case "$1" in -n) exit 0;; *) exec "$@";; esac')
    sandbox.tool("apt-get", 'case "$*" in *update) ;; *) echo "E: no such package"; exit 100;; esac')
    says(sandbox.dev("build"), "apt-get could not install", "E: no such package")


def test_packages_missing_and_no_way_to_be_root(sandbox, monkeypatch):
    sandbox.tool("dpkg-query", 'shift 2; for n; do [ "$n" = cmake ] || echo "ii  $n"; done')
    sandbox.tool("apt-get", "exit 0")
    monkeypatch.setenv("PATH", str(sandbox.bin))
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(Stop, match="neither root nor sudo.*: apt-get install cmake$"):
        debian.ensure(["build"])


def test_a_system_without_apt_is_only_warned(sandbox, monkeypatch, capsys):
    monkeypatch.setenv("PATH", str(sandbox.bin))
    debian.ensure(["build"])
    assert "has no apt-get" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "warns"),
    [
        ('ID=debian\nVERSION_ID="12"\n', False),
        ('ID=debian\nVERSION_ID="13"\n', False),
        ('ID=ubuntu\nVERSION_ID="24.04"\n', False),
        ('ID=ubuntu\nVERSION_ID="22.04"\nPRETTY_NAME="Ubuntu 22.04"\n', True),
        ('ID=debian\nVERSION_ID="11"\n', True),
        ("ID=debian\n", True),
        ("ID=other\nVERSION_ID=99\n", True),
    ],
)
def test_another_release_is_only_warned_about(text, warns):
    warning = debian.release_warning(text)
    assert bool(warning) == warns
    if warns:
        assert warning.startswith("warning: ") and "Debian 12" in warning


def test_no_venv_module(monkeypatch, tmp_path):
    monkeypatch.setattr(venv, "FOLDER", tmp_path / "venv")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(Stop, match="has no venv module; install the Debian package python3-venv"):
        venv.create()


@pytest.fixture
def fake_venv(monkeypatch, tmp_path):
    """An environment whose Python runs the script it is given as text."""
    monkeypatch.setattr(venv, "FOLDER", tmp_path / "venv")
    (tmp_path / "venv" / "bin").mkdir(parents=True)
    venv._stamp("python").write_text(venv._identity())

    def python(script):
        venv.python().write_text(f"#!/bin/sh\n{script}\n")
        venv.python().chmod(0o755)

    return python


def test_pip_without_network(fake_venv, monkeypatch, tmp_path):
    log = tmp_path / "setup.log"
    monkeypatch.setattr(steps.run_logged, "__defaults__", (log, *steps.run_logged.__defaults__[1:]))
    fake_venv("echo 'ERROR: No matching distribution found for numpy'; echo; exit 1")
    with pytest.raises(Stop) as stop:
        venv.install("test")
    text = str(stop.value)
    assert "pip could not install scripts/requirements/test.txt; is there a network?" in text
    assert str(log) in text
    assert text.endswith("ERROR: No matching distribution found for numpy")


def test_pip_is_started_once_for_one_state_of_a_set(fake_venv, tmp_path):
    started = tmp_path / "started"
    fake_venv(f'echo "$@" >> {started}')
    venv.install("build")
    venv.install("build")
    (line,) = started.read_text().splitlines()
    assert "--require-hashes" in line and line.endswith("scripts/requirements/build.txt")


def test_torch_that_cannot_be_imported(fake_venv):
    fake_venv('case "$*" in "-c import torch") exit 1;; esac')
    with pytest.raises(Stop, match="cannot be imported; point pip at PyTorch's CPU wheels"):
        venv.ensure_test_packages()


def test_no_cpu_build_of_torch_in_reach(fake_venv, tmp_path, capsys):
    started = tmp_path / "started"
    fake_venv(f'echo "$@" >> {started}; case "$*" in *torch-cpu.txt) exit 1;; esac')
    venv.ensure_test_packages()
    assert "taking the CUDA build, which is several GB" in capsys.readouterr().err
    sets = [line.rsplit("/", 1)[1] for line in started.read_text().splitlines() if "/" in line]
    assert sets == ["test.txt", "wheel.txt", "torch-cpu.txt", "torch.txt", "torch-cuda.txt"]
    before = started.read_text()
    venv.ensure_test_packages()
    assert started.read_text() == before


def test_sources_that_pip_did_not_bring(fake_venv, tmp_path):
    fake_venv("exit 0")
    with pytest.raises(Stop, match="no archive that holds tree_sitter_python-0.23.6 and tree_sitter-0.26"):
        sources.ensure(tmp_path / "deps")


@pytest.mark.parametrize(
    ("banner", "old"),
    [
        ("c++ (Debian 10.2.1-6) 10.2.1 20210110", True),
        ("g++ (Ubuntu 11.4.0-1ubuntu1) 11.4.0", True),
        ("c++ (Debian 12.2.0-14) 12.2.0", False),
        ("Ubuntu clang version 15.0.7", True),
        ("Debian clang version 16.0.6 (27)", False),
    ],
)
def test_age_of_the_compiler(sandbox, monkeypatch, banner, old):
    sandbox.tool("c++", f"echo '{banner}'")
    monkeypatch.setenv("PATH", str(sandbox.bin))
    monkeypatch.delenv("CXX", raising=False)
    if not old:
        build.check_compiler()
        return
    with pytest.raises(Stop, match="needs g\\+\\+ 12 or clang 16 or newer; install one.*CXX"):
        build.check_compiler()


def test_no_compiler(sandbox, monkeypatch):
    monkeypatch.setenv("PATH", str(sandbox.bin))
    monkeypatch.setenv("CXX", "g++-99")
    with pytest.raises(Stop, match="no C\\+\\+ compiler: g\\+\\+-99 is not on PATH; install g\\+\\+"):
        build.check_compiler()


def test_cmake_that_fails(sandbox):
    sandbox.has_packages()
    sandbox.has_sources()
    sandbox.tool("c++", "echo 'c++ (Debian 12.2.0-14) 12.2.0'")
    sandbox.tool("cmake", "echo 'CMake Error at CMakeLists.txt:3: no such thing'; exit 1")
    says(sandbox.dev("build"), "cmake could not configure", "build/log/configure.log", "no such thing")


def test_a_build_that_fails(sandbox):
    sandbox.has_packages()
    sandbox.has_sources()
    sandbox.has_build()
    sandbox.tool("ninja", "case \"$*\" in *-n*) echo '[1/2] a';; *) exit 1;; esac")
    run = sandbox.dev("build")
    says(run, "the build failed", status=1)


def test_a_program_that_is_not_there(tmp_path):
    with pytest.raises(Stop, match="the step failed: no-such-program could not be started"):
        steps.run_logged(["no-such-program"], "the step failed", log=tmp_path / "log")


def test_a_failure_without_output(tmp_path):
    with pytest.raises(Stop, match="it printed nothing"):
        steps.run_logged([shutil.which("false")], "the step failed", log=tmp_path / "log")


@pytest.mark.parametrize(
    ("output", "line"),
    [
        ("E: first\nE: second\nmore\n", "E: first"),
        ("noise\nCMake Error at a:1 (b):\n  No such\n  thing\n", "CMake Error at a:1 (b): No such"),
        ("CMake Error at a:1:", "CMake Error at a:1:"),
        ("something\n\nlast words\n\n", "last words"),
    ],
)
def test_the_line_that_tells_most(output, line):
    assert steps.telling_line(output, ("E:", "CMake Error")) == line


def test_paths_in_messages_are_those_inside_the_tree():
    assert tree.shown(tree.SETUP_LOG) == "build/log/setup.log"
