"""Anchors that are an operation fed by another: a softmax that a maximum reaches, however written."""

import json

import pytest

RULE = """\
id: shifted-softmax
summary: a maximum subtracted before a softmax disappears
subject: softmax
triggers: [[softmax, log_softmax, Softmax], [max, amax]]
match:
  pattern: return torch.softmax($x - torch.amax($x, $dim, keepdim=True), $dim)
anchors:
  - pattern: return torch.softmax($x - $m, None)
    code: softmax-dim
    says: the dimension is not given; give it
  - operation: [torch.softmax, torch.nn.functional.softmax, torch.log_softmax, torch.nn.Softmax]
    fed_by: [torch.amax, torch.max]
    code: guard-form
    says: a maximum reaches this softmax in a form that is not known
rewrite: torch.softmax($x, dim=$dim)
"""

MET = [
    "F.softmax((x - x.amax(-1, keepdim=True)).float(), dim=-1)",
    "F.softmax(x.float() - torch.amax(x, -1, keepdim=True), dim=-1)",
    "torch.softmax(x - x.max().detach(), -1)",
    "torch.softmax(x - x.max().item(), -1)",
    "torch.log_softmax(x - x.amax(-1, keepdim=True), -1)",
    "nn.Softmax(dim=-1)(x - x.amax(-1, keepdim=True))",
    "torch.softmax(x - x.max() + m, -1)",
    "torch.softmax(torch.where(m, x - x.max(), x), -1)",
    "torch.softmax((x - x.max(-1, keepdim=True)[0]) if m else x, -1)",
]
NOT_MET = [
    "torch.softmax(x, -1)",
    "torch.softmax(q @ (x - x.max()), -1)",
    "torch.softmax(x, -1) - x.max()",
    "torch.relu(x - x.max())",
]


@pytest.fixture
def codes(refit, tree):
    def of(body):
        (tree / "rule.yaml").write_text(RULE)
        (tree / "m.py").write_text(
            "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n\n\n"
            f"def f(x, m, q):\n{body}\n"
        )
        done = refit(
            "migrate", "--quiet", "--check", "--ignore", "*softmax-*",
            "--rules", tree / "rule.yaml", "--report", "json:-", tree / "m.py",
        )  # fmt: skip
        assert done.err == "", done.err
        return [site["code"] for site in json.loads(done.out)["sites"]]

    return of


@pytest.mark.parametrize("expression", MET)
def test_met(codes, expression):
    assert codes(f"    return {expression}") == ["guard-form"]


@pytest.mark.parametrize("expression", NOT_MET)
def test_not_met(codes, expression):
    assert codes(f"    return {expression}") == []


def test_what_a_pattern_explains_meets_no_anchor(codes):
    assert codes("    return torch.softmax(x - x.amax(-1, keepdim=True), -1)") == [""]


def test_under_a_flag(codes):
    assert codes("    if m:\n        x = x - x.max()\n    return torch.softmax(x, -1)") == [
        "guard-form"
    ]


def test_the_first_anchor_that_is_met_speaks(codes):
    assert codes("    return torch.softmax(x - x.max(), None)") == ["softmax-dim"]
