"""What the verbs do with a set-up and a build that are already there."""

import fcntl
import subprocess
import time

import pytest
from devtool import bench
from devtool.steps import Stop


def ready(sandbox):
    sandbox.has_packages()
    sandbox.has_sources()
    sandbox.has_build()
    return sandbox


def test_help_lists_every_verb(sandbox):
    run = sandbox.dev("help")
    assert run.returncode == 0
    for verb in ("setup", "build", "migrate", "test", "bench", "wheel", "fmt", "lint", "clean"):
        assert f"\n  {verb} " in run.stdout
    assert sandbox.dev().stdout == sandbox.dev("--help").stdout == run.stdout


def test_migrate_hands_over_arguments_output_and_exit_status(sandbox, tmp_path):
    run = ready(sandbox).dev("migrate", "a folder", "--diff", cwd=tmp_path)
    assert (run.stdout, run.stderr, run.returncode) == ("migrate a folder --diff\n", "", 7)


def test_migrate_starts_the_tool_soon_when_nothing_is_to_be_done(sandbox):
    ready(sandbox).dev("migrate", ".")

    def seconds():
        start = time.monotonic()
        sandbox.dev("migrate", ".")
        return time.monotonic() - start

    assert min(seconds() for _ in range(3)) < 2


def test_migrate_configures_a_new_tree_without_tests(sandbox):
    ready(sandbox)
    (sandbox.root / "build" / "CMakeCache.txt").unlink()
    sandbox.tool("c++", "echo 'c++ (Debian 12.2.0-14) 12.2.0'")
    sandbox.tool("cmake", f'echo "$@" > {sandbox.root}/cmake-arguments')
    assert sandbox.dev("migrate", ".").returncode == 7
    arguments = (sandbox.root / "cmake-arguments").read_text()
    assert "-DREFIT_BUILD_TESTS=OFF" in arguments


def test_a_tree_that_was_moved_is_built_anew(sandbox):
    ready(sandbox)
    cache = sandbox.root / "build" / "CMakeCache.txt"
    cache.write_text("CMAKE_HOME_DIRECTORY:INTERNAL=/elsewhere\n")
    sandbox.tool("c++", "echo 'c++ (Debian 12.2.0-14) 12.2.0'")
    sandbox.tool("cmake", "exit 0")
    run = sandbox.dev("build")
    assert "was moved or copied, so it is built anew" in run.stderr
    assert not cache.exists()


def test_a_second_dev_in_the_tree_waits_for_the_first(sandbox):
    ready(sandbox)
    (sandbox.root / ".cache").mkdir()
    with (sandbox.root / ".cache" / "dev.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        second = subprocess.Popen(
            [sandbox.root / "dev", "build"],
            env={"PATH": str(sandbox.bin)}, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert "waiting for another ./dev" in second.stderr.readline()
        assert second.poll() is None
    second.stderr.read()
    assert second.wait(timeout=60) == 0


def test_clean_keeps_what_set_up_installed(sandbox):
    ready(sandbox)
    other = sandbox.root / "build-asan"
    other.mkdir()
    (other / "CMakeCache.txt").touch()
    not_a_build = sandbox.root / "buildings"
    not_a_build.mkdir()
    assert sandbox.dev("clean").returncode == 0
    assert not other.exists() and not (sandbox.root / "build").exists()
    assert not_a_build.exists() and (sandbox.root / ".deps").exists()


def test_bench_names_those_there_are(sandbox, monkeypatch):
    monkeypatch.setattr(bench, "PROGRAMS", sandbox.bin)
    monkeypatch.setattr(bench, "SCRIPTS", sandbox.root)
    sandbox.tool("warp_bench", "exit 0")
    (sandbox.root / "weft_bench.py").touch()
    with pytest.raises(Stop, match="no benchmark has 'loom' .* warp_bench, weft_bench.py"):
        bench.run(["loom"])


def test_bench_runs_those_that_are_meant(sandbox, monkeypatch):
    monkeypatch.setattr(bench, "PROGRAMS", sandbox.bin)
    monkeypatch.setattr(bench, "SCRIPTS", sandbox.root)
    sandbox.tool("warp_bench", f'echo "$@" > {sandbox.root}/ran')
    sandbox.tool("weft_bench", "exit 3")
    assert bench.run(["warp", "--fast"]) == 0
    assert (sandbox.root / "ran").read_text() == "--fast\n"
    assert bench.run([]) == 1
