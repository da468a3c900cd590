"""`refit verify`: changed functions run as they were and as they are."""

import importlib.util
import json
import os
import shutil
import subprocess
from pathlib import Path

import jsonschema
import pytest

spec = importlib.util.spec_from_file_location("browser", Path(__file__).parent / "browser.py")
driver = importlib.util.module_from_spec(spec)
spec.loader.exec_module(driver)

ROOT = Path(__file__).resolve().parents[2]
OASIS = ROOT.parent / "shared" / "sarif-schema-2.1.0.json"
PYTHON = ROOT / ".venv" / "bin" / "python"

ATTENTION = """\
import torch
import torch.nn.functional as F


class Attention(torch.nn.Module):
    def __init__(self, dim, num_heads=8):
        super().__init__()
        self.num_heads = num_heads
        self.qkv = torch.nn.Linear(dim, 3 * dim)
        self.proj = torch.nn.Linear(dim, dim)

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = self.qkv(x).reshape(b, n, 3, self.num_heads, -1).unbind(2)
        out = F.scaled_dot_product_attention(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2))
        return self.proj(out.transpose(1, 2).reshape(b, n, c))


def activate(x):
    return F.gelu(x)
"""


@pytest.fixture(scope="module")
def environment() -> dict:
    return {**os.environ, "PYTHONPATH": str(ROOT / "runtime" / "python")}


@pytest.fixture
def verify(refit, environment):
    def run(*arguments, **options):
        return refit("verify", "--python", PYTHON, *arguments, env={**environment, **options})

    return run


@pytest.fixture
def tree(tmp_path) -> Path:
    folder = tmp_path / "tree"
    folder.mkdir()
    (folder / "attention.py").write_text(ATTENTION)
    return folder


def report_of(verify, tree, *arguments, code=0) -> dict:
    done = verify(tree, "--report", "json:-", *arguments)
    assert done.code == code, done.err
    report = json.loads(done.out)
    schema = json.loads((ROOT / "rewriter" / "report" / "verification.schema.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(report)
    return report


def by_name(report: dict) -> dict:
    return {one["function"]: one for one in report["functions"]}


def git(tree: Path, *arguments) -> None:
    names = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
    subprocess.run(["git", "-C", tree, *names, *arguments], check=True, capture_output=True)


def test_a_tree_that_is_not_migrated_is_compared_with_what_migrate_would_write(verify, tree):
    before = (tree / "attention.py").read_bytes()
    done = verify(tree)
    assert done.code == 0, done.err
    lines = done.out.decode().splitlines()
    assert [line.split()[0] for line in lines] == ["verdict", "agrees", "agrees"]
    assert "2 changed functions: 2 agree, 0 differ, 0 not run; 2 sites" in done.err
    assert (tree / "attention.py").read_bytes() == before
    assert [path.name for path in tree.iterdir()] == ["attention.py"]  # nothing compiled beside it


def test_a_folder_of_the_corpus_agrees(verify, tmp_path):
    shutil.copytree(ROOT / "corpus" / "attention_by_hand" / "before", tmp_path / "tree")
    report = report_of(verify, tmp_path / "tree")
    assert report["summary"]["functions"] == {"agrees": 6, "differs": 0, "not_run": 0}
    assert report["summary"]["sites"] == {"agrees": 7, "differs": 0, "not_run": 0}
    for function in report["functions"]:
        kinds = {error["inputs"] for error in function["errors"]}
        assert "float32" in kinds and function["inputs"] >= 4
        for error in function["errors"]:
            assert error["migrated"]["largest"] < 0.1


def test_a_migrated_text_that_was_damaged_differs_and_is_named(refit, verify, tree):
    assert refit("migrate", tree, "--write", "--quiet").code == 0
    path = tree / "attention.py"
    text = path.read_text()
    assert "mindiesd.ext.gelu(x)" in text
    assert report_of(verify, tree)["summary"]["functions"]["agrees"] == 2
    path.write_text(text.replace("mindiesd.ext.gelu(x)", "mindiesd.ext.gelu(x) * 1.001"))
    done = verify(tree)
    assert done.code == 1
    report = report_of(verify, tree, code=1)
    assert report["original"] == "the texts before the last `refit migrate --write`"
    found = by_name(report)
    assert found["attention.Attention.forward"]["verdict"] == "agrees"
    assert found["attention.activate"]["verdict"] == "differs"
    assert "the largest error is" in found["attention.activate"]["reason"]
    assert found["attention.activate"]["sites"][0]["verdict"] == "differs"
    line = next(n for n, text in enumerate(path.read_text().splitlines(), 1) if "def activate" in text)
    assert found["attention.activate"]["line"] == line


def test_the_original_can_be_a_revision_of_git(refit, verify, tree):
    git(tree, "init")
    git(tree, "add", "-A")
    git(tree, "commit", "-m", "original")
    assert refit("migrate", tree, "--write", "--quiet").code == 0
    git(tree, "commit", "-am", "migrated")
    path = tree / "attention.py"
    path.write_text(path.read_text().replace("mindiesd.ext.gelu(x)", "mindiesd.ext.gelu(x).half()"))
    found = by_name(report_of(verify, tree, "--revision", "HEAD~1", code=1))
    assert found["attention.Attention.forward"]["verdict"] == "agrees"
    assert "becomes one of float16" in found["attention.activate"]["reason"]
    assert verify(tree, "--revision", "no-such-revision").code == 2


def test_what_migrate_would_change_now_can_be_asked_after_a_run(refit, verify, tree):
    assert refit("migrate", tree, "--write", "--quiet", "--select", "gelu-*").code == 0
    assert list(by_name(report_of(verify, tree))) == ["attention.activate"]
    assert list(by_name(report_of(verify, tree, "--planned"))) == ["attention.Attention.forward"]


def test_the_reports_are_of_their_schemas(refit, verify, tree, tmp_path):
    assert refit("migrate", tree, "--write", "--quiet").code == 0
    path = tree / "attention.py"
    path.write_text(path.read_text().replace("mindiesd.ext.gelu(x)", "mindiesd.ext.gelu(x + 1)"))
    out = tmp_path / "report.sarif"
    assert verify(tree, "--report", f"sarif:{out}").code == 1
    sarif = json.loads(out.read_text())
    results = {r["ruleId"]: r for r in sarif["runs"][0]["results"]}
    assert (results["gelu-function"]["kind"], results["gelu-function"]["level"]) == ("fail", "error")
    assert results["sdpa-to-attention-forward"]["kind"] == "pass"
    if not OASIS.exists():
        pytest.skip(f"the OASIS schema is not at {OASIS}")
    jsonschema.Draft7Validator(json.loads(OASIS.read_text())).validate(sarif)


def test_what_cannot_be_run_says_why(verify, tree):
    (tree / "attention.py").unlink()
    (tree / "broken.py").write_text(
        "import torch.nn.functional as F\nimport json\n\njson.no_such_name\n\n\ndef f(x):\n    return F.gelu(x)\n"
    )
    (tree / "endless.py").write_text(
        "import torch.nn.functional as F\n\n\ndef f(x):\n    y = F.gelu(x)\n    while y is not None:\n        pass\n    return y\n"
    )
    (tree / "ends.py").write_text(
        "import os\nimport torch.nn.functional as F\n\n\ndef f(x):\n    y = F.gelu(x)\n    os.abort()\n    return y\n"
    )
    (tree / "dice.py").write_text(
        "import torch\nimport torch.nn.functional as F\n\n\ndef f(x):\n    return F.gelu(x) + torch.rand_like(x)\n"
    )
    (tree / "strict.py").write_text(
        "import torch.nn.functional as F\n\n\ndef f(x):\n    if x.shape[0] != 12345:\n"
        "        raise ValueError('expected 12345 rows')\n    return F.gelu(x)\n"
    )
    (tree / "outside.py").write_text("import torch\nimport torch.nn.functional as F\n\nY = F.gelu(torch.ones(3))\n")
    (tree / "fine.py").write_text("import torch.nn.functional as F\n\n\ndef f(x):\n    return F.gelu(x)\n")
    report = report_of(verify, tree, "--seconds", "12")
    reasons = {name: one["reason"] for name, one in by_name(report).items()}
    assert report["summary"]["functions"] == {"agrees": 1, "differs": 0, "not_run": 6}
    assert reasons["fine.f"] == ""
    assert "importing broken fails: AttributeError" in reasons["broken.f"]
    assert reasons["endless.f"] == "the original took more than 12 s"
    assert reasons["ends.f"] == "the original crashed: the process ended by SIGABRT"
    assert "random numbers" in reasons["dice.f"]
    assert "expected 12345 rows" in reasons["strict.f"]
    assert reasons["outside"] == "the code stands outside of functions"


def test_a_site_that_no_input_reaches_does_not_agree(verify, tree):
    (tree / "attention.py").write_text(
        "import torch.nn.functional as F\n\n\ndef f(x, mode='plain'):\n    if mode == 'plain':\n"
        "        return x\n    return F.gelu(x)\n"
    )
    function = by_name(report_of(verify, tree))["attention.f"]
    assert function["verdict"] == "not_run"
    assert function["reason"] == "no input that was found reaches a rewritten site"


GIVEN = """\
import torch
from attention import Attention, scale_by


def inputs():
    return {
        "attention.f": [((torch.randn(3, 5), "gelu"), {}), ((torch.randn(3, 5),), {"mode": "plain"})],
        "attention.Attention.forward": ((Attention(32, 4).eval(), torch.randn(2, 7, 32)), {}),
        "attention.gone": ((), {}),
    }


def wrong():
    return {"attention.f": torch.ones(3)}
"""


def test_inputs_can_be_given(verify, tree, tmp_path):
    path = tree / "attention.py"
    path.write_text(
        ATTENTION + "\n\ndef f(x, mode='plain'):\n    if mode == 'plain':\n        return x\n    return F.gelu(x)\n"
    )
    given = tmp_path / "given.py"
    given.write_text(GIVEN.replace(", scale_by", ""))
    report = report_of(verify, tree, "--inputs", f"{given}:inputs")
    found = by_name(report)
    assert found["attention.f"]["verdict"] == "agrees" and found["attention.f"]["inputs"] == 2
    assert found["attention.Attention.forward"]["given"] is True
    assert found["attention.activate"]["given"] is False
    assert any("attention.gone" in note for note in report["notes"])
    for name, said in (
        ("wrong", "expected a dict from a qualified function name"),
        ("missing", "has no function missing"),
    ):
        done = verify(tree, "--inputs", f"{given}:{name}")
        assert done.code == 7 and said in done.err
    given.write_text(GIVEN)
    done = verify(tree, "--inputs", f"{given}:inputs")
    assert done.code == 7 and "cannot import name 'scale_by'" in done.err
    assert verify(tree, "--inputs", "given.txt").code == 2


def test_without_torch_or_python_nothing_is_run(refit, verify, tree, tmp_path):
    bare = tmp_path / "python"
    bare.write_text(f'#!/bin/sh\nexec "{PYTHON.resolve()}" -S -E "$@"\n')
    bare.chmod(0o755)
    done = refit("verify", tree, "--python", bare)
    assert done.code == 7 and "has no torch" in done.err and done.out == b""
    done = refit("verify", tree, "--python", tmp_path / "none")
    assert done.code == 7 and "name an interpreter with --python" in done.err


def test_a_missing_package_gets_a_placeholder_that_is_named(verify, tree):
    path = tree / "attention.py"
    path.write_text("import no_such_package\n" + ATTENTION)
    found = by_name(report_of(verify, tree))
    assert found["attention.activate"]["verdict"] == "agrees"
    assert found["attention.activate"]["placeholders"] == ["no_such_package"]


STANDS_IN = """\
import torch
from flash_attn import flash_attn_func


def attend(q, k, v):
    return flash_attn_func(q, k, v, causal=True)
"""


def test_flash_attn_is_stood_in_for(verify, tree):
    (tree / "attention.py").write_text(STANDS_IN)
    function = by_name(report_of(verify, tree))["attention.attend"]
    assert function["verdict"] == "agrees" and function["placeholders"] == ["flash_attn"]
    assert function["example"].startswith("q: float32 [2, 4, 6, 16]")


BRANCHES = """\
import torch
import torch.nn.functional as F


class Act(torch.nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.fused = False

    def forward(self, x, approximate: bool = False):
        if self.fused:
            return F.gelu(x)
        if approximate:
            return F.silu(x)
        return x


def feed_forward(dim, mult=4):
    return torch.nn.Sequential(torch.nn.Linear(dim, dim * mult), torch.nn.GELU(), torch.nn.Linear(dim * mult, dim))
"""


def test_flags_are_turned_over_to_reach_sites_and_made_layers_are_called(verify, tree):
    (tree / "attention.py").write_text(BRANCHES)
    found = by_name(report_of(verify, tree))
    assert found["attention.feed_forward"]["verdict"] == "agrees"
    forward = found["attention.Act.forward"]
    assert forward["verdict"] == "agrees"
    assert [site["verdict"] for site in forward["sites"]] == ["agrees", "agrees"]


def test_the_review_page_shows_the_verdicts(verify, tree, tmp_path):
    page = tmp_path / "page.html"
    assert verify(tree, "--page", page).code == 2  # the tree may have been migrated already
    assert verify(tree, "--planned", "--page", page).code == 0
    program = driver.found()
    if program is None:
        pytest.skip("no Chromium on PATH")
    browser = driver.Browser(program, tmp_path)
    try:
        browser.open(page)
        assert browser.run("document.getElementById('verdict').hidden") is False
        said = browser.run("[...document.querySelectorAll('.says')].map((row) => row.textContent)")
        assert said.count("verified: agrees") == 2
        assert browser.complaints() == []
    finally:
        browser.close()


CPP = """\
#include <torch/torch.h>

torch::Tensor attend(torch::Tensor q, torch::Tensor k, torch::Tensor v) {
  return torch::scaled_dot_product_attention(q, k, v);
}
"""


def test_files_of_cpp_are_named_as_not_run(verify, tree):
    (tree / "attention.cpp").write_text(CPP)
    report = report_of(verify, tree)
    assert report["summary"]["functions"]["agrees"] == 2
    assert any("1 file of C++, attention.cpp for one" in note for note in report["notes"])


def test_options_that_make_no_sense_are_usage_errors(verify, tree):
    for options, said in (
        (["--since", "HEAD"], "give --planned with it"),
        (["--report", "github:-"], "json:FILE and sarif:FILE"),
        (["--seconds", "0"], "expected seconds from 1"),
        (["--planned", "--revision", "HEAD"], "excludes"),
    ):
        done = verify(tree, *options)
        assert done.code == 2 and said in done.err, done.err
    assert "needs a git work tree" in verify(tree, "--revision", "HEAD").err


def test_help_says_that_it_runs_the_code(refit):
    assert b"executes the code of the repository" in refit("verify", "--help").out
