"""What a stranger's rules, file names and folders may not do: hang the tool, end it, or write to the
terminal what is no text."""

import json
import os
import shutil
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

RULE = """\
id: my-rule
summary: relu becomes gelu
subject: activation
match:
  pattern: {pattern}
where:
  - is: {{of: x, value: {value}}}
    code: my-code
    says: no
rewrites:
  - target: cuda
    with: {rewrite}
"""


def rule(pattern='"return torch.relu($x)"', value="1", rewrite="mindiesd.ext.gelu($x)") -> bytes:
    return RULE.format(pattern=pattern, value=value, rewrite=rewrite).encode()


def bomb(one: str, levels: int) -> str:
    lists = ["&a0 [1, 1]"]
    lists += [f"&a{i} [{one.format(i - 1)}]" for i in range(1, levels)]
    return "[" + ", ".join(lists) + "]"


HOSTILE = {
    "brackets": b"[" * 200_000,
    "closed-brackets": b"a: " + b"[" * 200_000 + b"]" * 200_000,
    "braces": b"{a: " * 200_000,
    "dashes": b"- " * 200_000,
    "long": b"id: x\n# " + b"z" * 100_000_000,
    "long-list": b"rules:\n" + b"- id: x\n" * 12_000_000,
    "random": os.urandom(1000) + b"\xff",
    "zeros": b"\0" * 1_000_000,
    "alias-bomb": rule(value=bomb(", ".join(["*a{0}"] * 9), 12)),
    "alias-chain": rule(value=bomb("*a{0}", 30_000)),
    "alias-of-itself": rule(value="&a [*a]"),
    "brackets-in-a-pattern": rule(pattern='"return ' + "(" * 200_000 + '"'),
    "calls-in-a-pattern": rule(pattern='"return ' + "abs(" * 90_000 + "$x" + ")" * 90_000 + '"'),
    "signs-in-a-pattern": rule(pattern='"return ' + "-" * 200_000 + '$x"'),
    "attributes-in-a-pattern": rule(pattern='"return $x' + ".a" * 200_000 + '"'),
    "blocks-in-a-pattern": rule(pattern='"' + "if $x:\\n " * 50_000 + '"'),
    "brackets-in-a-literal": rule(value="(" * 200_000),
    "brackets-in-a-rewrite": rule(rewrite='"' + "(" * 300_000 + '"'),
    "aliases-of-patterns": rule().replace(
        b'pattern: "return torch.relu($x)"',
        b'patterns: [&p "return torch.relu($x)"' + b", *p" * 50_000 + b"]",
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_rule_file_is_an_error_within_a_second(refit, tree, source, tmp_path, name):
    (tree / "model.py").write_bytes(source())
    file = tmp_path / "rules.yaml"
    file.write_bytes(HOSTILE[name])
    start = time.process_time(), time.monotonic()
    done = refit("migrate", tree, "--rules", file)
    assert time.monotonic() - start[1] < 5, "a second on an idle machine"
    assert done.code == 5, done.err[:500]
    assert "rules.yaml" in done.err
    assert len(done.err) < 20_000


@pytest.mark.parametrize("kind", ["fifo", "folder-with-fifo", "/dev/zero", "/dev/stdin", "loop"])
def test_what_is_no_file_is_no_rule_file(refit, tree, source, tmp_path, kind):
    (tree / "model.py").write_bytes(source())
    path = Path(kind)
    if kind == "fifo":
        path = tmp_path / "rules.yaml"
        os.mkfifo(path)
    if kind == "folder-with-fifo":
        path = tmp_path / "rules"
        path.mkdir()
        os.mkfifo(path / "x.yaml")
    if kind == "loop":
        path = tmp_path / "rules.yaml"
        path.symlink_to(path)
    read, write = os.pipe()  # a standard input that never ends
    done = refit("migrate", tree, "--rules", path, stdin=read)
    os.close(read)
    os.close(write)
    assert done.code == 5, done.err


def test_spellings_that_lead_back_to_each_other_are_an_error(refit, tree, source, tmp_path):
    (tree / "model.py").write_bytes(source())
    rules = tmp_path / "rules"
    shutil.copytree(ROOT / "rules", rules)
    environment = {**os.environ, "REFIT_RULES_DIR": str(rules)}
    assert refit("migrate", tree, env=environment).code == 0
    cycle = """
- {from: "torch.relu($x)", to: "torch.sigmoid($x)"}
- {from: "torch.sigmoid($x)", to: "torch.tanh($x)"}
- {from: "torch.tanh($x)", to: "torch.relu($x)"}
"""
    growing = '\n- {from: "torch.relu($x)", to: "torch.relu(torch.relu($x))"}\n'
    spellings = (rules / "isomorphisms.yaml").read_text()
    for more in (cycle, growing):
        (rules / "isomorphisms.yaml").write_text(spellings + more)
        done = refit("migrate", tree, env=environment)
        assert done.code == 5
        assert "lead back to each other" in done.err


NAMES = [
    b"bell\x07.py",
    b"escape\x1b[2J\x1b]0;title\x07.py",
    b"line\nerror: forged.py",
    b"return\rerror.py",
    b"delete\x7f.py",
    b"c1\xc2\x9b31m.py",
    "reversed\u202eyp.exe.py".encode(),
    "isolate\u2067x.py".encode(),
    "zero\u200bwidth\ufeff.py".encode(),
    b"bytes\xff\xfe.py",
    b"surrogate\xed\xa0\x80.py",
]


def unsafe(text: str) -> list[str]:
    """Characters that a terminal does not show where they stand."""
    return [c for c in text if not (c.isprintable() or c == "\n")]


CHOICES = """rules:
  - id: round
    summary: parts whose spellings name each other
    subject: softmax
    triggers: [[softmax]]
    match:
      patterns:
        - code: return torch.softmax($a, -1)
      choices:
        a: [return $b, return $c * 2]
        b: [return $a, return $c + 1]
    rewrites:
      - target: cuda
        with: mindiesd.ext.softmax($c, -1)
"""


def test_parts_whose_spellings_name_each_other_end(refit, tree, tmp_path):
    """Where branches meet, an alternative may leave the spelling to that of another part, which leaves it back."""
    (tmp_path / "round.yaml").write_text(CHOICES)
    (tree / "round.py").write_text(
        "import torch\n\n\ndef f(x, y, wide):\n    z = x if wide else y\n    return torch.softmax(z, -1)\n"
    )
    done = refit("migrate", "--rules", tmp_path / "round.yaml", "--select", "round", tree / "round.py")
    assert done.code == 0, done.err
    assert not done.out


@pytest.mark.parametrize("name", NAMES)
def test_names_of_files_are_escaped_wherever_they_are_printed(binary, refit, tree, source, name):
    folder = os.fsencode(tree)
    good, broken = os.path.join(folder, name), os.path.join(folder, b"x" + name)
    for path, text in [(good, source()), (broken, source() + b"def (\n"),
                       (os.path.join(folder, b"y" + name), b"# coding: none\n" + source())]:  # fmt: skip
        with open(path, "wb") as file:
            file.write(text)
    os.symlink("nowhere", os.path.join(folder, b"z" + name))
    commands = [
        ["migrate", tree],
        ["migrate", tree, "--report", "json:-"],
        ["migrate", good],
        ["migrate", good + b"gone"],
        ["migrate", tree, "--rules", good],
        ["migrate", tree, "--report", b"json:" + os.path.join(folder, b"none", name)],
        ["explain", good + b":6"],
        ["explain", good + b"gone:6"],
        ["undo", good + b"gone"],
        [b"migrate" + name],
        ["migrate", tree, b"--" + name],
        ["migrate", tree, "--write"],
        ["undo", tree],
    ]
    for command in commands:
        done = refit(*command)
        out = done.out.decode()  # never bytes that are no UTF-8
        said = done.err
        assert "\ufffd" not in said, command
        assert not unsafe(said), (command, unsafe(said), said)
        assert not unsafe(out), (command, unsafe(out), out)
        assert "\nerror: forged" not in said + out, command
    report = json.loads(refit("migrate", tree, "--report", "json:-", "--quiet").out)
    names = {site["file"] for site in report["sites"]}
    assert len(names) == 2, "each file by a name of its own"


# Python that the grammar does not know.
STARS = ["return q, *(v)", "return *[k], q", "for x in q, *(v): pass", "for x in *{v}, q: pass",
         "yield q, *[None] * 3", "x = q, *(v)", "x: t = *-v, q", "x += q, *()", "return q[*(k, v)]",
         "return q[0, *[v]]", "return q, *(\n        v\n    )", "return *(q), *f(k), *(v)"]  # fmt: skip
CALL = b"F.scaled_dot_product_attention(q, k, v)"


@pytest.mark.parametrize("star", STARS)
def test_what_the_grammar_does_not_know_loses_its_own_function_only(refit, tree, source, star):
    unknown = (
        f"\n\nclass Model:\n    def f(self, q, k, v):\n        o = {CALL.decode()}\n        "
        f"{star}\n\n    def g(self, q, k, v):\n        # {star.splitlines()[0]}\n"
        f"        return {CALL.decode()}, (*(q), *[k])\n"
    ).encode()
    text = source() + unknown
    compile(text, "model.py", "exec")
    (tree / "model.py").write_bytes(text)
    done = refit("migrate", tree, "--write")
    assert done.code == 0, done.err
    line = text[: text.index(star.encode())].count(b"\n") + 1
    assert f"note: model.py:{line}: the grammar that refit reads Python with" in done.err
    new = (tree / "model.py").read_bytes()
    compile(new, "model.py", "exec")
    assert new.count(CALL) == 1
    assert new.count(b"mindiesd.ext.attention_forward(") == 2
    assert new[new.index(b"    def f(") : new.index(b"    def g(")] == (
        unknown[unknown.index(b"    def f(") : unknown.index(b"    def g(")]
    )
    assert refit("migrate", tree, "--check").code == 0


@pytest.mark.parametrize(
    "broken", ["def f(:", "x = (", "return *", "x = 1, *", "x = 1 *(2", "q, *(v", "x = *(1) 2, 3"]
)
@pytest.mark.parametrize("where", ["before", "behind", "inside"])
def test_a_mistake_anywhere_leaves_the_file_whole(refit, tree, source, broken, where):
    mistake = broken.encode() + b"\n"
    text = {
        "before": mistake + source(),
        "behind": source() + mistake,
        "inside": source(body=b"    " + mistake) + source(),
    }[where]
    text += b"\n\ndef g(q, k, v):\n    return q, *(v)\n"
    (tree / "model.py").write_bytes(text)
    done = refit("migrate", tree, "--write")
    assert done.code == 3, done.err
    assert (tree / "model.py").read_bytes() == text


@pytest.mark.parametrize(
    "commands",
    [b'[{"directory": "/tmp", \x1b[31mred\x1b]0;title\x07', b"[" * 1_000_000, b"- a: \xff\n", b""],
)
def test_a_database_of_flags_that_is_no_json_is_passed_over_in_silence(refit, tree, commands):
    sources = ROOT / "corpus" / "cpp_libtorch" / "before" / "src"
    shutil.copy(sources / "attention.cpp", tree)
    (tree / "compile_commands.json").write_bytes(commands)
    done = refit("migrate", tree)
    assert done.code == 0, done.err
    assert not unsafe(done.err), done.err
    assert "YAML" not in done.err
    assert b"mindiesd::attention_forward" in done.out
