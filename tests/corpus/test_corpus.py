"""Every folder of corpus/: the migrated text, the findings, the second run, the diff, the numbers."""

import difflib
import importlib.util
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest
import yaml

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from cases import CASES, REPOSITORY, RULES, run_refit, site_of_report, tree  # noqa: E402

# Of the largest element, by type: a few units in the last place.
TOLERANCES = {"torch.bfloat16": 2e-2, "torch.float16": 2.5e-3}
TOLERANCE = 1e-5
by_name = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
runnable = pytest.mark.parametrize(
    "case", [case for case in CASES if case.run], ids=lambda case: case.name
)


class Migrated:
    """One case migrated in place: the tree's root, the report, the exit status."""

    def __init__(self, case, scratch: pathlib.Path):
        self.root = scratch / case.folder.name
        shutil.copytree(case.before, self.root)
        report = scratch / "report.json"
        done = run_refit(
            "migrate", self.root, "--write", "--quiet", "--report", f"json:{report}", *case.options
        )
        self.status = done.returncode
        self.stderr = done.stderr.decode()
        self.report = json.loads(report.read_text()) if report.exists() else None


@pytest.fixture(scope="session")
def migrated(tmp_path_factory):
    """Migrates a case once, whoever asks first."""
    known: dict[str, Migrated] = {}

    def of(case) -> Migrated:
        if case.name not in known:
            known[case.name] = Migrated(case, tmp_path_factory.mktemp("corpus"))
        return known[case.name]

    return of


def differences(expected: dict[str, bytes], found: dict[str, bytes]) -> str:
    """A unified diff from what is expected to what is there, line endings shown where they differ."""
    out = []
    for name in sorted(expected.keys() | found.keys()):
        a, b = expected.get(name), found.get(name)
        if a == b:
            continue
        if a is None or b is None:
            out.append(f"{name} is {'not expected' if a is None else 'missing'}")
            continue
        lines = [text.decode("latin-1").splitlines(keepends=True) for text in (a, b)]
        out += [
            repr(line)[1:-1].replace("\\n", "") if "\r" in line else line.rstrip("\n")
            for line in difflib.unified_diff(*lines, f"expected/{name}", f"found/{name}")
        ]
    return "\n".join(out)


@by_name
def test_text(case, migrated):
    check_text(case, migrated(case))


@by_name
def test_findings(case, migrated):
    check_findings(case, migrated(case).report)


@by_name
def test_notes_and_problems(case, migrated):
    check_notes_and_problems(case, migrated(case).report)


def check_text(case, run):
    assert run.status == case.expect.get("exit", 0), run.stderr
    wrong = differences(tree(case.after), tree(run.root))
    assert not wrong, "\n" + wrong


def check_findings(case, report):
    wanted = case.expect.get("sites", [])
    padding = [{}] * max(0, len(report["sites"]) - len(wanted))
    found = [
        site_of_report(site, expected)
        for site, expected in zip(report["sites"], [*wanted, *padding], strict=False)
    ]
    show = [yaml.safe_dump(sites, sort_keys=False, width=200) for sites in (wanted, found)]
    assert found == wanted, "\n" + "\n".join(
        difflib.unified_diff(*[text.splitlines() for text in show], "expected", "found", n=99)
    )


def check_notes_and_problems(case, report):
    notes, parts = report["notes"], case.expect.get("notes", [])
    assert len(notes) == len(parts), notes
    for note, part in zip(notes, parts, strict=True):
        assert part in note
    assert [problem["kind"] for problem in report["problems"]] == case.expect.get("problems", [])


@by_name
def test_second_run_changes_nothing(case, migrated):
    run = migrated(case)
    before = tree(run.root)
    done = run_refit("migrate", run.root, "--write", "--quiet", *case.options)
    assert done.returncode == case.expect.get("exit", 0), done.stderr.decode()
    assert not differences(before, tree(run.root))


@by_name
def test_migrated_files_compile(case, migrated):
    broken = "syntax" in case.expect.get("problems", [])
    for name, text in tree(migrated(case).root).items():
        if name.endswith(".py") and not broken:
            compile(text, name, "exec")


@by_name
def test_diff_applies(case, tmp_path):
    root = tmp_path / case.folder.name
    shutil.copytree(case.before, root)
    done = run_refit("migrate", root, "--diff", "--quiet", *case.options)
    assert done.returncode == case.expect.get("exit", 0), done.stderr.decode()
    assert not differences(tree(case.before), tree(root)), "--diff must not write"
    if case.expect.get("unchanged"):
        assert done.stdout == b""
        return
    applied = subprocess.run(
        ["git", "apply", "--whitespace=nowarn", "-"],
        cwd=root, input=done.stdout, capture_output=True, check=False,
        env={**os.environ, "GIT_CEILING_DIRECTORIES": str(tmp_path)},
    )  # fmt: skip
    assert applied.returncode == 0, applied.stderr.decode()
    wrong = differences(tree(case.after), tree(root))
    assert not wrong, "\n" + wrong


def emitted_codes() -> set[str]:
    """Every refusal code that a shipped rule or the planner can give."""
    codes = set()

    def collect(document):
        if isinstance(document, dict):
            if isinstance(document.get("code"), str) and "says" in document:
                codes.add(document["code"])
            for value in document.values():
                collect(value)
        elif isinstance(document, list):
            for value in document:
                collect(value)

    for path in RULES.glob("*.yaml"):
        collect(yaml.safe_load(path.read_text(encoding="utf-8")))
    literal = re.compile(r'(?:\bcode = |refuse\(\s*\w+,\s*)"([a-z][a-z0-9-]*)"')
    for path in (REPOSITORY / "rewriter" / "plan").rglob("*.cpp"):
        codes |= set(literal.findall(path.read_text(encoding="utf-8")))
    return codes


# Codes that no source is known to bring about, and why.
WITHOUT_A_CASE = {
    "withheld": "the engine refuses its own result",
    "not-settled": "the engine refuses its own result",
    "definition-kept": "the tree is the library, whose text is not copied; tests/score holds them",
    "rms-extra": "where the weight is no parameter of the norm, the norm without it is recognised",
}


def test_every_code_has_a_case_where_it_stands_alone():
    alone = set()
    for case in CASES:
        for site in case.expect.get("sites", []):
            if "refused" in site:
                alone.add(site["refused"])
    assert emitted_codes() - WITHOUT_A_CASE.keys() - alone == set()
    assert not WITHOUT_A_CASE.keys() & alone, "it has a case: take it from the list"


# Execution -----------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def executed(tmp_path_factory, migrated):
    """What run.py gives before and after, by case: two processes, all folders each."""
    if importlib.util.find_spec("torch") is None:
        pytest.skip("torch is not installed; ./dev test installs it")
    import torch

    scratch = tmp_path_factory.mktemp("outputs")
    cases = [case for case in CASES if case.run]
    sides = {}
    for side in ("before", "after"):
        jobs = [
            {
                "name": case.name,
                "run": str(case.run),
                "tree": str(case.before if side == "before" else migrated(case).root),
                "out": str(scratch / f"{case.name}.{side}.pt"),
            }
            for case in cases
        ]
        work = scratch / f"{side}.json"
        work.write_text(json.dumps(jobs))
        package = REPOSITORY / "runtime" / "python"
        done = subprocess.run(
            [sys.executable, pathlib.Path(__file__).with_name("execute.py"), work],
            capture_output=True, text=True, check=False,
            env={**os.environ, "PYTHONPATH": str(package)},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        sides[side] = {job["name"]: torch.load(job["out"]) for job in jobs}
    return sides


@runnable
def test_before_and_after_agree(case, executed):
    before, after = executed["before"][case.name], executed["after"][case.name]
    assert "error" not in before, before["error"]
    assert "error" not in after, after["error"]
    assert before["outputs"], "run.py gives no tensor"
    assert len(before["outputs"]) == len(after["outputs"])
    for a, b in zip(before["outputs"], after["outputs"], strict=True):
        assert a.dtype == b.dtype
        assert a.shape == b.shape
        tolerance = TOLERANCES.get(str(a.dtype), TOLERANCE)
        a, b = a.double(), b.double()
        scale = a.abs().max().item()
        assert scale > 0, "an output of zeros shows nothing"
        assert (a - b).abs().max().item() <= tolerance * scale
