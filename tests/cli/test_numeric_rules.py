"""Numeric tests of rules: `refit rules test` runs what they rewrite."""

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PYTHON = ROOT / ".venv" / "bin" / "python"

RULE = """\
id: my-relu
summary: relu becomes silu, which is wrong
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
"""


def written(name: str, numeric: str, body: str) -> str:
    """A test of the rule, whose function has the parameters x and y."""
    def text(call: str, head: str) -> str:
        lines = [*head.splitlines(), "", "def act(x, y=0):", f"    return {body.replace('CALL', call)}"]
        return "".join(f"        {line}\n" if line else "\n" for line in lines)

    return (
        f"  - name: {name}\n    numeric: {numeric}\n"
        f"    before: |\n{text('F.relu', 'import torch.nn.functional as F')}"
        f"    after: |\n{text('mindiesd.ext.silu', 'import mindiesd.ext')}"
    )


@pytest.fixture
def run(binary, tmp_path):
    def run(text: str, *arguments, python=PYTHON):
        (tmp_path / "mine.yaml").write_text(text)
        done = subprocess.run(
            [binary, "rules", "test", "mine.yaml", "--python", python, *arguments],
            cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT / "runtime" / "python")},
            capture_output=True, text=True, timeout=300, check=False,
        )  # fmt: skip
        return done.returncode, done.stdout + done.stderr

    return run


def test_all_of_the_rules_that_ship_agree(binary):
    done = subprocess.run(
        [binary, "rules", "test", "--python", PYTHON],
        env={**os.environ, "PYTHONPATH": str(ROOT / "runtime" / "python")},
        capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr
    asked = sum(len(re.findall(r"(?m)^ +numeric:", path.read_text())) for path in (ROOT / "rules").glob("*.yaml"))
    assert asked > 70
    assert done.stdout.endswith(f"{asked} of {asked} numeric tests passed\n"), done.stdout[-4000:]
    for line in done.stdout.splitlines()[2:-1]:
        assert re.search(r": \d+ inputs?: float32 \d\.\de[-+]\d\d -> \d\.\de[-+]\d\d", line), line


def test_a_rewrite_that_computes_another_thing_fails_with_its_errors(run):
    text = RULE + written("a call", "true", "CALL(x)") + written("given", "{x: [3, 5]}", "CALL(x)")
    text += written("where both are the same", "{x: 'torch.zeros(4) * draw(4)'}", "CALL(x)")
    text += written("an object", "{x: [7], y: namespace(a=0.5)}", "CALL(x * 0) * y.a")
    text += written("no parameter", "{z: [3, 5]}", "CALL(x)")
    text += written("no expression", "{x: draw(3}", "CALL(x)").replace("draw(3}", "'draw(3'}")
    code, out = run(text)
    assert code == 1
    assert "6 of 6 tests passed\n" in out
    assert re.search(r"\[my-relu\] a call: FAILED: `act`: the largest error is 0\.\d+, where the original's is 0 and", out)
    assert re.search(r"\[my-relu\] given: FAILED: .*\n  for example with x: float32 \[3, 5\]\n", out)
    assert re.search(r"\[my-relu\] where both are the same: \d+ inputs: float32 0.0e\+00 -> 0.0e\+00, bfloat16", out)
    assert re.search(r"\[my-relu\] an object: \d+ inputs: float32", out)
    assert "[my-relu] no parameter: FAILED: `act`: it has no parameter `z`, but x, y\n" in out
    assert "the one that comes farthest: SyntaxError: '(' was never closed" in out
    assert out.endswith("2 of 6 numeric tests passed\n")


def test_what_is_missing_is_counted(run, tmp_path):
    text = RULE + written("a call", "true", "CALL(x)")
    bare = tmp_path / "python"
    bare.write_text(f'#!/bin/sh\nexec {PYTHON} -S "$@"\n')
    bare.chmod(0o755)
    code, out = run(text, python=bare)
    assert code == 0
    assert re.search(r"\n1 numeric test not run: .* has no torch; name an interpreter that has it with --python\n$", out)
    code, out = run(text.replace("import torch.nn.functional as F\n", "import not_there\n        import torch.nn.functional as F\n").replace(
        "import mindiesd.ext\n", "import mindiesd.ext\n        import not_there\n").replace("(x)", "(not_there.f(x))"))  # fmt: skip
    assert code == 0, out
    assert "not run: `act`: " in out
    assert out.endswith("0 of 0 numeric tests passed\n1 numeric test not run: packages that they import are not installed\n")


def test_no_code_is_run_without_the_numeric_tests(run, tmp_path):
    text = RULE + written("a call", "\"open('run', 'w')\"", "CALL(x)").replace("numeric: ", "numeric: {x: ").replace("'w')\"", "'w')\"}")
    code, out = run(text, "--no-numeric")
    assert (code, out) == (0, "1 of 1 test passed\n1 numeric test left out\n")
    assert not (tmp_path / "run").exists()
    assert run(text)[0] == 1
    assert (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("numeric", "says"),
    [
        ("false", "expected `true`, or a mapping from parameters to values, for `numeric`"),
        ("[x]", "`numeric`, from parameters to values"),
        ("{x y: 3}", "expected a parameter's name, found `x y`"),
        ("{x: [3, a]}", "a size of `x`"),
        ("{x: {shape: 3}}", "expected text for `x`"),
    ],
)
def test_a_mistake_in_a_test_is_named_with_its_place(run, numeric, says):
    code, out = run(RULE + written("a call", numeric, "CALL(x)"))
    assert code == 5
    assert "mine.yaml:15:" in out
    assert says in out


def test_a_refused_site_has_nothing_to_run(run):
    text = RULE + "  - name: n\n    numeric: true\n    before: |\n      import torch\n    refused: in-place\n"
    code, out = run(text)
    assert code == 5
    assert "mine.yaml:15:14: `numeric` needs `after`: a refused site stays as it is" in out
