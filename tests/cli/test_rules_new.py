"""refit rules new: a rule from a file before and after a rewrite, or why there is none in it."""

import pytest

SILU = (
    """\
import torch


def team_act(x):
    gate = torch.exp(-x)
    return x / (1 + gate)
""",
    """\
from mindiesd import ext


def team_act(x):
    return ext.silu(x)
""",
)

PACKAGE = """\
name: team
version: 1.0.0
"""


@pytest.fixture
def new(refit, tmp_path):
    """Runs the command over two texts, and gives what it did and the rule's file."""

    def run(before, after, *options):
        (tmp_path / "before.py").write_text(before)
        (tmp_path / "after.py").write_text(after)
        place = tmp_path / "rule.yaml"
        done = refit(
            "rules", "new", tmp_path / "before.py", tmp_path / "after.py", "--output", place, *options
        )
        return done, place

    return run


def line(text, key):
    (found,) = (part.strip() for part in text.splitlines() if part.strip().startswith(key))
    return found.removeprefix(key).strip(" '")


def accepted(refit, place, *options):
    """The rule loads, is not doubtful, and passes its test."""
    for command in ("check", "test"):
        done = refit("rules", command, place, *options)
        assert done.code == 0, done.out.decode() + done.err
    assert b"1 of 1 test passed" in done.out


def test_the_rule_finds_the_computation_in_other_code(refit, new, tmp_path):
    done, place = new(*SILU)
    assert done.code == 0, done.err
    text = place.read_text()
    assert line(text, "id:") == "team-act"
    assert line(text, "return $") == "x / (1 + torch.exp(-$x))"
    assert line(text, "with:") == "mindiesd.ext.silu($x)"
    accepted(refit, place)
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "model.py").write_text(
        "from torch import exp\n\n\ndef swish(hidden):\n    return hidden / (exp(-hidden) + 1)\n"
    )
    done = refit("migrate", tmp_path / "tree", "--rules", place, "--select", "team-act")
    assert b"+    return mindiesd.ext.silu(hidden)" in done.out


def test_it_says_what_it_generalised_and_what_is_left_to_think_of(new):
    done, _ = new(*SILU)
    assert "generalised: $x stands for any value" in done.err
    assert "kept: 1 must stand in the code" in done.err
    assert "`numeric: true`" in done.err and "`not_within`" in done.err
    assert "operands that broadcast" not in done.err


def test_the_rule_goes_to_standard_output_unless_told_otherwise(refit, new, tmp_path):
    _, place = new(*SILU)
    done = refit("rules", "new", tmp_path / "before.py", tmp_path / "after.py")
    assert done.code == 0 and done.out.decode() == place.read_text()


ATTEND = """\
import torch.nn.functional as F


class Block:
    def forward(self, q, k, v, mask):
        out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=0.5)
        return self.project(out.flatten(2))
"""
NORM = """\
import torch


class Norm(torch.nn.Module):
    def forward(self, hidden, weight):
        if self.training:
            hidden = hidden * 2
        return weight + torch.nn.functional.scaled_dot_product_attention(hidden, weight, self.weight)
"""


@pytest.mark.parametrize(
    ("before", "old", "call", "pattern", "rewrite"),
    [
        pytest.param(
            ATTEND, "F.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=0.5)",
            "mindiesd.attention_forward(q, k, v, mask, scale=0.5, head_first=True)",
            "torch.nn.functional.scaled_dot_product_attention($q, $k, $v, $mask, scale=0.5)",
            "mindiesd.attention_forward($q, $k, $v, $mask, scale=0.5, head_first=True)",
            id="a call inside of an expression, with literals that stay",
        ),
        pytest.param(
            NORM, "torch.nn.functional.scaled_dot_product_attention(hidden, weight, self.weight)",
            "mindiesd.attention_forward(hidden, weight, self.weight, head_first=True)",
            "torch.nn.functional.scaled_dot_product_attention($hidden, $weight, $weight2)",
            "mindiesd.attention_forward($hidden, $weight, $weight2, head_first=True)",
            id="two values of one name, and a name that a branch gives",
        ),
        pytest.param(
            "import torch\n\n\ndef f(_, x):\n    return _ + x.float().softmax(-1)\n",
            "x.float().softmax(-1)", "mindiesd.ext.softmax(x, -1, dtype=torch.float32)",
            "torch.softmax($x.float(), dim=-1)",
            "mindiesd.ext.softmax($x, dim=-1, dtype=torch.float32)",
            id="methods, and a symbol that stays",
        ),
    ],
)  # fmt: skip
def test_one_computation_is_taken_out_of_its_surroundings(refit, new, before, old, call, pattern, rewrite):
    assert old in before
    done, place = new(before, "import mindiesd.ext\n" + before.replace(old, call))
    assert done.code == 0, done.err
    assert line(place.read_text(), "return torch.") == pattern.removeprefix("torch.")
    assert line(place.read_text(), "with:") == rewrite
    accepted(refit, place)


BODY = "import torch\nimport mindiesd.ext\nimport team.ops\n\nSCALE = 3\n\n\ndef f(x, y):\n    return {}\n"


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        ("torch.tanh(x)", "team.ops.tanh(x)", "team.ops.tanh is called, which the catalogue does not describe"),
        ("team.ops.tanh(x)", "mindiesd.ext.gelu(x)", "team.ops.tanh is called, which the catalogue does not"),
        ("torch.tanh(x)", "mindiesd.ext.gelu()", "the arguments do not fit the signature of mindiesd.ext.gelu"),
        ("torch.tanh(x)", "mindiesd.ext.gelu(y)", "reads `y`, which the old computation does not"),
        ("torch.tanh(x) * y", "mindiesd.ext.gelu(x)", "leaves out `y`, which the old computation reads"),
        ("torch.tanh(x)", "x + 1", "which is no call"),
        ("torch.tanh(x)", "torch.tanh(x)", "computed alike in both files"),
        ("(torch.tanh(x), torch.exp(y))", "(mindiesd.ext.gelu(x), mindiesd.ext.silu(y))", "which is no call"),
        ("torch.tanh(x * SCALE)", "mindiesd.ext.gelu(x)", "a pattern cannot say `SCALE`"),
        ("torch.tanh([a for a in x])", "mindiesd.ext.gelu(x)", "a pattern cannot say `[a for a in x]`"),
        ("x * x + 1", "mindiesd.ext.gelu(x)", "calls nothing by name"),
        ("torch.tanh(x", "mindiesd.ext.gelu(x)", "is no Python"),
        ("torch.tanh(x)\n\n\ndef g():\n    pass", "mindiesd.ext.gelu(x)", "do not hold the same functions"),
        ("torch.tanh(" + " + ".join(["x * y"] * 150) + ")", "mindiesd.ext.gated(x, y, \"silu\")", "nested too deeply"),
        ("torch.tanh(x) if y else x", "mindiesd.ext.gelu(x)", "a pattern cannot say `torch.tanh(x) if y else x`"),
    ],
)
def test_what_no_rule_can_be_made_of_is_refused_with_the_reason(new, before, after, says):
    done, place = new(BODY.format(before), BODY.format(after))
    assert (done.code, done.out) == (1, b""), done.err
    assert says in done.err
    assert not place.exists()


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        (
            "    print(x)\n    return torch.tanh(x)\n", "    return mindiesd.ext.gelu(x)\n",
            "differ in a statement that returns nothing",
        ),
        (
            "    self.last = x\n    return torch.tanh(x)\n", "    return mindiesd.ext.gelu(x)\n",
            "differ in a statement that returns nothing",
        ),
        (
            "    if y:\n        return torch.tanh(x)\n    return torch.exp(x)\n",
            "    if y:\n        return mindiesd.ext.gelu(x)\n    return mindiesd.ext.silu(x)\n",
            "several of its `return` statements differ",
        ),
        (
            "    if y:\n        return torch.tanh(x)\n    return torch.exp(x)\n", "    return mindiesd.ext.gelu(x)\n",
            "do",
        ),
    ],
)  # fmt: skip
def test_several_differences_are_refused(new, before, after, says):
    head = "import torch\nimport mindiesd.ext\n\n\ndef f(self, x, y):\n"
    done, place = new(head + before, head + after)
    assert done.code == 1, done.out
    assert says in done.err
    assert not place.exists()


def test_a_teams_own_function_is_known_by_its_package(refit, new, tmp_path):
    package = tmp_path / "package"
    (package / "catalogue").mkdir(parents=True)
    (package / "package.yaml").write_text(PACKAGE)
    (package / "catalogue" / "team.yaml").write_text(
        'library: team\noperations:\n  - id: team.ops.tanh\n    signature: "(x)"\n    targets: [cuda]\n'
    )
    done, place = new(BODY.format("torch.tanh(x)"), BODY.format("team.ops.tanh(x)"), "--rules", package)
    assert done.code == 0, done.err
    assert line(place.read_text(), "with:") == "team.ops.tanh($x)"
    accepted(refit, place, "--rules", package)


def test_a_rule_that_finds_the_example_already_is_named(new):
    done, _ = new(BODY.format("torch.nn.functional.silu(x)"), BODY.format("mindiesd.ext.silu(x)"))
    assert "note: the rule silu-function rewrites the example already" in done.err


@pytest.mark.parametrize(
    ("options", "code", "says"),
    [
        (["--id", "Team Act"], 2, "small letters, digits and hyphens"),
        (["--id", "silu-function"], 2, "another rule has that id"),
    ],
)
def test_ids_that_cannot_be(new, options, code, says):
    done, place = new(*SILU, *options)
    assert done.code == code and says in done.err
    assert not place.exists()


def test_a_computation_that_is_written_out_too_long_is_refused_at_once(new):
    doubled = "".join("    x = x * x\n" for _ in range(30))
    head = "import torch\nimport mindiesd.ext\n\n\ndef f(x):\n"
    done, place = new(f"{head}{doubled}    return torch.tanh(x)\n", f"{head}    return mindiesd.ext.gelu(x)\n")
    assert done.code == 1 and "too large for one pattern" in done.err
    assert not place.exists()


def test_the_engines_own_doubts_count(new):
    """A reader that sees the strides of the result refuses the rewrite, and so there is no rule."""
    before = (
        "import torch\n\n\nclass Norm(torch.nn.Module):\n    def forward(self, x, weight):\n"
        "        return weight + self.weight * torch.nn.functional.layer_norm(x, (8,), weight)\n"
    )
    old = "self.weight * torch.nn.functional.layer_norm(x, (8,), weight)"
    after = before.replace(old, "mindiesd.ext.rms_norm(x, weight, self.weight)")
    done, place = new(before, "import mindiesd.ext\n" + after)
    assert done.code == 1, done.out
    assert "does not pass its own test" in done.err and "refused no-counterpart" in done.err
    assert not place.exists()


def test_a_file_that_is_there_stays(new, tmp_path):
    (tmp_path / "rule.yaml").write_text("mine\n")
    done, place = new(*SILU)
    assert done.code == 2 and "is there already" in done.err
    assert place.read_text() == "mine\n"


@pytest.mark.parametrize("text", ["\tx = 1\n", "  x = 1\n", "", "\nx = 1\n", "x = '\x7f'\n", "x = 1\r\n"])
def test_texts_that_no_rule_file_holds(new, tmp_path, text):
    (tmp_path / "before.py").write_bytes(text.encode())
    done, _ = new(text, SILU[1])
    assert done.code == 3
    assert "must begin with a line that is not empty or indented" in done.err


def test_words_of_any_script_stay_as_they_are(refit, new):
    done, place = new(*(text + "\n\n# café, 注意\n" for text in SILU))
    assert done.code == 0, done.err
    assert "# café, 注意" in place.read_text()
    accepted(refit, place)


def test_a_file_that_is_not_there(refit, tmp_path):
    (tmp_path / "after.py").write_text(SILU[1])
    done = refit("rules", "new", tmp_path / "before.py", tmp_path / "after.py")
    assert done.code == 3 and f"cannot read {tmp_path / 'before.py'}" in done.err
