"""``python -m mindiesd profile``: what it counts of original and migrated code, and what it refuses."""

import textwrap

import pytest
from mindiesd import __main__ as command

ORIGINAL = """
    import torch

    norm = torch.nn.LayerNorm(256, elementwise_affine=False)

    def modulated(x, scale, shift):
        return norm(x) * (1 + scale) + shift
"""
MIGRATED = """
    import mindiesd
    import torch

    norm = torch.nn.LayerNorm(256, elementwise_affine=False)

    def modulated(x, scale, shift):
        return mindiesd.ext.norm_scale_shift(norm, x, scale, shift)
"""
CASE = """
    import torch

    def sized():
        from block_of_a_reader import modulated

        x, scale, shift = torch.randn(1, 64, 256), torch.randn(1, 1, 256), torch.randn(1, 1, 256)
        return lambda: modulated(x, scale, shift), x

    def alone():
        return sized()[0]

    def computes():
        return sized()[0]()

    def raises():
        raise ValueError("no such checkpoint")

    def ends():
        import os
        os._exit(3)
"""


@pytest.fixture
def folders(tmp_path, monkeypatch):
    """Folders with the original and the migrated module; the case lies beside them."""
    for name, text in (("original", ORIGINAL), ("migrated", MIGRATED)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "block_of_a_reader.py").write_text(textwrap.dedent(text))
    (tmp_path / "case_of_a_reader.py").write_text(textwrap.dedent(CASE))
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def profiled(capsys, *arguments):
    """{label: the words behind it}, the first line under ""."""
    assert command.main(["profile", *map(str, arguments)]) == 0
    lines = capsys.readouterr().out.splitlines()
    return {line[:44].strip(): line[44:].split() for line in lines if line[44:]}


def test_original_and_migrated(folders, capsys):
    arguments = ("--original", folders / "original", "--migrated", folders / "migrated")
    found = profiled(capsys, "case_of_a_reader:sized", *arguments)
    assert found[""] == ["original", "migrated"]
    assert found["launches"] == ["4", "1"]  # norm, 1 + scale, product, sum
    # x has 64 KiB, read and written by three operators and by one. Scale, 1 + scale twice and shift have 1 KiB, the
    # norm's mean and deviation 256 bytes each: 388.5 and 130 KiB.
    assert found["memory traffic, MiB"] == ["0.379", "0.127"]
    assert found["passes over the hidden states"] == ["6.1", "2.0"]
    assert all(float(time) > 0 for time in found["time, ms"])
    assert found["mindiesd::norm_scale_shift"][-3:] == ["-", "1", "0.127"]
    assert found["aten::mul"][0] == "1" and found["aten::mul"][-1] == "-"


def test_the_folder_goes_before_the_path(folders, capsys, monkeypatch):
    monkeypatch.syspath_prepend(folders / "migrated")
    found = profiled(capsys, "case_of_a_reader:alone", "--original", folders / "original")
    assert found[""] == ["original", "migrated"] and found["launches"] == ["4", "1"]
    assert "passes over the hidden states" not in found


def test_one_column_without_folders(folders, capsys, monkeypatch):
    monkeypatch.syspath_prepend(folders / "migrated")
    found = profiled(capsys, "case_of_a_reader:sized")
    assert found[""] == ["as", "it", "is"] and found["launches"] == ["1"]


@pytest.mark.parametrize(
    ("target", "says"),
    [
        ("case_of_a_reader", "'case_of_a_reader' is not MODULE:FUNCTION"),
        ("no_module_of_a_reader:run", "No module named 'no_module_of_a_reader'"),
        ("case_of_a_reader:absent", "module 'case_of_a_reader' has no function 'absent'"),
        ("case_of_a_reader:computes", "but returned Tensor"),
        ("case_of_a_reader:raises", "ValueError: no such checkpoint"),
        ("case_of_a_reader:ends", "ended before it was measured"),
    ],
)
def test_what_cannot_be_run(folders, capsys, target, says):
    assert command.main(["profile", target, "--original", str(folders / "original")]) == 1
    captured = capsys.readouterr()
    assert says in captured.err and not captured.out


def test_folder_without_the_module(folders, capsys, monkeypatch):
    """Both columns would be of the same code."""
    monkeypatch.syspath_prepend(folders / "migrated")
    (folders / "empty").mkdir()
    assert command.main(["profile", "case_of_a_reader:sized", "--original", str(folders / "empty")]) == 1
    assert f"has loaded no module from {folders / 'empty'}" in capsys.readouterr().err


def test_folder_that_does_not_exist(folders, capsys):
    with pytest.raises(SystemExit) as stop:
        command.main(["profile", "case_of_a_reader:sized", "--original", str(folders / "absent")])
    assert stop.value.code == 2
    assert "is no folder" in capsys.readouterr().err
