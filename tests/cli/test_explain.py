"""`refit explain FILE:LINE`: the site on a line, the clause that failed, the nearest pattern."""

import subprocess

import pytest


@pytest.fixture
def model(tree):
    path = tree / "model.py"
    path.write_text(
        "import torch\n"
        "import torch.nn.functional as F\n"
        "\n"
        "\n"
        "def attend(q, k, v, p):\n"
        "    q = q.view(1, 2, 3, 8).transpose(1, 2)\n"
        "    return F.scaled_dot_product_attention(q, q, q, dropout_p=p)\n"
        "\n"
        "\n"
        "def norm(self, x):\n"
        "    h = x.float()\n"
        "    var = h.pow(2).mean(-1, keepdim=True)\n"
        "    return self.weight * (h * torch.rsqrt(var + self.eps)).to(x.dtype)\n"
        "\n"
        "\n"
        "def channels(self, x):\n"
        "    h = x.float()\n"
        "    var = h.pow(2).mean(1, keepdim=True)\n"
        "    return self.weight * (h * torch.rsqrt(var + self.eps)).to(x.dtype)\n"
        "\n"
        "\n"
        "def summed(self, x):\n"
        "    h = x.float()\n"
        "    var = h.pow(2).sum(-1, keepdim=True)\n"
        "    return self.weight * (h * torch.rsqrt(var + self.eps)).to(x.dtype)\n"
    )
    return path


def test_a_rewritten_site_says_what_it_becomes_and_why_its_layout_stays(refit, model):
    done = refit("explain", f"{model}:7")
    assert done.code == 0, done.err
    text = done.out.decode()
    assert text.startswith(
        "model.py:7:12: rewritten [sdpa-to-attention-forward] "
        "torch.nn.functional.scaled_dot_product_attention\n"
    )
    assert "\n  assumes: dropout_p == 0 at inference\n" in text
    assert "\n  layout kept: the result is used as it is\n" in text
    assert "\n  becomes: mindiesd.attention_forward(q, q, q, head_first=True)\n" in text


def test_a_refusal_names_the_clause_and_what_stands_there(refit, model):
    done = refit("explain", "--strict", f"{model}:7")
    text = done.out.decode()
    assert "model.py:7:12: refused [sdpa-to-attention-forward] dropout\n" in text
    assert "\n  why: dropout_p is not shown to be zero at inference" in text
    assert "\n  clause: `dropout_p` is zero at inference; found `p`" in text


def test_an_anchor_names_the_part_of_the_nearest_pattern(refit, model):
    text = refit("explain", f"{model}:19").out.decode()
    assert "refused [rms-norm] rms-not-last-dim\n" in text
    assert "has `-1` where this has `1` at line 18\n" in text


def test_a_line_without_a_site_names_the_nearest_miss(refit, model):
    text = refit("explain", f"{model}:25", "--select", "rms-norm").out.decode()
    assert text.startswith("model.py:25: no rule has a site here\n")
    nearest = text.splitlines()[1]
    assert nearest.startswith("  nearest [rms-norm] ")
    assert "mean(" in nearest
    assert nearest.endswith("where this has `h.pow(2).sum(-1, keepdim=True)` at line 24")


def test_a_line_like_nothing(refit, model):
    assert refit("explain", f"{model}:1").out == b"model.py:1: no rule has a site here\n"


def test_names_resolve_in_the_whole_work_tree(refit, tree):
    subprocess.run(["git", "init", "-q"], cwd=tree, check=True)
    (tree / "pkg").mkdir()
    (tree / "pkg" / "__init__.py").touch()
    (tree / "pkg" / "ops.py").write_text(
        "from torch.nn.functional import scaled_dot_product_attention\n"
    )
    (tree / "pkg" / "model.py").write_text(
        "from .ops import scaled_dot_product_attention\n"
        "\n"
        "\n"
        "def attend(q):\n"
        "    return scaled_dot_product_attention(q, q, q)\n"
    )
    done = refit("explain", "model.py:5", cwd=tree / "pkg")
    assert done.out.startswith(b"pkg/model.py:5:12: rewritten [sdpa-to-attention-forward] ")


@pytest.mark.parametrize("place", ["model.py", "model.py:", "model.py:0", ":3", "model.py:x"])
def test_a_place_is_a_file_and_a_line(refit, model, place):
    done = refit("explain", place, cwd=model.parent)
    assert done.code == 2
    assert "expected FILE:LINE with a line from 1" in done.err


def test_a_file_that_is_not_there(refit, tree):
    done = refit("explain", f"{tree}/none.py:3")
    assert done.code in (2, 3)
    assert "none.py" in done.err


@pytest.fixture
def by_hand(tree):
    path = tree / "hand.py"
    path.write_text(
        "import torch\n"
        "import torch.nn.functional as F\n"
        "\n"
        "\n"
        "def with_booleans_added(q, k, v):\n"
        "    scores = torch.matmul(q, k.transpose(-2, -1)) + (k > 0)\n"
        "    return torch.matmul(F.softmax(scores, dim=-1), v)\n"
        "\n"
        "\n"
        "def with_a_bias_of_its_own(self, q, k, v):\n"
        "    scores = self.bias(torch.matmul(q, k.transpose(-2, -1)) * 0.125)\n"
        "    return torch.matmul(F.softmax(scores, dim=-1), v)\n"
        "\n"
        "\n"
        "def scaled_by_what_it_is_given(q, k, v, scale):\n"
        "    scores = torch.matmul(q, k.transpose(-2, -1)) * scale\n"
        "    return torch.matmul(F.softmax(scores.float(), dim=-1).to(v.dtype), v)\n"
    )
    return path


@pytest.mark.parametrize(
    ("line", "clause"),
    [
        (7, "fits but for this: `mask` may be floating; found `k > 0`"),
        (12, "fits until `self.bias(torch.matmul(q, k.transpose(-2, -1)) * 0.125)` at line 11"),
        (17, "fits but for this: `scale` is shown to be a number; found `scale`"),
    ],
)
def test_a_pattern_that_fits_but_for_one_clause_is_named_with_it(refit, by_hand, line, clause):
    text = refit("explain", f"{by_hand}:{line}").out.decode()
    assert "refused [attention-by-hand] no-rule\n" in text
    [said] = [row for row in text.splitlines() if row.startswith("  clause: ")]
    assert "the pattern at attention_by_hand.yaml:" in said
    assert clause in said


def test_a_file_that_may_exchange_what_an_attribute_holds(refit, tree):
    """The clause names the file without which the attribute would be known."""
    (tree / "model.py").write_text(
        "from torch import einsum, nn\n"
        "\n"
        "\n"
        "class Attention(nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.attend = nn.Softmax(dim=-1)\n"
        "\n"
        "    def forward(self, q, k, v):\n"
        "        scores = einsum('b h i d, b h j d -> b h i j', q, k) * 0.125\n"
        "        return einsum('b h i j, b h j d -> b h i d', self.attend(scores), v)\n"
    )
    found = refit("explain", f"{tree}/model.py:11").out.decode()
    assert "rewritten [attention" in found
    (tree / "watch.py").write_text("def watch(model, hook):\n    model.attend.register_forward_hook(hook)\n")
    found = refit("explain", f"{tree}/model.py:11").out.decode()
    assert "refused [attention" in found
    assert ", which watch.py:2 may exchange or hook; where that does not run, --exclude watch.py\n" in found
