"""refit.toml and [tool.refit] of pyproject.toml."""

import subprocess
from pathlib import Path

import pytest

SOURCE = "import torch.nn.functional as F\n\n\ndef f(x):\n    return F.silu(F.gelu(x))\n"


@pytest.fixture
def tree(tmp_path) -> Path:
    folder = tmp_path / "tree"
    (folder / "package").mkdir(parents=True)
    (folder / "old").mkdir()
    (folder / ".git").mkdir()
    for name in ("package/m.py", "old/m.py"):
        (folder / name).write_text(SOURCE)
    return folder


def diff_of(refit, *arguments) -> str:
    done = refit("migrate", *arguments)
    assert done.code == 0, done.err
    return done.out.decode()


@pytest.mark.parametrize(
    ("name", "head"),
    [("refit.toml", ""), ("pyproject.toml", "[project]\nname = 'x'\n\n[tool.refit]\n")],
)
def test_what_a_project_says(refit, tree, name, head):
    (tree / name).write_text(head + "exclude = ['old/']\nignore = ['gelu-*']\n")
    # From a folder below it, as from its own.
    for path in (tree, tree / "package", tree / "package" / "m.py"):
        done = refit("migrate", path)
        assert done.code == 0, done.err
        diff = done.out.decode()
        assert "mindiesd.ext.silu(F.gelu(x))" in diff
        assert "old/m.py" not in diff
        assert f"{name} sets exclude, ignore." in done.err
    assert "old/m.py" in diff_of(refit, tree, "--no-config")


def test_the_command_line_says_more(refit, tree):
    (tree / "refit.toml").write_text("target = 'ascend'\nselect = ['silu-*']\n")
    assert diff_of(refit, tree) == ""  # the published API has no silu
    assert "mindiesd.ext.silu(F.gelu(x))" in diff_of(refit, tree, "--target", "cuda")
    assert "mindiesd.ext.silu(mindiesd.ext.gelu(x))" in diff_of(refit, tree, "--target", "cuda", "--select", "gelu-*")


def test_the_nearest_file_counts_alone(refit, tree):
    (tree / "refit.toml").write_text("select = ['silu-*']\n")
    (tree / "pyproject.toml").write_text("[tool.refit]\nselect = ['no-*']\n")
    (tree / "package" / "pyproject.toml").write_text("[tool.other]\nx = 1\n")
    assert "ext.silu(F.gelu(x))" in diff_of(refit, tree / "package")
    (tree / "package" / "pyproject.toml").write_text("[tool.refit]\nselect = ['gelu-*']\n")
    assert "F.silu(mindiesd.ext.gelu(x))" in diff_of(refit, tree / "package")


def test_nothing_above_the_work_tree_counts(refit, tree):
    (tree.parent / "refit.toml").write_text("select = ['silu-*']\n")
    assert "ext.silu(mindiesd.ext.gelu(x))" in diff_of(refit, tree)


def test_paths_are_seen_from_the_files_folder(refit, tree, tmp_path):
    (tree / "refit.toml").write_text("baseline = 'sites.json'\nrules = ['own']\n")
    (tree / "own").mkdir()
    (tree / "own" / "r.yaml").write_text(
        "rules:\n  - id: own-relu\n    summary: relu becomes silu here\n    subject: activation\n    match:\n      call: torch.nn.functional.relu\n"
        "    rewrites:\n      - target: cuda\n        with: mindiesd.ext.silu($input)\n"
    )
    (tree / "package" / "new.py").write_text("import torch.nn.functional as F\n\n\ndef f(x):\n    return F.relu(x)\n")
    assert refit("migrate", tree / "package" / "m.py", "--no-config", "--quiet", f"--write-baseline={tree}/sites.json").code == 0
    done = refit("migrate", tree / "package", cwd=tmp_path)
    assert done.code == 0, done.err
    assert "mindiesd.ext.silu(x)" in done.out.decode()
    assert "package/m.py" not in done.out.decode()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("taget = 'cuda'", "refit.toml:1:1: `taget` is no option; did you mean `target`?"),
        ("\nquiet = true", "refit.toml:2:1: `quiet` is no option; there are assume, baseline,"),
        ("target = 'rocm'", '`target` must be "cuda" or "ascend"'),
        ("strict = 1", "`strict` must be true or false"),
        ("select = 'x'", "`select` must be a list of texts"),
        ("rules = [3]", "`rules` must be a list of paths"),
        ("baseline = []", "`baseline` must be a path"),
        ("target = ", "refit.toml:1:"),
        ("select = ['no-such-*']", "no-such-*"),
        ("baseline = 'none.json'", "cannot read"),
        ("paths = 3", "`paths` must be a table with one table a glob"),
        ("paths.x = 3", "`x` must be a table"),
        ("[paths.'old/']\ntarget = 'cuda'", "refit.toml:2:1: `target` is no option; there are assume, ignore, select, strict"),
        ("[paths.'old/']\nstrict = false", "`strict` must be true"),
        ("[paths.'old/']\nignore = ['no-such-*']", "no rule matches `no-such-*`, which is for the files `old/`"),
        ("[paths.'old/']\nassume = ['nonsense']", "no rule assumes `nonsense`"),
    ],
)
def test_what_is_wrong(refit, tree, text, says):
    (tree / "refit.toml").write_text(text)
    done = refit("migrate", tree, "--write")
    assert done.code == 2
    assert says in done.err
    assert (tree / "package" / "m.py").read_text() == SOURCE


def test_a_damaged_pyproject_of_others(refit, tree):
    (tree / "pyproject.toml").write_text("[project\n")
    assert "ext.silu" in diff_of(refit, tree)
    (tree / "pyproject.toml").write_text("[project\n[tool.refit]\n")
    assert refit("migrate", tree).code == 2
    (tree / "pyproject.toml").write_text("[tool]\nrefit = 3\n")
    done = refit("migrate", tree)
    assert done.code == 2
    assert "`tool.refit` must be a table" in done.err


def test_explain_reads_it_too(refit, tree):
    (tree / "refit.toml").write_text("ignore = ['silu-*', 'gelu-*']\n")
    place = f"{tree}/package/m.py:5"
    assert "rewritten" not in refit("explain", place).out.decode()
    assert "rewritten" in refit("explain", "--no-config", place).out.decode()


def test_settings_of_a_path(refit, tree):
    (tree / "refit.toml").write_text("[paths.'old/']\nignore = ['gelu-*']\n[paths.'*.py']\nselect = ['gelu-*', 'silu-*']\n")
    diff = diff_of(refit, tree)
    assert "mindiesd.ext.silu(mindiesd.ext.gelu(x))" in diff
    assert "mindiesd.ext.silu(F.gelu(x))" in diff
    (tree / "refit.toml").write_text("[paths.'old/']\nignore = ['gelu-*']\n[paths.'old/m.py']\nignore = ['silu-*']\n")
    assert "old/m.py" not in diff_of(refit, tree)
    # What is left alone there is left alone for good: the new text has nothing more to rewrite.
    (tree / "refit.toml").write_text("[paths.'old/']\nignore = ['gelu-*']\n")
    assert refit("migrate", tree, "--write", "--quiet").code == 0
    assert "ext.silu(F.gelu(x))" in (tree / "old" / "m.py").read_text()
    assert refit("migrate", tree, "--check", "--quiet").code == 0
    (tree / ".git").rmdir()
    subprocess.run(["git", "init", "-q", tree], check=True)
    assert "no rule has a site" in refit("explain", f"{tree}/old/m.py:6").out.decode()


def test_a_part_of_the_tree_is_strict(refit, tree):
    for name in ("package/m.py", "old/m.py"):
        (tree / name).write_text("from torch.nn.functional import scaled_dot_product_attention as sdpa\n\n\ndef f(q, k, v, p):\n    return sdpa(q, k, v, dropout_p=p)\n")
    head = "[paths.'old/']\nstrict = true\n"
    (tree / "refit.toml").write_text(head)
    done = refit("migrate", tree)
    assert "package/m.py" in done.out.decode()
    assert "old/m.py" not in done.out.decode()
    assert "old/m.py:5:12: refused [sdpa-to-attention-forward]" in done.err
    (tree / "refit.toml").write_text(head + "assume = ['dropout-p-0-at-inference']\n")
    assert "old/m.py" in diff_of(refit, tree)
