"""refit migrate - --stdin-filename FILE: an editor's text in, the new text out."""

from pathlib import Path

import pytest


@pytest.fixture
def file(tree, source) -> Path:
    path = tree / "m.py"
    path.write_bytes(b"x = 1\n")
    return path


@pytest.mark.parametrize("head", [b"", b"\xef\xbb\xbf", b"# coding: latin-1\n# \xe4\n"])
def test_the_new_text_is_what_the_file_would_become(refit, file, source, head):
    text = source(head)
    done = refit("migrate", "-", "--stdin-filename", file, input=text)
    assert done.code == 0, done.err
    assert file.read_bytes() == b"x = 1\n"
    file.write_bytes(text)
    assert refit("migrate", file, "--write", "--quiet").code == 0
    assert done.out == file.read_bytes() != text


def test_names_of_the_package_resolve(refit, tree, source):
    (tree / "pack").mkdir()
    (tree / "pack" / "__init__.py").touch()
    (tree / "pack" / "names.py").write_text("from torch.nn.functional import silu as act\n")
    path = tree / "pack" / "m.py"
    text = b"from .names import act\n\n\ndef f(x):\n    return act(x)\n"
    path.write_bytes(b"")
    done = refit("migrate", "-", "--stdin-filename", path, input=text)
    path.write_bytes(text)
    alone = refit("migrate", path, "--write")
    assert alone.code == 0
    assert done.out == path.read_bytes()


@pytest.mark.parametrize("text", [b"", b"x = 1\r\n", b"def f(:\n", b"\xff\xfe", b"x = 1"])
def test_a_text_without_sites_comes_back(refit, file, text):
    done = refit("migrate", "-", "--stdin-filename", file, "--quiet", input=text)
    assert done.out == text
    assert done.code == 0


def test_a_text_that_does_not_parse_comes_back(refit, file, source):
    text = source() + b"def f(:\n"
    done = refit("migrate", "-", "--stdin-filename", file, input=text)
    assert (done.code, done.out) == (3, text)
    assert "m.py: it does not parse as Python" in done.err


def test_check_and_findings(refit, file, source):
    done = refit("migrate", "-", "--stdin-filename", file, "--check", input=source())
    assert done.code == 1
    assert "m.py:5:12: rewritten [sdpa-to-attention-forward]" in done.err


@pytest.mark.parametrize(
    "arguments",
    [
        ["-"],
        ["-", "m.py", "--stdin-filename", "m.py"],
        ["m.py", "--stdin-filename", "m.py"],
        ["-", "--stdin-filename", "m.py", "--write"],
        ["-", "--stdin-filename", "m.py", "--diff"],
        ["-", "--stdin-filename", "m.py", "--report", "json:-"],
        ["-", "--stdin-filename", "m.py", "--interactive"],
        ["-", "--stdin-filename", "."],
    ],
)
def test_what_makes_no_sense(refit, file, source, arguments):
    (file.parent / "other.py").write_bytes(b"")
    done = refit("migrate", *arguments, input=source(), cwd=file.parent)
    assert done.code == 2
    assert done.out == b""
    assert done.err != ""


def test_a_file_that_is_not_there(refit, tree, source):
    done = refit("migrate", "-", "--stdin-filename", tree / "none.py", input=source())
    assert (done.code, done.out) == (3, b"")
