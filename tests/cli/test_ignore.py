"""Comments that keep sites as they are; corpus/ignore_comments has what they speak of."""

import pytest

PYTHON = "import torch.nn.functional as F\n\n\ndef f(x):\n    return F.silu(x)\n"
CPP = """#include <torch/torch.h>

torch::Tensor f(const torch::Tensor& q) {
  return torch::scaled_dot_product_attention(q, q, q);
}
"""


@pytest.mark.parametrize("rules", ["", "[{rule}]", "[no, {rule}]", "[{rule}*]"])
@pytest.mark.parametrize(
    ("name", "text", "end", "mark", "rule"),
    [("m.py", PYTHON, "silu(x)", "#", "silu-function"), ("m.cpp", CPP, "q);", "//", "sdpa-to-attention-forward")],
)
def test_a_line(refit, tmp_path, name, text, end, mark, rule, rules):
    path = tmp_path / name
    path.write_text(text)
    assert refit("migrate", tmp_path, "--check", "--quiet").code == 1
    marked = text.replace(end, f"{end}  {mark} refit: ignore{rules.format(rule=rule)}")
    path.write_text(marked)
    done = refit("migrate", tmp_path, "--write")
    assert done.code == 0
    assert path.read_text() == marked
    assert "ignored: the comment `refit: ignore` at line" in done.err
    assert "no site needs" not in done.err


@pytest.mark.parametrize("comment", ["refit: ignored", "refit: ignore[", "refit: ignore[]", "refit: ignore-all"])
def test_another_word(refit, tmp_path, comment):
    path = tmp_path / "m.py"
    path.write_text(PYTHON.replace("silu(x)", f"silu(x)  # {comment}"))
    assert refit("migrate", tmp_path, "--check", "--quiet").code == 1


def test_one_that_keeps_nothing_is_said(refit, tmp_path):
    path = tmp_path / "m.py"
    path.write_text("x = 3  # refit: ignore\n" + PYTHON + "\n\n# refit: ignore-file[gelu-*]\n")
    done = refit("migrate", tmp_path)
    assert "note: m.py:1: no site needs the comment `refit: ignore`; remove it" in done.err
    assert "note: m.py:9: no site needs" in done.err
    assert "+    return mindiesd.ext.silu(x)" in done.out.decode()
