"""Reports for other tools: SARIF, GitHub's annotations, the edits of single sites, and fingerprints."""

import json
from pathlib import Path

import jsonschema
import pytest

ROOT = Path(__file__).resolve().parents[2]
OASIS = ROOT.parent / "shared" / "sarif-schema-2.1.0.json"

SOURCE = """\
import torch
import torch.nn.functional as F


class Mlp(torch.nn.Module):
    def forward(self, x):
        '''A füßnote before the code.'''
        y = F.gelu(x)
        return F.silu(y) + torch.sigmoid(y)


def attend(q, k, v, **options):
    return F.scaled_dot_product_attention(q, k, v, **options)
"""


def sites_of(refit, tree: Path) -> list[dict]:
    done = refit("migrate", tree, "--quiet", "--report", "json:-")
    assert done.code == 0, done.err
    return json.loads(done.out)["sites"]


def applied(text: str, edits: list[dict]) -> str:
    """The text after the edits, whose lines and columns count from 1."""
    lines = text.splitlines(keepends=True)
    starts = [sum(map(len, lines[:n])) for n in range(len(lines) + 1)]
    spans = [
        (starts[e["line"] - 1] + e["column"] - 1, starts[e["end_line"] - 1] + e["end_column"] - 1, e["text"])
        for e in edits
    ]
    for begin, end, new in sorted(spans, reverse=True):
        text = text[:begin] + new + text[end:]
    return text


@pytest.fixture
def tree(tmp_path) -> Path:
    (tmp_path / "model with space.py").write_text(SOURCE)
    return tmp_path


def test_a_sites_edits_are_what_a_run_of_it_alone_writes(refit, tree):
    path = tree / "model with space.py"
    sites = [s for s in sites_of(refit, tree) if s["outcome"] == "rewritten"]
    assert {s["rule"] for s in sites} == {"gelu-function", "silu-function"}
    for site in sites:
        path.write_text(SOURCE)
        assert refit("migrate", tree, "--quiet", "--write", "--select", site["rule"]).code == 0
        assert applied(SOURCE, site["edits"]) == path.read_text()
        assert site["function"].endswith(".Mlp.forward")


def test_a_fingerprint_stays_while_lines_move(refit, tree):
    before = {s["fingerprint"]: (s["rule"], s["line"]) for s in sites_of(refit, tree)}
    assert len(before) == 3
    (tree / "model with space.py").write_text(
        SOURCE.replace("class Mlp", "LIMIT = 3\n\n\nclass Mlp").replace("F.gelu(x)", "F.gelu(\n            x)")
    )
    after = {s["fingerprint"]: (s["rule"], s["line"]) for s in sites_of(refit, tree)}
    assert after["".join(f for f, (rule, _) in before.items() if rule == "silu-function")][1] > 9
    moved = {f for f, (rule, _) in before.items() if rule != "gelu-function"}
    assert moved == {f for f, (rule, _) in after.items() if rule != "gelu-function"}
    (tree / "model with space.py").write_text(SOURCE.replace("class Mlp", "class Other"))
    renamed = {s["fingerprint"] for s in sites_of(refit, tree)}
    assert len(renamed & set(before)) == 1  # the function beside the class


def test_sarif(refit, tree):
    (tree / "z.py").write_text("import torch\nx = torch.nn.functional.silu(\n")
    done = refit("migrate", tree, "--quiet", "--report", "sarif:-")
    log = json.loads(done.out)
    (run,) = log["runs"]
    results = [r for r in run["results"] if "z.py" not in json.dumps(r["locations"])]
    assert [r["ruleId"] for r in results] == ["gelu-function", "silu-function", "sdpa-to-attention-forward"]
    rules = run["tool"]["driver"]["rules"]
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert rules[result["ruleIndex"]]["shortDescription"]["text"]
    rewritten, _, refused = results
    assert (rewritten["level"], refused["level"]) == ("warning", "note")
    assert refused["message"]["text"].startswith("splatted-arguments: ")
    assert "fixes" not in refused
    place = rewritten["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "model%20with%20space.py"
    assert place["region"] == {"startLine": 8, "startColumn": 13, "endLine": 8}
    (change,) = rewritten["fixes"][0]["artifactChanges"]
    assert change["artifactLocation"] == place["artifactLocation"]
    sites = {s["rule"]: s for s in json.loads(refit("migrate", tree, "--quiet", "--report", "json:-").out)["sites"]}
    assert rewritten["partialFingerprints"] == {"refitSite/v1": sites["gelu-function"]["fingerprint"]}
    assert len(change["replacements"]) == len(sites["gelu-function"]["edits"])
    (invocation,) = run["invocations"]
    assert invocation["executionSuccessful"] is False
    assert invocation["toolExecutionNotifications"][0]["level"] == "error"


def test_sarif_is_what_oasis_defines(refit, tree):
    if not OASIS.is_file():
        pytest.skip(f"the OASIS schema {OASIS.name} is not in ../shared")
    schema = json.loads(OASIS.read_text())
    (tree / "z.py").write_text("import torch\nx = torch.nn.functional.silu(\n")
    log = json.loads(refit("migrate", tree, "--quiet", "--report", "sarif:-").out)
    jsonschema.validators.validator_for(schema)(schema).validate(log)


def test_github(refit, tmp_path):
    (tmp_path / "a,b.py").write_text(SOURCE)
    done = refit("migrate", tmp_path, "--quiet", "--report", "github:-")
    lines = done.out.decode().splitlines()
    assert len(lines) == 3
    assert lines[0].startswith("::warning file=a%2Cb.py,line=8,endLine=8,col=13,title=gelu-function::refit migrates")
    assert lines[2].startswith("::notice file=a%2Cb.py,line=13,")
    assert "title=sdpa-to-attention-forward%2C splatted-arguments::" in lines[2]


def test_several_reports_at_once(refit, tree, tmp_path):
    out = [tmp_path / name for name in ("r.json", "r.sarif", "r.txt")]
    arguments = [f"--report={kind}:{path}" for kind, path in zip(("json", "sarif", "github"), out, strict=True)]
    assert refit("migrate", tree / "model with space.py", "--quiet", *arguments).code == 0
    assert json.loads(out[0].read_text())["schema"] == 1
    assert json.loads(out[1].read_text())["version"] == "2.1.0"
    assert out[2].read_text().startswith("::warning ")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--report", "xml:-"], "expected json:FILE, sarif:FILE or github:FILE"),
        (["--report", "sarif:"], "expected json:FILE, sarif:FILE or github:FILE"),
        (["--report", "json:-", "--report", "sarif:-"], "two reports both want standard output"),
        (["--diff", "--report", "github:-"], "--diff and --report FORMAT:- both want standard output"),
    ],
)
def test_reports_that_cannot_be(refit, tree, arguments, says):
    done = refit("migrate", tree, *arguments)
    assert done.code == 2
    assert says in done.err
