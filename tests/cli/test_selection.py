"""A part of the sites: --site, --choose, --baseline, --since."""

import json
import subprocess
from pathlib import Path

import pytest

SOURCE = """\
import torch.nn.functional as F


def first(x):
    return F.gelu(x)


def second(x):
    return F.silu(x)


def attend(q, k, v, **options):
    return F.scaled_dot_product_attention(q, k, v, **options)
"""


@pytest.fixture
def tree(tmp_path) -> Path:
    folder = tmp_path / "tree"
    folder.mkdir()
    (folder / "m.py").write_text(SOURCE)
    return folder


def sites_of(refit, tree: Path, *options: str) -> dict[str, dict]:
    done = refit("migrate", tree, "--quiet", "--report", "json:-", *options)
    assert done.code == 0, done.err
    return {site["rule"]: site for site in json.loads(done.out)["sites"]}


def git(tree: Path, *arguments: str) -> None:
    command = ["git", "-C", tree, "-c", "user.name=a", "-c", "user.email=a@b", *arguments]
    subprocess.run(command, check=True, capture_output=True)


def test_one_site(refit, tree):
    site = sites_of(refit, tree)["silu-function"]
    done = refit("migrate", tree, "--write", "--site", site["fingerprint"])
    assert done.code == 0
    assert "2 sites that were not chosen are not shown" in done.err
    text = (tree / "m.py").read_text()
    assert "mindiesd.ext.silu(x)" in text
    assert "F.gelu(x)" in text
    assert "import torch.nn.functional as F" in text
    assert set(sites_of(refit, tree)) == {"gelu-function", "sdpa-to-attention-forward"}


def test_sites_that_agree_go_together(refit, tree):
    (tree / "m.py").write_text("import torch.nn.functional as F\n\n\ndef f(x):\n    return F.silu(x), F.silu(x)\n")
    site = sites_of(refit, tree)["silu-function"]
    assert refit("migrate", tree, "--write", "--quiet", "--site", site["fingerprint"]).code == 0
    assert "return mindiesd.ext.silu(x), mindiesd.ext.silu(x)" in (tree / "m.py").read_text()


def test_a_file_of_sites(refit, tree, tmp_path):
    chosen = tmp_path / "chosen.json"
    assert refit("migrate", tree, "--quiet", "--write-baseline", chosen, "--select", "gelu-function").code == 0
    assert set(sites_of(refit, tree, "--choose", str(chosen))) == {"gelu-function"}
    silu = sites_of(refit, tree)["silu-function"]["fingerprint"]
    both = sites_of(refit, tree, "--choose", str(chosen), "--site", silu)
    assert set(both) == {"gelu-function", "silu-function"}


def test_a_choice_of_another_tree_writes_nothing(refit, tree, tmp_path):
    chosen = tmp_path / "chosen.json"
    assert refit("migrate", tree, "--quiet", "--write-baseline", chosen).code == 0
    changed = SOURCE.replace("F.silu(x)", "F.silu(x + 1)")
    (tree / "m.py").write_text(changed)
    done = refit("migrate", tree, "--write", "--choose", chosen)
    assert done.code == 2
    assert "1 of the 3 chosen sites are not in this tree" in done.err
    assert (tree / "m.py").read_text() == changed
    assert refit("migrate", tree, "--write", "--site", "0123456789abcdef").code == 2


def test_a_baseline_leaves_what_it_names(refit, tree, tmp_path):
    baseline = tmp_path / "baseline.json"
    assert refit("migrate", tree, "--check", "--write-baseline", baseline).code == 1
    done = refit("migrate", tree, "--check", "--baseline", baseline)
    assert done.code == 0
    assert "gelu" not in done.err
    with (tree / "m.py").open("a") as file:
        file.write("\n\ndef third(x):\n    return F.gelu(x, approximate='tanh')\n")
    done = refit("migrate", tree, "--check", "--baseline", baseline)
    assert done.code == 1
    assert set(sites_of(refit, tree, "--baseline", str(baseline))) == {"gelu-function"}


def test_a_call_stands_for_its_definition(refit, tree):
    (tree / "rope.py").write_text(
        "import torch\n\n\ndef turn(x, cos, sin):\n    a, b = x.chunk(2, dim=-1)\n"
        "    return (x * cos) + (torch.cat((-b, a), dim=-1) * sin)\n\n\ndef use(q, cos, sin):\n    return turn(q, cos, sin)\n"
    )
    done = refit("migrate", tree, "--quiet", "--report", "json:-")
    sites = [s for s in json.loads(done.out)["sites"] if s["file"] == "rope.py"]
    (call,) = [s for s in sites if s["through"]]
    assert refit("migrate", tree, "--write", "--quiet", "--site", call["fingerprint"]).code == 0
    assert "mindiesd.ext.rotary" in (tree / "rope.py").read_text()
    assert (tree / "m.py").read_text() == SOURCE


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "it is no JSON"),
        ("[]", 'it has no "format"'),
        ('{"format": "refit-sites"}', 'its "version" is not 1'),
        ('{"format": "refit-sites", "version": 1, "sites": 3}', '"sites" is no list'),
        ('{"format": "refit-sites", "version": 1, "sites": [{"rule": "x"}]}', 'a site has no "fingerprint"'),
        ('{"format": "refit-sites", "version": 1, "sites": [{"fingerprint": 3}]}', 'a site has no "fingerprint"'),
        (None, "cannot read"),
    ],
)
@pytest.mark.parametrize("option", ["--baseline", "--choose"])
def test_a_damaged_file(refit, tree, tmp_path, option, text, says):
    path = tmp_path / "sites.json"
    if text is not None:
        path.write_text(text)
    done = refit("migrate", tree, "--write", option, path)
    assert done.code == 2
    assert says in done.err
    assert (tree / "m.py").read_text() == SOURCE


def test_lines_that_a_revision_has_not(refit, tree):
    git(tree, "init", "-q")
    git(tree, "add", ".")
    git(tree, "commit", "-qm", "one")
    assert sites_of(refit, tree, "--since", "HEAD") == {}
    (tree / "m.py").write_text(SOURCE.replace("return F.silu(x)", "return F.silu(x)  # changed"))
    (tree / "new.py").write_text("import torch.nn.functional as F\n\n\ndef f(x):\n    return F.gelu(x)\n")
    found = sites_of(refit, tree, "--since", "HEAD")
    assert {rule: site["file"] for rule, site in found.items()} == {"silu-function": "m.py", "gelu-function": "new.py"}
    done = refit("migrate", tree, "--since", "HEAD", "--write", "--quiet")
    assert done.code == 0
    assert "F.gelu(x)" in (tree / "m.py").read_text()
    assert "ext.gelu(x)" in (tree / "new.py").read_text()


def test_lines_of_a_folder_that_git_ignores(refit, tree):
    git(tree, "init", "-q")
    (tree / ".gitignore").write_text("vendored/\n")
    (tree / "vendored").mkdir()
    (tree / "vendored" / "m.py").write_text(SOURCE)
    git(tree, "add", "-f", ".")
    git(tree, "commit", "-qm", "one")
    assert sites_of(refit, tree / "vendored", "--since", "HEAD") == {}
    (tree / "vendored" / "m.py").write_text(SOURCE.replace("return F.silu(x)", "return F.silu(x)  # changed"))
    # git does not know this one, so the revision has none of its lines.
    (tree / "vendored" / "new.py").write_text("import torch.nn.functional as F\n\n\ndef f(x):\n    return F.gelu(x)\n")
    found = sites_of(refit, tree / "vendored", "--since", "HEAD")
    assert {rule: site["file"] for rule, site in found.items()} == {"silu-function": "m.py", "gelu-function": "new.py"}


@pytest.mark.parametrize(("revision", "says"), [("nonsense", "git knows no revision nonsense"), ("HEAD", "git knows no")])
def test_a_revision_that_is_not_there(refit, tree, revision, says):
    git(tree, "init", "-q")
    done = refit("migrate", tree, "--since", revision, "--write")
    assert done.code == 2
    assert says in done.err
    assert (tree / "m.py").read_text() == SOURCE


def test_no_work_tree(refit, tree):
    done = refit("migrate", tree, "--since", "HEAD")
    assert done.code == 2
    assert "--since needs a git work tree" in done.err
