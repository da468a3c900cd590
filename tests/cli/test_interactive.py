"""refit migrate --interactive: the questions, and what the answers leave."""

from pathlib import Path

import pytest

SOURCE = """\
import torch.nn.functional as F


def first(x):
    return F.gelu(x)


def second(x):
    return F.silu(x)


def third(x):
    return F.gelu(x, approximate="tanh")


def attend(q, k, v, p):
    return F.scaled_dot_product_attention(q, k, v, dropout_p=p)
"""


@pytest.fixture
def tree(tree) -> Path:
    (tree / "m.py").write_text(SOURCE)
    return tree


@pytest.mark.parametrize(
    ("answers", "taken"),
    [
        ("y\nn\ny\nn\n", ["gelu(x)", "gelu(x, a"]),
        ("n\ny\nq\n", ["silu"]),
        ("a\nn\ny\n", ["gelu(x)", "gelu(x, a", "attention_forward"]),
        ("s\ny\ny\n", ["silu", "attention_forward"]),
        ("a\nq\n", ["gelu(x)", "gelu(x, a"]),
        ("y\n", ["gelu(x)"]),
        ("", []),
        ("yes\nY\n\ny\nq\n", ["gelu(x)"]),
    ],
)
def test_answers(refit, tree, answers, taken):
    done = refit("migrate", tree, "--interactive", "--write", input=answers.encode())
    assert done.code == 0
    text = (tree / "m.py").read_text()
    forms = ("gelu(x)", "silu", "gelu(x, a", "attention_forward")
    assert [form for form in forms if f"mindiesd.ext.{form}" in text] == [form for form in forms if form in taken]
    compile(text, "m.py", "exec")


def test_what_is_asked(refit, tree):
    done = refit("migrate", tree, "--interactive", input=b"?\nn\nn\nn\nw\ny\n")
    assert "\nm.py:5:12: [gelu-function] 1 of 4\n- F.gelu(x)\n+ mindiesd.ext.gelu(x)\nrewrite it? [y,n,a,s,w,q,?] " in done.err
    assert "a  rewrite it and all further sites of its rule\n" in done.err
    assert done.err.count("  assumes: dropout_p == 0 at inference\n") == 2
    assert b"+    return mindiesd.ext.attention_forward(" in done.out
    assert b"mindiesd.ext.gelu" not in done.out
    assert (tree / "m.py").read_text() == SOURCE


def test_sites_that_agree_are_asked_for_once(refit, tree):
    (tree / "m.py").write_text("import torch.nn.functional as F\n\n\ndef f(x):\n    return F.silu(x), F.silu(x)\n")
    done = refit("migrate", tree, "--interactive", input=b"y\n")
    assert done.err.count("rewrite it?") == 1
    assert done.out.count(b"mindiesd.ext.silu(x), mindiesd.ext.silu(x)") == 1


def test_only_of_what_is_chosen_otherwise(refit, tree):
    done = refit("migrate", tree, "--interactive", "--select", "silu-function", input=b"y\n")
    assert done.err.count("rewrite it?") == 1
    assert b"mindiesd.ext.silu(x)" in done.out
