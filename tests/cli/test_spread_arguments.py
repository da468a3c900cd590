"""A layer that is called with spread arguments is left: nothing shows what it is given."""

import pytest

HEAD = (
    "import torch\n"
    "import torch.nn.functional as F\n"
    "from torch import nn\n"
    "\n"
    "\n"
    "class Block(nn.Module):\n"
    "    def __init__(self, width, heads):\n"
    "        super().__init__()\n"
    "        self.norm = nn.LayerNorm(width)\n"
    "        self.soft = nn.Softmax(dim=-1)\n"
    "        self.linear = nn.Linear(width, width)\n"
    "        self.attn = nn.MultiheadAttention(width, heads)\n"
    "\n"
    "    def forward(self, x, y, s, t):\n"
)


@pytest.mark.parametrize(
    ("spread", "plain"),
    [
        ("self.norm({}y)", "self.norm(y)"),
        ("self.norm({}y) * (1 + s) + t", "self.norm(y) * (1 + s) + t"),
        ("F.gelu(self.linear({}y), approximate='tanh')", "F.gelu(self.linear(y), approximate='tanh')"),
        ("self.soft({}(x @ y.transpose(-2, -1))) @ t", "self.soft(x @ y.transpose(-2, -1)) @ t"),
        ("self.attn(x, x, x, {}y)[0]", "self.attn(x, x, x, y)[0]"),
        ("self.attn(x, x, {}y)[0]", "self.attn(x, x, y)[0]"),
    ],
)
def test_the_call_stays(refit, tree, spread, plain):
    path = tree / "model.py"

    def migrated(expression):
        path.write_text(f"{HEAD}        return {expression}\n")
        refit("migrate", str(path), "--write", "--quiet")
        return path.read_text()

    assert plain not in migrated(plain)
    for stars in ("*", "**"):
        called = spread[spread.index("self.") : spread.index("{}")]
        assert f"{called}{stars}" in migrated(spread.format(stars))
