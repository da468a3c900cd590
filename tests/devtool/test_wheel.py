"""The verb wheel: what it builds with, and what it says when a step fails."""

import pytest
from devtool import tree, venv, wheel
from devtool.steps import Stop


def settings(cuda):
    found = [text.removeprefix("--config-settings=") for text in wheel._settings(cuda)]
    return dict(text.split("=", 1) for text in found)


def test_a_toolkit_that_is_there_does_not_get_into_the_wheel_for_the_cpu():
    chosen = settings(cuda=False)
    assert chosen["cmake.define.CMAKE_DISABLE_FIND_PACKAGE_CUDAToolkit"] == "ON"
    assert chosen["cmake.define.REFIT_STATIC_LIBRARIES"] == "ON"
    assert "wheel.build-tag" not in chosen


def test_the_wheel_for_gpus_has_a_name_and_a_folder_of_its_own_and_code_for_newer_ones():
    chosen = settings(cuda=True)
    assert chosen["cmake.define.CMAKE_REQUIRE_FIND_PACKAGE_CUDAToolkit"] == "ON"
    assert chosen["build-dir"] != settings(cuda=False)["build-dir"]
    assert chosen["wheel.build-tag"][0].isdigit()
    architectures = chosen["cmake.define.MINDIESD_CUDA_ARCHITECTURES"].split(";")
    # What the ordinary build compiles for, and PTX.
    text = (tree.ROOT / "CMakeLists.txt").read_text()
    ordinary = text.split('set(MINDIESD_CUDA_ARCHITECTURES "')[1].split('"')[0].split(";")
    assert set(architectures) > set(ordinary)
    assert [name for name in architectures if name.endswith("-virtual")]


def test_an_unknown_option(sandbox):
    run = sandbox.dev("wheel", "--colour")
    assert run.returncode == 2
    assert "unrecognized arguments: --colour" in run.stderr


@pytest.fixture
def fails(monkeypatch, tmp_path):
    """An environment in which the named module of Python fails after it said `sentence`."""
    monkeypatch.setattr(venv, "FOLDER", tmp_path / "venv")
    monkeypatch.setattr(wheel, "LOG", tmp_path / "wheel.log")
    (tmp_path / "venv" / "bin").mkdir(parents=True)

    def module(name, sentence):
        venv.python().write_text(
            f'#!/bin/sh\ncase "$2" in {name}) echo "      {sentence}"; echo more; exit 1;; esac\n'
            'for argument; do [ "$previous" = --wheel-dir ] && folder=$argument; previous=$argument; done\n'
            'mkdir -p "$folder"; touch "$folder/refit-1-py3-none-linux_x86_64.whl"\n'
        )
        venv.python().chmod(0o755)

    return module


@pytest.mark.parametrize(
    ("module", "sentence", "said"),
    [
        ("pip", "CMake Error at a.cmake:3 (message):", "the wheel could not be built"),
        ("auditwheel", "ERROR: no such platform", "auditwheel could not name the wheel's platform"),
    ],
)
def test_a_step_that_fails_is_said_and_leaves_nothing(fails, tmp_path, module, sentence, said):
    fails(module, sentence)
    with pytest.raises(Stop) as stop:
        wheel.build(cuda=False, output=tmp_path / "dist")
    assert said in str(stop.value) and sentence in str(stop.value)
    assert not list((tmp_path / "dist").iterdir())


def test_the_finished_wheel_is_the_one_with_a_platform(fails, tmp_path):
    fails("nothing", "")
    made = wheel.build(cuda=False, output=tmp_path / "dist")
    assert made.parent == tmp_path / "dist"
    assert list((tmp_path / "dist").iterdir()) == [made]


def test_a_wheel_that_cannot_be_read(fails, tmp_path):
    fails("auditwheel", "ERROR")
    with pytest.raises(Stop, match="auditwheel could not read refit.whl"):
        wheel.needed(tmp_path / "refit.whl")
