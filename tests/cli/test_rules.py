"""refit rules: what it says of rules, and the tests that rules carry."""

import json
from pathlib import Path

import pytest
import update_rule_pages

RULE = """\
# A rule of a team.
id: my-relu
summary: relu becomes the runtime's silu, which is another function
subject: activation
match:
  call: torch.nn.functional.relu
where:
  - is: {of: inplace, value: false}
    code: in-place
    says: drop inplace
rewrites:
  - target: cuda
    with: mindiesd.ext.silu($input)
tests:
  - name: a call
    before: |
      import torch.nn.functional as F

      def f(x):
          return F.relu(x)
    after: |
      import mindiesd.ext

      def f(x):
          return mindiesd.ext.silu(x)
  # What writes over its operand stays.
  - name: in place
    before: |
      import torch.nn.functional as F

      def f(x):
          return F.relu(x, inplace=True)
    refused: in-place
"""


@pytest.fixture
def rule(tmp_path) -> Path:
    path = tmp_path / "mine" / "relu.yaml"
    path.parent.mkdir()
    path.write_text(RULE)
    return path


def test_the_pages_of_the_rules_are_fresh(binary):
    folder = update_rule_pages.ROOT / "docs" / "rules"
    written = {path.name: path.read_text() for path in folder.iterdir()}
    assert written == update_rule_pages.pages(binary), "run scripts/update_rule_pages.py"


def test_the_list_as_data(refit):
    done = refit("rules", "--json", "--select", "*-function")
    rules = {rule["id"]: rule for rule in json.loads(done.out)}
    assert "silu-function" in rules
    silu = rules["silu-function"]
    assert silu["calls"] == ["torch.nn.functional.silu"]
    assert {"code": "in-place", "says": "it writes over its operand, which somebody may read; drop inplace"} in silu["refusals"]
    assert silu["tests"] >= 2


def test_a_rule_that_there_is_not(refit):
    done = refit("rules", "show", "no-such-rule")
    assert done.code == 2
    assert "there is no rule no-such-rule" in done.err


def test_shipped_rules_pass(refit):
    done = refit("rules", "test", "--no-numeric")
    assert done.code == 0
    passed, total = done.out.decode().splitlines()[0].split(" of ")
    assert int(passed) >= 4
    assert total == f"{passed} tests passed"


@pytest.mark.parametrize("place", ["file", "folder"])
def test_a_rule_of_ones_own(refit, rule, place):
    done = refit("rules", "test", rule if place == "file" else rule.parent)
    assert (done.code, done.out) == (0, b"2 of 2 tests passed\n")


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("return mindiesd.ext.silu(x)", "return mindiesd.ext.gelu(x)", "-    return mindiesd.ext.gelu(x)\n+    return mindiesd.ext.silu(x)"),
        ("return F.relu(x)", "return x", "[my-relu] a call: nothing changes\n  no rule has a site in it"),
        ("refused: in-place", "refused: other", "in place: it is not refused as other\n  line 4: my-relu refused in-place: drop inplace"),
        (", inplace=True", "", "in place: it is rewritten, not refused as in-place\n  line 4: my-relu rewritten"),
        ("F.relu(x)", "F.silu(x)", "a call: another rule rewrites it"),
    ],
)
def test_a_test_that_fails(refit, rule, old, new, says):
    rule.write_text(RULE.replace(old, new))
    done = refit("rules", "test", rule.parent)
    assert done.code == 1
    text = done.out.decode()
    assert says in text
    assert text.startswith(f"{rule}:")
    assert text.endswith("1 of 2 tests passed\n")


def test_update_writes_what_the_rule_does(refit, rule):
    rule.write_text(RULE.replace("      def f(x):\n          return mindiesd.ext.silu(x)\n", "      stale\n"))
    done = refit("rules", "test", rule, "--update")
    assert done.code == 1
    assert done.out.endswith(b"1 test updated; read what changed\n")
    assert rule.read_text() == RULE


def test_update_leaves_refusals(refit, rule):
    wrong = RULE.replace("refused: in-place", "refused: other")
    rule.write_text(wrong)
    assert refit("rules", "test", rule, "--update").out.endswith(b"0 tests updated; read what changed\n")
    assert rule.read_text() == wrong


def test_a_rule_that_does_not_load(refit, rule):
    rule.write_text(RULE.replace("summary", "sumary"))
    done = refit("rules", "test", rule)
    assert done.code == 5
    assert "did you mean `summary`" in done.err


def test_check_has_no_doubt_about_a_tested_rule(refit, rule):
    done = refit("rules", "check", rule)
    assert (done.code, done.out) == (0, b"1 rule checked, 1 without a numeric test\n")


def test_check_names_what_is_doubtful(refit, rule):
    begin = RULE.index("tests:")
    rule.write_text(RULE[:begin].replace("functional.relu", "functional.silu"))
    done = refit("rules", "check", rule)
    assert done.code == 1
    text = done.out.decode()
    assert f"{rule}:2:" in text
    assert "[my-relu] no test shows what it rewrites" in text
    assert "no test shows what line 8 refuses; add one with `refused: in-place`" in text
    assert "the rule silu-function looks for torch.nn.functional.silu, too (" in text
    assert text.count("\n") == 4


@pytest.mark.parametrize("old", ["$input", "mindiesd.ext.silu"])
def test_check_of_a_rule_that_does_not_load(refit, rule, old):
    rule.write_text(RULE.replace(old, old + "x", 1))
    assert refit("rules", "check", rule).code == 5


def test_check_compiles_patterns(refit, rule):
    rule.write_text(RULE[: RULE.index("tests:")].replace("call: torch.nn.functional.relu", "pattern: return torch.relu($input").replace("  - is: {of: inplace", "  - is: {of: input"))
    done = refit("rules", "check", rule)
    assert done.code == 5, done.out
    assert str(rule) in done.err


def test_assumptions_by_id_and_text(refit, tree):
    listed = refit("assumptions").out.decode()
    assert "dropout-p-0-at-inference\n  dropout_p == 0 at inference\n  of " in listed
    (tree / "m.py").write_text(
        "import torch.nn.functional as F\n\n\ndef f(q, k, v, p):\n"
        "    return F.scaled_dot_product_attention(q, k, v, dropout_p=p)\n"
    )
    assert refit("migrate", tree, "--check", "--strict").code == 0
    for name in ("dropout-p-0-at-inference", "dropout_p == 0 at inference"):
        assert refit("migrate", tree, "--check", "--strict", "--assume", name).code == 1
        assert refit("explain", f"{tree / 'm.py'}:5", "--strict", "--assume", name).out.count(b"rewritten") == 1


@pytest.mark.parametrize("command", [["migrate"], ["review"]])
def test_an_assumption_that_no_rule_makes(refit, tree, source, command):
    (tree / "m.py").write_bytes(source())
    done = refit(*command, tree, "--assume", "dropout-p-0-at-inferense")
    assert done.code == 2
    assert "no rule assumes `dropout-p-0-at-inferense`; did you mean `dropout-p-0-at-inference`?" in done.err
