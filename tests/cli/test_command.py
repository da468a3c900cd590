"""The built command from outside: outputs, exit codes, interruption, rules, its reference."""

import json
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import jsonschema
import pytest

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = json.loads((ROOT / "rewriter" / "report" / "report.schema.json").read_text())
REFERENCE = ROOT / "docs" / "refit.md"


def test_check_writes_nothing(refit, tree, source):
    (tree / "a.py").write_bytes(source())
    done = refit("migrate", "--check", tree)
    assert (done.code, done.out) == (1, b"")
    assert (tree / "a.py").read_bytes() == source()
    assert refit("migrate", "--write", tree).code == 0
    assert refit("migrate", "--check", tree).code == 0


def test_the_report_is_valid_and_says_what_happened(refit, tree, source):
    (tree / "a.py").write_bytes(source())
    (tree / "dropped.py").write_bytes(
        source().replace(b"(q, k, v)\n", b"(*q, **k)\n")
    )
    (tree / "bad.py").write_bytes(source(b"# \xe9\n"))
    done = refit("migrate", "--write", "--quiet", "--report", "json:-", tree)
    assert done.code == 3
    report = json.loads(done.out)
    jsonschema.Draft202012Validator(SCHEMA).validate(report)
    assert report["root"] == str(tree)
    assert report["target"] == "cuda"
    assert report["files"]["written"] == report["files"]["changed"] == ["a.py"]
    assert [problem["file"] for problem in report["problems"]] == ["bad.py"]
    site, refused = report["sites"]
    assert (site["file"], site["line"], site["column"], site["end_line"]) == ("a.py", 5, 12, 5)
    assert site["callee"] == "torch.nn.functional.scaled_dot_product_attention"
    assert site["outcome"] == "rewritten"
    assert site["before"] == "F.scaled_dot_product_attention(q, k, v)"
    assert site["after"] in (tree / "a.py").read_text()
    assert refused["file"] == "dropped.py"
    assert refused["outcome"] == "refused"
    assert refused["code"] == "splatted-arguments"


def test_the_result_does_not_depend_on_the_number_of_threads(refit, tree, source):
    for number in range(40):
        (tree / f"m{number}.py").write_bytes(source(f"# {number}\n".encode()))
    one = refit("migrate", "--jobs", "1", "--report", "json:" + str(tree / "one.json"), tree)
    four = refit("migrate", "--jobs", "4", "--report", "json:" + str(tree / "four.json"), tree)
    assert (one.code, one.out, one.err) == (four.code, four.out, four.err)
    assert (tree / "one.json").read_bytes() == (tree / "four.json").read_bytes()


def test_in_a_git_tree_ignored_files_stay_and_the_diff_applies_from_any_folder(
    refit, tree, source
):
    subprocess.run(["git", "init", "-q"], cwd=tree, check=True)
    (tree / ".gitignore").write_text("generated/\n")
    for name in ("pkg/a.py", "generated/b.py", "c.py"):
        (tree / name).parent.mkdir(exist_ok=True)
        (tree / name).write_bytes(source())
    done = refit("migrate", ".", cwd=tree / "pkg")
    assert done.code == 0, done.err
    assert done.out.startswith(b"diff --git a/pkg/a.py b/pkg/a.py\n")
    assert done.out.count(b"diff --git") == 1
    subprocess.run(["git", "apply"], input=done.out, cwd=tree / "pkg", check=True)
    assert (tree / "pkg" / "a.py").read_bytes() != source()
    assert refit("migrate", "--write", tree).code == 0
    assert (tree / "c.py").read_bytes() != source()
    assert (tree / "generated" / "b.py").read_bytes() == source()


def test_modes_stay(refit, tree, source):
    for mode in (0o600, 0o644, 0o755):
        path = tree / f"m{mode:o}.py"
        path.write_bytes(source())
        path.chmod(mode)
    assert refit("migrate", "--write", tree).code == 0
    for mode in (0o600, 0o644, 0o755):
        path = tree / f"m{mode:o}.py"
        assert path.read_bytes() != source()
        assert path.stat().st_mode & 0o7777 == mode


def test_a_reader_that_goes_away_ends_the_run_quietly(binary, tree, source):
    for number in range(400):
        (tree / f"m{number}.py").write_bytes(source(b"# line\n" * 20))
    with subprocess.Popen(
        [binary, "migrate", "--quiet", tree], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout.read(10) == b"diff --git"
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(60) == 0


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_run_that_is_stopped_takes_everything_back(binary, refit, tree, source, stop):
    """The signal comes once some, but seldom all, of the files have been written."""
    old = source(b"# line\n" * 50)
    stopped_midway = False
    for _ in range(6):
        if stopped_midway:
            break
        files = [tree / f"m{number:03}.py" for number in range(200)]
        for path in files:
            path.write_bytes(old)
        with subprocess.Popen(
            [binary, "migrate", "--write", tree],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            # A shell that put the tests into the background has them ignore SIGINT.
            preexec_fn=lambda: signal.signal(stop, signal.SIG_DFL),
        ) as process:  # fmt: skip
            deadline = time.monotonic() + 30
            while files[0].read_bytes() == old and time.monotonic() < deadline:
                pass
            process.send_signal(stop)
            message = process.stderr.read().decode()
            code = process.wait(60)
        texts = {path.read_bytes() for path in files}
        assert len(texts) == 1
        if texts == {old}:
            stopped_midway = True
            assert code == 130
            assert "interrupted: 0 of 200 changed files were written" in message
        assert sorted(path.name for path in tree.iterdir()) == [path.name for path in files]
    assert stopped_midway, "six runs were over before the signal came"


def test_rules_are_listed_selected_and_ignored(refit, tree, source):
    listed = refit("rules")
    assert listed.code == 0, listed.err
    ids = [line.split()[0] for line in listed.out.decode().splitlines()]
    assert ids
    one = refit("rules", "--select", ids[0])
    assert [line.split()[0] for line in one.out.decode().splitlines()] == [ids[0]]
    wrong = refit("rules", "--select", "no-such-rule")
    assert wrong.code == 2
    assert "no-such-rule" in wrong.err

    (tree / "a.py").write_bytes(source())
    report = json.loads(refit("migrate", "--quiet", "--report", "json:-", tree).out)
    rule = report["sites"][0]["rule"]
    assert refit("migrate", "--check", "--ignore", rule, tree).code == 0
    assert refit("migrate", "--check", "--select", rule, tree).code == 1


def shipped_rule(refit) -> Path:
    folder = Path(os.environ.get("REFIT_RULES_DIR", ROOT / "rules"))
    return next(
        path for path in sorted(folder.rglob("*.yaml"))
        if "catalogue" not in path.parts and "targets" not in path.parts
        and path.name != "isomorphisms.yaml"
    )  # fmt: skip


def test_a_rule_file_with_a_typo(refit, tree, source, tmp_path):
    (tree / "a.py").write_bytes(source())
    lines = shipped_rule(refit).read_text().splitlines(keepends=True)
    number, line = next(
        (number, line) for number, line in enumerate(lines, 1) if "summary:" in line
    )
    column = line.index("summary:") + 1
    lines[number - 1] = line.replace("summary:", "sumary:", 1)
    typo = tmp_path / "typo.yaml"
    typo.write_text("".join(lines))
    done = refit("migrate", "--write", "--rules", typo, tree)
    assert done.code == 5
    assert f"{typo}:{number}:{column}: " in done.err
    assert "sumary" in done.err
    assert "summary" in done.err.replace("sumary", "")
    assert (tree / "a.py").read_bytes() == source()


def test_two_rules_of_one_id(refit, tree, source, tmp_path):
    (tree / "a.py").write_bytes(source())
    original = shipped_rule(refit)
    copy = shutil.copy(original, tmp_path / "copy.yaml")
    done = refit("migrate", "--write", "--rules", copy, tree)
    assert done.code == 5
    assert str(copy) in done.err
    assert str(original) in done.err
    assert (tree / "a.py").read_bytes() == source()


ENDLESS = """rules:
  - id: there
    summary: attention_forward becomes ext.attention_forward
    subject: attention
    match:
      call: mindiesd.attention_forward
    rewrites:
      - target: cuda
        with: mindiesd.ext.attention_forward($query, $key, $value)
  - id: back
    summary: ext.attention_forward becomes attention_forward
    subject: attention
    match:
      call: mindiesd.ext.attention_forward
    rewrites:
      - target: cuda
        with: mindiesd.attention_forward($query, $key, $value)
"""


def test_a_result_that_is_never_final_is_withheld(refit, tree, source, tmp_path):
    """Two rules that undo each other: the self-check keeps their file as it was and says so."""
    (tmp_path / "endless.yaml").write_text(ENDLESS)
    text = "import mindiesd\n\n\ndef f(q, k, v):\n    return mindiesd.attention_forward(q, k, v)\n"
    (tree / "endless.py").write_text(text)
    (tree / "good.py").write_bytes(source())
    report = tmp_path / "report.json"
    done = refit(
        "migrate", "--write", "--rules", tmp_path / "endless.yaml", "--select", "there",
        "--select", "back", "--select", "sdpa-*", "--report", f"json:{report}", tree,
    )  # fmt: skip
    assert done.code == 4
    assert "error: endless.py: self-check: planning the new text again is not empty" in done.err
    assert (tree / "endless.py").read_text() == text
    assert b"mindiesd" in (tree / "good.py").read_bytes()
    content = json.loads(report.read_text())
    assert [(p["kind"], p["file"]) for p in content["problems"]] == [("withheld", "endless.py")]
    sites = {site["file"]: (site["outcome"], site["code"]) for site in content["sites"]}
    assert sites["endless.py"] == ("refused", "withheld")
    assert sites["good.py"][0] == "rewritten"


def test_the_reference_names_every_option_and_exit_code(refit):
    text = REFERENCE.read_text()
    for command in ("migrate", "rules"):
        usage = refit(command, "--help").out.decode()
        options = set(re.findall(r"^  (?:-h,)?(--[a-z]+)", usage, re.MULTILINE))
        assert "--help" in options
        for option in options - {"--help"}:
            assert f"`{option}" in text, option
    codes = re.findall(
        r"^  (\d+) +(.+)$", refit("migrate", "--help").out.decode(), re.MULTILINE
    )
    assert len(codes) == 9
    for code, meaning in codes:
        assert re.search(rf"^\| {code} \| {re.escape(meaning)}", text, re.MULTILINE), code
    for field in SCHEMA["$defs"]["site"]["required"]:
        assert f"`{field}`" in text, field


def test_the_version_is_the_projects(refit):
    version = re.search(r"project\(refit VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())
    assert refit("--version").out.decode() == f"refit {version[1]}\n"
