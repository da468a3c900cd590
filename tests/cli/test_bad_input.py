"""Files and folders that are hard to read or to write: what is said, and that no byte is lost."""

import os
import re
import subprocess
import time

import pytest

MIB = 1 << 20


def untouched_lines(text: bytes) -> list[bytes]:
    """The lines that no rewrite of the one site may touch, with their line ends."""
    lines = text.splitlines(keepends=True)
    return [line for line in lines if b"scaled_dot" not in line and b"functional" not in line]


def is_subsequence(part: list[bytes], whole: list[bytes]) -> bool:
    rest = iter(whole)
    return all(line in rest for line in part)


def expect_migrated(before: bytes, after: bytes) -> None:
    assert b"scaled_dot_product_attention" not in after
    assert b"attention_forward(q, k, v" in after
    assert b"import mindiesd" in after
    assert is_subsequence(untouched_lines(before), after.splitlines(keepends=True))
    compile(after, "after", "exec")  # Python reads the cookie, the mark and the line ends itself


def crlf(text: bytes) -> bytes:
    return text.replace(b"\n", b"\r\n")


READABLE = {
    "utf-8": lambda s: s(b"# caf\xc3\xa9 \xe4\xb8\xad\n"),
    "bom": lambda s: b"\xef\xbb\xbf" + s(),
    "bom-and-cookie": lambda s: b"\xef\xbb\xbf" + s(b"# -*- coding: utf-8 -*-\n"),
    "latin-1": lambda s: s(b"# -*- coding: latin-1 -*-\nNAME = 'caf\xe9'\n"),
    "latin-1-vim": lambda s: s(b"#!/usr/bin/env python\n# vim: set fileencoding=latin-1 :\n# \xe9\n"),
    "cp1252-crlf": lambda s: crlf(s(b"# coding: cp1252\nPRICE = '\x80'\n")),
    "gbk": lambda s: s(b"# coding: gbk\n# \xd6\xd0\xce\xc4\n"),
    "shift-jis": lambda s: s(b"# coding: shift_jis\n# \x83\x5c\x93\xfa\n"),
    "koi8-r": lambda s: s(b"# coding: koi8-r\n# \xf0\xf2\n"),
    "crlf": lambda s: crlf(s(b'"""A module."""\n')),
    "cr": lambda s: s(b"# a comment\n", body=b"    # another\n").replace(b"\n", b"\r"),
    "mixed-line-ends": lambda s: s(b"A = 1\r\nB = 2\nC = 3\r\n"),
    "tabs": lambda s: s(body=b"\tq = q * 2\t# tab\n", indent=b"\t"),
    "form-feeds": lambda s: s(b"A = 1\n\x0c\nB = 2\n\x0c\n", body=b"    # \x0c\n"),
    "no-final-newline": lambda s: s().rstrip(b"\n"),
    "no-final-newline-crlf": lambda s: crlf(s()).rstrip(b"\r\n"),
    "wide-characters-before-the-site": lambda s: s(
        body="    name = '\N{GRINNING FACE}\N{CJK UNIFIED IDEOGRAPH-4E2D}'\n".encode()
    ),
    "an-import-group-of-one": lambda s: s(b"import os\n\n"),
    "an-import-group-of-one-crlf": lambda s: crlf(s(b"import os\n\n")),
    "trailing-blanks": lambda s: s(b"A = 1   \n\n\n   \n"),
}


@pytest.mark.parametrize("make", READABLE.values(), ids=READABLE)
def test_readable_files_are_migrated_and_keep_every_other_byte(refit, tree, source, make):
    before = make(source)
    compile(before, "before", "exec")
    path = tree / "model.py"
    path.write_bytes(before)

    diff = refit("migrate", tree)
    assert diff.code == 0, diff.err
    assert path.read_bytes() == before
    done = refit("migrate", "--write", tree)
    assert done.code == 0, done.err
    after = path.read_bytes()
    expect_migrated(before, after)
    if before.count(b"\r\n") == before.count(b"\n"):
        assert after.count(b"\r\n") == after.count(b"\n"), "new lines end as the others do"
    assert after.startswith(b"\xef\xbb\xbf") == before.startswith(b"\xef\xbb\xbf")
    assert after.endswith(b"\n") == before.endswith(b"\n")

    # The diff says the same as --write did.
    path.write_bytes(before)
    environment = {**os.environ, "GIT_CEILING_DIRECTORIES": str(tree.parent)}
    subprocess.run(["git", "apply"], input=diff.out, cwd=tree, env=environment, check=True)
    assert path.read_bytes() == after

    again = refit("migrate", tree)
    assert (again.code, again.out) == (0, b"")


def test_an_import_that_a_new_one_follows_makes_room(refit, tree):
    """`flash_attn` sorts before `mindiesd`: the removal and the insertion touch."""
    before = (
        "import os\n\nimport flash_attn\n\n\n"
        "def attend(q, k, v):\n    return flash_attn.flash_attn_func(q, k, v)\n"
    )
    (tree / "a.py").write_text(before)
    done = refit("migrate", "--write", tree)
    assert done.code == 0, done.err
    after = (tree / "a.py").read_text()
    assert re.fullmatch(
        r"import os\n\nimport mindiesd[.a-z]*\n\n\n"
        r"def attend\(q, k, v\):\n    return mindiesd[.a-z]*attention_forward\(q, k, v.*\)\n",
        after,
    ), after


UNREADABLE = {
    "latin-1 without a cookie": (
        lambda s: s(b"NAME = 'caf\xe9'\n"),
        "without a coding cookie the file must be UTF-8, but byte 0xE9 in line 1 is not valid",
    ),
    "a cookie that does not fit": (
        lambda s: s(b"# coding: ascii\n# \xc3\xa9\n"),
        "the coding cookie in line 1 declares ascii, but byte 0xC3 in line 2 is not valid",
    ),
    "an unknown encoding": (
        lambda s: s(b"# coding: klingon\n"),
        "'klingon' is not the name of a known encoding",
    ),
    "a mark and another cookie": (
        lambda s: b"\xef\xbb\xbf" + s(b"# coding: latin-1\n"),
        "begins with the byte order mark of UTF-8, but the coding cookie in line 1",
    ),
    "carriage returns alone among other line ends": (
        lambda s: s(b"# a comment\rA = 1\n"),
        "line 1 ends in a carriage return alone and other lines end otherwise",
    ),
    "a NUL": (lambda s: s(b"# \x00\n"), "found a NUL byte in line 1"),
    "a syntax error": (
        lambda s: s().replace(b"(q, k, v):", b"(q, k, v:"),
        "does not parse",
    ),
}


@pytest.mark.parametrize(("make", "message"), UNREADABLE.values(), ids=UNREADABLE)
def test_a_file_that_is_no_python_is_named_and_left(refit, tree, source, make, message):
    bad = make(source)
    (tree / "bad.py").write_bytes(bad)
    (tree / "good.py").write_bytes(source())
    done = refit("migrate", "--write", tree)
    assert done.code == 3
    [line] = [line for line in done.err.splitlines() if line.startswith("error: ")]
    assert line.startswith("error: bad.py: ")
    assert message in line
    assert (tree / "bad.py").read_bytes() == bad
    expect_migrated(source(), (tree / "good.py").read_bytes())


@pytest.mark.parametrize("content", [b"", b"\n", b"# nothing\n", b"\xef\xbb\xbf", b"\x0c"])
def test_files_of_nothing(refit, tree, content):
    (tree / "empty.py").write_bytes(content)
    done = refit("migrate", "--write", tree)
    assert (done.code, done.out) == (0, b"")
    assert done.err == "1 source file: nothing that a rule looks for\n"
    assert (tree / "empty.py").read_bytes() == content


def test_fifty_megabytes_of_data_are_passed_over(refit, tree):
    row = b"    (0.123456789, 0.987654321, 'scaled', 'attention'),\n"
    content = b"TABLE = [\n" + row * (50 * MIB // len(row)) + b"]\n"
    (tree / "table.py").write_bytes(content)
    begin = time.monotonic()
    done = refit("migrate", "--write", tree)
    assert time.monotonic() - begin < 10
    assert (done.code, done.out) == (0, b"")
    assert (tree / "table.py").read_bytes() == content


def test_fifty_megabytes_with_a_site_are_named_and_left(refit, tree, source):
    row = b"# 0.123456789, 0.987654321\n"
    content = source(row * (50 * MIB // len(row)))
    (tree / "large.py").write_bytes(content)
    (tree / "good.py").write_bytes(source())
    done = refit("migrate", "--write", tree)
    assert done.code == 3
    assert "error: large.py: " in done.err
    assert "MiB" in done.err
    assert (tree / "large.py").read_bytes() == content
    expect_migrated(source(), (tree / "good.py").read_bytes())


def nobody(tree) -> dict:
    """Options that run a command as a user who owns the tree but is not root."""
    if os.geteuid() != 0:
        return {}
    for path in [tree, *tree.rglob("*")]:
        os.chown(path, 65534, 65534, follow_symlinks=False)
    for path in [tree, *tree.parents][:-2]:
        path.chmod(path.stat().st_mode | 0o711)
    return {"user": 65534, "group": 65534, "extra_groups": []}


def test_a_file_that_cannot_be_written(open_refit, tree, source):
    (tree / "locked.py").write_bytes(source())
    (tree / "good.py").write_bytes(source())
    options = nobody(tree)
    (tree / "locked.py").chmod(0o444)
    done = open_refit("migrate", "--write", tree, **options)
    assert done.code == 6
    assert (
        "error: locked.py: the file may not be written: Permission denied; the file is as it was"
        in done.err
    )
    assert (tree / "locked.py").read_bytes() == source()
    expect_migrated(source(), (tree / "good.py").read_bytes())
    assert sorted(path.name for path in tree.iterdir()) == ["good.py", "locked.py"]


def test_a_folder_that_cannot_be_written(open_refit, tree, source):
    (tree / "sub").mkdir()
    (tree / "sub" / "a.py").write_bytes(source())
    options = nobody(tree)
    (tree / "sub").chmod(0o555)
    done = open_refit("migrate", "--write", tree, **options)
    (tree / "sub").chmod(0o755)
    assert done.code == 6
    assert (
        "error: sub/a.py: making a temporary file beside it: Permission denied; "
        "the file is as it was" in done.err
    )
    assert (tree / "sub" / "a.py").read_bytes() == source()
    assert [path.name for path in (tree / "sub").iterdir()] == ["a.py"]


def test_a_file_and_a_folder_that_cannot_be_read(open_refit, tree, source):
    (tree / "closed").mkdir()
    (tree / "closed" / "a.py").write_bytes(source())
    (tree / "secret.py").write_bytes(source())
    (tree / "good.py").write_bytes(source())
    options = nobody(tree)
    (tree / "secret.py").chmod(0)
    (tree / "closed").chmod(0)
    done = open_refit("migrate", "--write", tree, **options)
    (tree / "closed").chmod(0o755)
    assert done.code == 3
    assert "error: closed: cannot be read: Permission denied" in done.err
    assert "error: secret.py: " in done.err
    expect_migrated(source(), (tree / "good.py").read_bytes())


@pytest.mark.parametrize("git", [False, True])
def test_links_that_loop_or_lead_out(refit, tree, source, git):
    if git:
        subprocess.run(["git", "init", "-q"], cwd=tree, check=True)
    outside = tree.parent / "outside"
    outside.mkdir()
    (outside / "o.py").write_bytes(source())
    (tree / "a.py").write_bytes(source())
    (tree / "again.py").symlink_to("a.py")
    (tree / "loop.py").symlink_to("loop.py")
    (tree / "up").symlink_to("..")
    (tree / "out").symlink_to(outside)
    (tree / "out.py").symlink_to(outside / "o.py")
    done = refit("migrate", "--write", tree)
    assert done.code == 0, done.err
    notes = [line for line in done.err.splitlines() if line.startswith("note: ")]
    assert notes == [
        "note: loop.py: a symbolic link that leads back to itself; not followed",
        f"note: out.py: a symbolic link that leads out of the tree, to {outside / 'o.py'}; "
        "not followed",
        f"note: out: a symbolic link that leads out of the tree, to {outside}; not followed",
        "note: up: a symbolic link to a folder above it; not followed",
    ]
    assert (outside / "o.py").read_bytes() == source()
    expect_migrated(source(), (tree / "a.py").read_bytes())
    assert (tree / "again.py").is_symlink()
    assert (tree / "out.py").is_symlink()


def test_a_path_that_is_a_link_stays_one(refit, tree, source):
    (tree / "real").mkdir()
    (tree / "real" / "a.py").write_bytes(source())
    (tree / "a.py").symlink_to("real/a.py")
    done = refit("migrate", "--write", tree / "a.py")
    assert done.code == 0, done.err
    assert (tree / "a.py").is_symlink()
    expect_migrated(source(), (tree / "real" / "a.py").read_bytes())


def test_a_folder_without_python(refit, tree):
    (tree / "readme.md").write_text("F.scaled_dot_product_attention(q, k, v)\n")
    done = refit("migrate", tree)
    assert (done.code, done.out) == (0, b"")
    assert done.err == f"no source files in {tree}: nothing to do\n"


@pytest.mark.parametrize(
    "name", ["a b.py", "caf\N{LATIN SMALL LETTER E WITH ACUTE}.py", 'quote".py', "new\nline.py"]
)
def test_names_of_every_kind(refit, tree, source, name):
    path = tree / name
    path.write_bytes(source())
    diff = refit("migrate", tree)
    environment = {**os.environ, "GIT_CEILING_DIRECTORIES": str(tree.parent)}
    subprocess.run(["git", "apply"], input=diff.out, cwd=tree, env=environment, check=True)
    expect_migrated(source(), path.read_bytes())
    assert refit("migrate", "--check", tree).code == 0
