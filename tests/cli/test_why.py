"""refit rules why ID FILE:LINE: one rule and one line."""

import pytest

SOURCE = """\
import torch
import torch.nn.functional as F


def norm(x, w):
    return x * torch.rsqrt(x.pow(2).mean(1, keepdim=True) + 1e-6) * w


def act(x):
    return F.silu(x) + 1


def attend(q, k, v, **options):
    return F.scaled_dot_product_attention(q, k, v, **options)
"""


@pytest.fixture
def why(refit, tree):
    (tree / "m.py").write_text(SOURCE)

    def ask(rule: str, line: int, *options: str):
        return refit("rules", "why", rule, f"{tree}/m.py:{line}", *options)

    return ask


@pytest.mark.parametrize(
    ("rule", "line", "says"),
    [
        ("silu-function", 10, "m.py:10:12: rewritten [silu-function] torch.nn.functional.silu"),
        ("sdpa-to-attention-forward", 14, "why: the arguments are splatted"),
        # The first part that differs.
        ("rms-norm", 6, "has `-1` where this has `1`"),
        # A rule that looks for calls, where another one has a site.
        ("gelu-function", 10, "gelu-function has no site here\n  [gelu-function] looks for calls of torch.nn.functional.gelu"),
        ("rotary-complex", 10, "rotary-complex has no site here\n  [rotary-complex] looks for what its "),
    ],
)
def test_what_it_says(why, rule, line, says):
    done = why(rule, line)
    assert done.code == 0, done.err
    assert says in done.out.decode()


def test_other_rules_are_not_spoken_of(why, tree):
    (tree / "refit.toml").write_text("select = ['silu-*']\nignore = ['gelu-*']\n")
    assert "silu" not in why("gelu-function", 10).out.decode()


def test_the_target_counts(why):
    assert "refused [silu-function] no-counterpart" in why("silu-function", 10, "--target", "ascend").out.decode()


@pytest.mark.parametrize(("rule", "line", "says"), [("silu-functio", 10, "did you mean `silu-function`?"), ("silu-function", 0, "expected FILE:LINE")])
def test_what_is_wrong(why, rule, line, says):
    done = why(rule, line)
    assert done.code == 2
    assert says in done.err
