"""Rules of a user that could never be right: each is an error before any source is read."""

import pytest

PATTERN = """\
id: mine
summary: s
subject: activation
match:
  patterns:
    - code: |
        return $x * torch.sigmoid($x)
"""


@pytest.fixture
def load(refit, tmp_path):
    source = tmp_path / "model.py"
    source.write_text("import torch\n\n\ndef f(x):\n    return x * torch.sigmoid(x)\n")

    def run(rule: str):
        (tmp_path / "mine.yaml").write_text(rule)
        return refit("migrate", source, "--rules", "mine.yaml", cwd=tmp_path)

    return run


def rule(where: str = "", target: str = "mindiesd.ext.silu($x)", inner: str = "") -> str:
    return f"{PATTERN}{where}rewrites:\n  - target: cuda\n{inner}    with: {target}\n"


def test_a_sound_rule_loads(load):
    done = load(rule("where:\n  - {simple: x, code: c, says: s}\n"))
    assert done.code < 2, done.err
    assert b"mindiesd.ext.silu(x)" in done.out


@pytest.mark.parametrize(
    "text",
    [
        rule("where:\n  - {rank: {of: xx, is: 4}, code: c, says: s}\n"),
        rule("where:\n  - {absent: xx, code: c, says: s}\n"),
        rule(inner="    where:\n      - {simple: xx}\n"),
    ],
)
def test_a_clause_on_a_name_that_no_hole_has(load, text):
    done = load(text)
    assert done.code == 5
    line = next(i for i, line in enumerate(text.splitlines(), 1) if "xx" in line)
    assert f"mine.yaml:{line}:" in done.err
    assert "names `xx`, but no pattern of the rule `mine` has a hole `$xx`" in done.err
    assert "did you mean `x`?" in done.err


@pytest.mark.parametrize("target", ["foo.bar($x)", "os.system($x)", "mindiesd.ext.siluu($x)"])
def test_a_target_that_the_catalogue_does_not_know(load, target):
    done = load(rule(target=target))
    assert done.code == 5
    assert "mine.yaml:10:" in done.err
    assert f"the rewrite calls `{target[:-4]}`, which the catalogue does not have" in done.err


@pytest.mark.parametrize(
    "target", ["eval($x)", "print($x)", "$x.frobnicate()", "$x(1)", "getattr(torch, 'silu')($x)"]
)
def test_a_target_that_is_no_function_by_its_name(load, target):
    done = load(rule(target=f"{target}"))
    assert done.code == 5
    assert "which is no function of the catalogue" in done.err


def test_drops_of_what_no_pattern_binds(load):
    done = load(rule().replace("rewrites:", "drops: [q]\nrewrites:"))
    assert done.code == 5
    assert "`drops` names `q`, but no pattern of the rule `mine` has a hole `$q`" in done.err


def test_a_hole_that_the_rewrite_leaves_out(load):
    product = rule().replace("$x * torch.sigmoid($x)", "$x * torch.sigmoid($y)")
    done = load(product)
    assert done.code == 5
    assert "mine.yaml:9:" in done.err
    assert "leaves out the hole `$y` of the pattern at line 6" in done.err
    assert load(product.replace("rewrites:", "drops: [y]\nrewrites:")).code < 2


def test_a_hole_with_choices_in_the_call(load):
    """One of the choices is taken in its place; written itself, the argument would be missing without a word."""
    gated = rule(target="mindiesd.ext.gated($x, $gate, 'silu')").replace("$x * torch.sigmoid($x)", "$x * $activated")
    chosen = "  choices:\n    activated: ['return torch.nn.functional.silu($gate)']\n"
    made = gated.replace("rewrites:", f"{chosen}rewrites:")
    assert load(made).code < 2
    done = load(made.replace("$gate, 'silu'", "$activated, 'silu'"))
    assert done.code == 5
    assert "`$activated` in `mindiesd.ext.gated($x, $activated, 'silu')` has `choices`" in done.err
    assert "have each of them `set` a name" in done.err


TWO_CHOICES = """\
id: mine
summary: s
subject: activation
match:
  pattern: return torch.add($a_left, $b_right)
  choices:
    a_left:
      - {code: 'return torch.relu($x)', set: {mode: '"silu"'}}
      - {code: 'return torch.tanh($x)', set: {mode: '"gelu"'}}
    b_right:
      - {code: 'return torch.relu($y)', set: {mode: '"silu"'}}
      - {code: 'return torch.tanh($y)', set: {mode: '"gelu"'}}
rewrites:
  - target: cuda
    with: mindiesd.ext.gated($x, $y, $mode)
"""


@pytest.mark.parametrize("left", ["relu", "tanh"])
@pytest.mark.parametrize("right", ["relu", "tanh"])
def test_two_holes_must_set_one_name_alike(load, tmp_path, left, right):
    """What one hole's alternative says of the call, another's does not contradict."""
    text = f"import torch\n\n\ndef f(a, b):\n    return torch.add(torch.{left}(a), torch.{right}(b))\n"
    (tmp_path / "model.py").write_text(text)
    done = load(TWO_CHOICES)
    assert done.code < 2, done.err
    assert (b"mindiesd.ext.gated(a, b" in done.out) == (left == right)


@pytest.mark.parametrize(
    ("pattern", "says"),
    [
        ("torch.sigmiod($x)", "it calls `torch.sigmiod`, which the catalogue does not have; did you mean `torch.sigmoid`?"),
        ("team.ops.fused($x)", "it calls `team.ops.fused`, which the catalogue does not have"),
        ("tf.nn.softmax($x)", "`tf.nn` is no module that the catalogue has a function of, and no hole"),
        ("torch.softmax($x, dmi=-1)", "its arguments of `torch.softmax` fit no signature of `torch.softmax`"),
        ("torch.sigmoid($x, 1, 2, 3)", "its arguments of `torch.sigmoid` fit no signature of `torch.sigmoid`"),
        ("$x.softmax(dmi=-1)", "its arguments of `.softmax()` fit no signature of `torch.softmax`"),
        ("torch.cat([*$x], dim=-1)", "a starred hole stands for any number of operands"),
        ("$x", "it is a hole alone, which any code would fit"),
    ],
)  # fmt: skip
def test_a_pattern_that_fits_no_code_or_any(load, pattern, says):
    done = load(rule().replace("$x * torch.sigmoid($x)", pattern))
    assert done.code == 5
    assert "mine.yaml:6:" in done.err
    assert says in done.err


def test_a_function_by_its_last_name(load, tmp_path):
    done = load(rule().replace("$x * torch.sigmoid($x)", "swish($x)"))
    assert done.code < 2, done.err
