"""Files of model code that lost or gained bytes: the tool says what it makes of each and ends.

The corpus is the stock: each damaged file is one of its files cut off, with bits turned over, with
bytes or whole lines taken out, put in twice or exchanged, or with a piece of another file put into
it. The seed is fixed; REFIT_DAMAGED gives another number of files than the usual one.
"""

import json
import os
import random
import warnings
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
STOCK = sorted([*ROOT.glob("corpus/*/before/**/*.py"), *ROOT.glob("tests/property/near_misses/*.py")])
NUMBER = int(os.environ.get("REFIT_DAMAGED", "600"))
PIECES = b"([{}])'\"\"\"\\#:;,.=*@~`\t\r\n\x0c \x00\x7f\x80\xc3\xff0x1jdefclassif lambda async match case"


def flip(text: bytearray, rng: random.Random) -> None:
    for _ in range(rng.choice((1, 1, 2, 8))):
        text[rng.randrange(len(text))] ^= 1 << rng.randrange(8)


def exchange(text: bytearray, rng: random.Random) -> None:
    for _ in range(rng.choice((1, 2, 5))):
        text[rng.randrange(len(text))] = rng.choice(PIECES)


def insert(text: bytearray, rng: random.Random) -> None:
    at = rng.randrange(len(text))
    text[at:at] = bytes(rng.choices(PIECES, k=rng.choice((1, 1, 2, 6))))


def take_out(text: bytearray, rng: random.Random) -> None:
    at = rng.randrange(len(text))
    del text[at : at + rng.choice((1, 1, 3, 40))]


def cut_off(text: bytearray, rng: random.Random) -> None:
    del text[rng.randrange(len(text)) :]


def shuffle_lines(text: bytearray, rng: random.Random) -> None:
    lines = bytes(text).splitlines(keepends=True)
    one, other = rng.randrange(len(lines)), rng.randrange(len(lines))
    kind = rng.randrange(4)
    if kind == 0:
        del lines[one]
    elif kind == 1:
        lines.insert(other, lines[one])
    elif kind == 2:
        lines[one], lines[other] = lines[other], lines[one]
    else:
        lines[one] = rng.choice((b" ", b"    ", b"\t")) + lines[one]
    text[:] = b"".join(lines)


def graft(text: bytearray, rng: random.Random) -> None:
    other = rng.choice(STOCK).read_bytes()
    begin = rng.randrange(max(len(other), 1))
    at = rng.randrange(len(text))
    text[at:at] = other[begin : begin + rng.choice((10, 100, 1000))]


WAYS = (flip, exchange, insert, take_out, cut_off, shuffle_lines, graft)


def damaged(seed: int) -> bytes:
    rng = random.Random(seed)
    text = bytearray(rng.choice(STOCK).read_bytes() or b"\n")
    for _ in range(rng.choice((1, 1, 2, 4))):
        rng.choice(WAYS)(text, rng)
        text = text or bytearray(b"\n")
    return bytes(text)


def compiles(text: bytes) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compile(text, "damaged", "exec", dont_inherit=True)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return False
    return True


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> dict[str, bytes]:
    return {f"d{seed // 100}/m{seed}.py": damaged(seed) for seed in range(NUMBER)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory, files) -> Path:
    root = tmp_path_factory.mktemp("damaged")
    for name, text in files.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_bytes(text)
    return root


@pytest.fixture(scope="module")
def report(refit, folder) -> dict:
    out = folder / "report.json"
    done = refit("migrate", folder, "--write", "--quiet", "--jobs", "2", "--report", f"json:{out}")
    assert done.code in (0, 3), done.err[-4000:]
    return json.loads(out.read_text())


def test_every_file_has_an_answer(report, files):
    assert report["files"]["seen"] == NUMBER
    for problem in report["problems"]:
        assert problem["kind"] in ("undecodable", "syntax"), problem
        assert problem["message"], problem
    for site in report["sites"]:
        assert site["outcome"] != "refused" or (site["code"] and site["message"]), site


def test_what_is_left_is_as_it_was(report, folder, files):
    changed = set(report["files"]["changed"])
    assert changed  # some damage does not reach the sites
    for name, text in files.items():
        assert name in changed or (folder / name).read_bytes() == text, name


def test_what_python_reads_it_still_reads(report, folder, files):
    """Of files that Python does not take as they are, the grammar takes some; nothing is asked of
    these."""
    read = [name for name in report["files"]["changed"] if compiles(files[name])]
    assert read
    assert [name for name in read if not compiles((folder / name).read_bytes())] == []


def test_a_second_run_changes_nothing(refit, report, folder):
    done = refit("migrate", folder, "--check", "--quiet", "--jobs", "2")
    assert done.code in (0, 3), done.err[-4000:]
    assert done.out == b""
