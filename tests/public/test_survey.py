"""The survey's own parts: equal changes are equal texts, and planted faults are found."""

import types

import pytest
from survey import numeric, pairs

BEFORE = """
import torch
import torch.nn.functional as F
from torch import nn


def rotate_half(x):
    x1, x2 = x.chunk(2, dim=-1)
    return torch.cat((-x2, x1), dim=-1)


def apply_rotary(q, k, cos, sin):
    return q * cos + rotate_half(q) * sin, k * cos + rotate_half(k) * sin


class Norm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.eps = eps

    def forward(self, x):
        x = x.float()
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps))


def attend(query, key, value, mask):
    query = query.transpose(1, 2)
    key = key.transpose(1, 2)
    value = value.transpose(1, 2)
    out = F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
    return out.transpose(1, 2)
"""
# Rule, a line of it, and the text that an edit put in place of another: None where it is right.
FAULTS = {
    "another sign": ("rotary-with-tables", "def apply_rotary", "+ rotate_half(k)", "- rotate_half(k)"),
    "another type": ("rotary-with-tables", "def apply_rotary", "return q * cos", "return q.double() * cos"),
    "another epsilon": ("rms-norm", "def forward", "+ self.eps", "+ 0.1"),
    "another axis": ("rms-norm", "def forward", "mean(-1,", "mean(-2,"),
    "no mask": ("sdpa-to-attention-forward", "def attend", "attn_mask=mask", "attn_mask=None"),
    "one transpose less": (
        "sdpa-to-attention-forward", "def attend", "    value = value.transpose(1, 2)\n", "",
    ),
}  # fmt: skip


def ran(tmp_path, rule: str, line: str, after: str) -> numeric.Outcome:
    """What the harness says of a package with one file, of which `after` is the migrated text."""
    for name, text in (("before", BEFORE), ("after", after)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "model.py").write_text(text)
    site = {
        "file": "model.py", "line": BEFORE[: BEFORE.index(line)].count("\n") + 1, "rule": rule,
        "outcome": "rewritten", "through": None, "assumes": [],
    }  # fmt: skip
    done = types.SimpleNamespace(
        package=types.SimpleNamespace(name="model"),
        before=tmp_path / "before",
        after=tmp_path / "after",
        report=types.SimpleNamespace(sites=[site]),
    )
    ((_, outcome),) = numeric.run_all([done]).items()
    return outcome


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found(tmp_path, fault):
    pytest.importorskip("torch")
    rule, line, old, new = FAULTS[fault]
    assert BEFORE.count(old) == 1
    # The harness runs only what holds the runtime's name, as every rewritten statement does.
    after = BEFORE.replace(old, new).replace("import torch\n", "import torch\nimport mindiesd\n", 1)
    outcome = ran(tmp_path, rule, line, after)
    assert outcome.wrong, outcome


@pytest.mark.parametrize("rule, line", sorted({fault[:2] for fault in FAULTS.values()}))
def test_equal_code_is_equal(tmp_path, rule, line):
    pytest.importorskip("torch")
    outcome = ran(tmp_path, rule, line, BEFORE)
    assert outcome.compared and not outcome.wrong, outcome


def digest(before: str, after: str) -> str:
    (change,) = pairs.changes(before, after)
    return change.digest


ONE = ("def f(q, k):\n    a = q.sum(-1)  # sum\n    return a + k\n",
       "def f(q, k):\n    a = q.mean(-1)\n    return a + k\n")  # fmt: skip


def test_names_and_layout_do_not_count():
    other = ("def g(x,  y):\n\n    s = x.sum( -1 )\n    return s + y\n",
             "def g(x,  y):\n\n    s = x.mean( -1 )\n    return s + y\n")  # fmt: skip
    assert digest(*ONE) == digest(*other)


@pytest.mark.parametrize(
    "old, new",
    [("-1", "-2"), (".mean", ".amax"), (".sum(-1)", ".sum(-1, keepdim=True)")],
)
def test_what_is_computed_counts(old, new):
    changed = [text.replace(old, new) for text in ONE]
    assert digest(*ONE) != digest(*changed)


def test_imports_are_no_change():
    assert not pairs.changes("import a\nx = 1\n", "import b\nx = 1\n")
