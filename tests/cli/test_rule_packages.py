"""Folders of rules with a manifest, a catalogue and spellings: --rules DIR and --rules NAME."""

import os
from pathlib import Path

import pytest

CATALOGUE = """\
library: team
operations:
  - {id: team.ops.fused_attn, signature: "(q, k, v, scale=None)", trusted: true}
"""
RULE = """\
id: team-attention
summary: the team's own attention
subject: attention
match:
  call: team.ops.fused_attn
rewrites:
  - target: cuda
    with: mindiesd.ext.attention_forward($q, $k, $v, scale=$scale)
tests:
  - name: by position
    before: |
      from team.ops import fused_attn


      def f(q, k, v):
          return fused_attn(q, k, v)
    after: |
      import mindiesd.ext


      def f(q, k, v):
          return mindiesd.ext.attention_forward(q, k, v)
"""
MANIFEST = 'name: team-rules\nversion: "1.2"\n'
HELPER = """\
import torch


def fused_attn(q, k, v, scale=None):
    return torch.ops.team.attention(q, k, v, scale)
"""
MODEL = """\
from team.ops import fused_attn


def f(q, k, v):
    return fused_attn(q, k, v, scale=0.5)
"""


@pytest.fixture
def package(tmp_path) -> Path:
    folder = tmp_path / "team_rules"
    (folder / "catalogue").mkdir(parents=True)
    (folder / "package.yaml").write_text(MANIFEST)
    (folder / "catalogue" / "team.yaml").write_text(CATALOGUE)
    (folder / "attention.yaml").write_text(RULE)
    return folder


@pytest.fixture
def team(tree) -> Path:
    (tree / "team").mkdir()
    (tree / "team" / "__init__.py").write_text("")
    (tree / "team" / "ops.py").write_text(HELPER)
    (tree / "model.py").write_text(MODEL)
    return tree


def test_a_helper_of_the_tree_moves(refit, team, package):
    assert refit("rules", "test", package).code == 0
    done = refit("migrate", team, "--rules", package)
    assert done.code == 0, done.err
    assert "mindiesd.ext.attention_forward(q, k, v, scale=0.5)" in done.out.decode()


def test_only_at_the_signature_that_is_trusted(refit, team, package):
    (team / "team" / "ops.py").write_text(HELPER.replace("scale=None", "mask=None"))
    done = refit("migrate", team, "--rules", package)
    assert done.out == b""
    assert "another signature than the library's" in done.err
    (team / "team" / "ops.py").write_text(HELPER)
    (package / "catalogue" / "team.yaml").write_text(CATALOGUE.replace(", trusted: true", ""))
    done = refit("migrate", team, "--rules", package)
    assert done.out == b""
    assert "that is none of those known" in done.err


def test_spellings_hold_beside_those_that_ship(refit, tree, package):
    (tree / "m.py").write_text("import team.ops\nimport torch\n\n\ndef f(x):\n    return team.ops.times(x, torch.sigmoid(x))\n")
    (package / "catalogue" / "team.yaml").write_text(CATALOGUE + '  - {id: team.ops.times, signature: "(a, b)"}\n')
    (package / "more.yaml").write_text(
        "id: mine\nsummary: s\nsubject: activation\nmatch:\n  patterns:\n    - code: return $x * torch.sigmoid($x)\n"
        "rewrites:\n  - target: cuda\n    with: mindiesd.ext.silu($x)\n"
    )
    assert refit("migrate", tree, "--rules", package).out == b""
    (package / "isomorphisms.yaml").write_text('- {from: "team.ops.times($a, $b)", to: "$a * $b"}\n')
    assert "mindiesd.ext.silu(x)" in refit("migrate", tree, "--rules", package).out.decode()
    (package / "isomorphisms.yaml").write_text('- {from: "team.ops.nothing($x)", to: "torch.sigmoid($x)"}\n')
    done = refit("migrate", tree, "--rules", package)
    assert done.code == 5
    assert "isomorphisms.yaml:1:" in done.err


def test_a_pattern_names_functions_of_the_package(refit, team, package):
    (package / "more.yaml").write_text(
        "id: team-pair\nsummary: two in one\nsubject: attention\nmatch:\n  patterns:\n    - code: |\n"
        "        return torch.sigmoid(team.ops.fused_attn($q, $k, $v)) * $x\n"
        "rewrites:\n  - target: cuda\n    with: mindiesd.ext.silu($x)\n".replace("rewrites:", "drops: [q, k, v]\nrewrites:")
    )
    (team / "model.py").write_text(
        "import torch\n\nfrom team import ops\n\n\ndef f(x, q, k, v):\n    return torch.sigmoid(ops.fused_attn(q, k, v)) * x\n"
    )
    done = refit("migrate", team, "--rules", package, "--select", "team-pair")
    assert "mindiesd.ext.silu(x)" in done.out.decode(), done.err


def install(package: Path, name: str = "team-rules") -> dict[str, str]:
    info = package.parent / "team_rules-1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: team-rules\nVersion: 1.2\n")
    (info / "entry_points.txt").write_text(f"[refit.rules]\n{name} = team_rules\n")
    (package / "__init__.py").write_text("raise SystemExit('code of a rule package was run')\n")
    return {**os.environ, "PYTHONPATH": str(package.parent)}


def test_an_installed_package_by_its_name(refit, team, package):
    env = install(package)
    done = refit("migrate", team, "--rules", "team-rules", env=env)
    assert done.code == 0, done.err
    assert "mindiesd.ext.attention_forward" in done.out.decode()
    done = refit("migrate", team, "--rules", "other-rules", env=env)
    assert done.code == 5
    assert "no package that python3 finds has an entry point other-rules in the group refit.rules" in done.err


def test_nothing_is_looked_for_in_the_current_folder(refit, team, package, tmp_path):
    """The tree that is migrated is often the current folder, and may be anyone's."""
    folder = tmp_path / "here"
    folder.mkdir()
    for name in ("csv", "email", "functools", "importlib", "inspect", "json", "pathlib", "re", "typing", "zipfile"):
        (folder / name).mkdir()
        (folder / name / "__init__.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'a').write('{name}')\n")
    env = install(package)
    done = refit("migrate", team, "--rules", "team-rules", cwd=folder, env=env)
    assert not (tmp_path / "ran").exists(), (tmp_path / "ran").read_text()
    assert done.code == 0, done.err
    assert "mindiesd.ext.attention_forward" in done.out.decode()
    del env["PYTHONPATH"]
    done = refit("migrate", team, "--rules", "team-rules", cwd=package.parent, env=env)
    assert done.code == 5
    assert "no package that python3 finds has an entry point team-rules" in done.err


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("package.yaml", "name: x\n", "package.yaml:1:1: a manifest needs the key `version`"),
        ("package.yaml", MANIFEST + "need: []\n", "unknown key `need`; did you mean `needs`?"),
        ("package.yaml", 'name: x\nversion: "new"\n', "package.yaml:2:10: expected a version of up to four numbers, such as 1.2, found `new`"),
        ("package.yaml", MANIFEST + "needs: refit > 1\n", "expected NAME or NAME >= VERSION, found `refit > 1`"),
        ("package.yaml", MANIFEST + "needs: refit >= 99.0\n", "the package `team-rules` needs `refit >= 99.0`, and this is refit 0."),
        ("package.yaml", MANIFEST + "needs: [other]\n", "the package `team-rules` needs `other`; give that to --rules, too"),
        ("package.yaml", "[", "package.yaml:1:"),
        ("catalogue/team.yaml", "library: team\n", "catalogue/team.yaml:1:1:"),
        ("catalogue/team.yaml", CATALOGUE.replace("team.ops.fused_attn", "torch.transpose"), "the name `torch.transpose` is already taken by "),
        ("catalogue/team.yaml", None, "catalogue: expected catalogue files (*.yaml), found none"),
    ],
)
def test_what_is_wrong(refit, team, package, name, text, says):
    if text is None:
        (package / name).unlink()
    else:
        (package / name).write_text(text)
    done = refit("migrate", team, "--rules", package, "--write")
    assert done.code == 5
    assert says in done.err
    assert (team / "model.py").read_text() == MODEL


def test_two_packages(refit, team, package, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    (other / "package.yaml").write_text(MANIFEST)
    done = refit("migrate", team, "--rules", package, "--rules", other)
    assert done.code == 5
    assert "the package `team-rules` is there already, at " in done.err
    (other / "package.yaml").write_text('name: other\nversion: "2"\nneeds: [team-rules >= 1.1, refit]\n')
    assert refit("migrate", team, "--rules", package, "--rules", other).code == 5  # it holds nothing
    (other / "mine.yaml").write_text(RULE)
    done = refit("migrate", team, "--rules", package, "--rules", other)
    assert done.code == 5
    assert "the rule `team-attention` exists already, at " in done.err
    (other / "mine.yaml").write_text(RULE.replace("id: team-attention", "id: team-attention-again"))
    assert refit("migrate", team, "--rules", package, "--rules", other, "--check").code == 1
    (other / "package.yaml").write_text('name: other\nversion: "2"\nneeds: team-rules >= 1.3\n')
    done = refit("migrate", team, "--rules", package, "--rules", other)
    assert done.code == 5
    assert "the package `other` needs `team-rules >= 1.3`, and this is team-rules 1.2" in done.err
