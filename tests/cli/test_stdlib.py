"""refit over CPython's standard library and its own test suite: nothing crashes, nothing that is no
site is rewritten, and what does not parse is said."""

import json
import os
import subprocess
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
REFIT = os.environ.get("REFIT_BINARY", ROOT / "build" / "bin" / "refit")
LIBRARY = Path(sysconfig.get_path("stdlib"))


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> dict:
    """The report of a run over the library as it lies, without what pip put beside it."""
    out = tmp_path_factory.mktemp("stdlib") / "report.json"
    run = subprocess.run(
        [REFIT, "migrate", LIBRARY, "--quiet", "--exclude", "site-packages/",
         "--exclude", "dist-packages/", "--report", f"json:{out}"],
        capture_output=True, text=True, check=False,
    )
    # 3: some file cannot be decoded, as the tests of the decoder intend.
    assert run.returncode in (0, 3), run.stderr
    assert run.stdout == ""
    return json.loads(out.read_text())


def test_every_file_is_seen(report: dict) -> None:
    assert report["files"]["seen"] > 500
    assert report["files"]["scanned"] == report["files"]["seen"]


def test_nothing_is_rewritten(report: dict) -> None:
    assert report["files"]["changed"] == []
    assert [s for s in report["sites"] if s["outcome"] == "rewritten"] == []


def test_what_is_left_is_said_why(report: dict) -> None:
    for problem in report["problems"]:
        assert problem["kind"] in ("undecodable", "syntax"), problem
        assert problem["message"], problem


def test_every_file_lowers(tmp_path: Path) -> None:
    """With a site put at its end, each file is read whole, and that site is all there is.

    Files that end inside a string, or that Python itself cannot compile, have their own answer.
    """
    site = (
        "\n\ndef refit_site(q, k, v):\n    import torch.nn.functional as F\n\n"
        "    return F.scaled_dot_product_attention(q, k, v)\n"
        "# mindiesd: a file that names it is looked into whole\n"
    )
    expected = set()
    for number, file in enumerate(sorted(LIBRARY.rglob("*.py"))):
        inside = file.relative_to(LIBRARY).parts
        if "site-packages" in inside or "dist-packages" in inside or "lib2to3" in inside:
            continue
        try:
            text = file.read_text(encoding="utf-8")
            compile(text + site, str(file), "exec", dont_inherit=True)
        except (SyntaxError, UnicodeDecodeError, ValueError, RecursionError, MemoryError):
            continue
        name = f"m{number}.py"
        (tmp_path / name).write_text(text + site, encoding="utf-8", newline="")
        expected.add(name)
    out = tmp_path / "report.json"
    run = subprocess.run([REFIT, "migrate", tmp_path, "--quiet", "--report", f"json:{out}"],
                         capture_output=True, text=True, check=False)
    assert run.returncode in (0, 3), run.stderr[-2000:]
    report = json.loads(out.read_text())
    found = {s["file"] for s in report["sites"]
             if s["outcome"] == "rewritten" and "refit_site" in s["before"] + s["callee"]
             or s["before"].startswith("F.scaled_dot_product_attention")}
    left = {p["file"] for p in report["problems"]}
    assert len(expected) > 500
    assert expected - found - left == set()
    # The grammar knows nearly all of the language; what it does not know is named.
    assert len(left & expected) <= len(expected) // 100, sorted(left & expected)
