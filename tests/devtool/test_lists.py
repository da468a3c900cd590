"""The data that set-up reads: every requirement is pinned and hashed, every list is sorted."""

import re

import pytest
from devtool import debian, sources, tree

SETS = sorted(path.stem for path in tree.REQUIREMENTS.glob("*.txt"))


@pytest.mark.parametrize("name", SETS)
def test_every_requirement_has_one_version_and_a_hash(name):
    text = (tree.REQUIREMENTS / f"{name}.txt").read_text().replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    assert lines
    for line in lines:
        assert re.fullmatch(r"[a-z0-9-]+==[\w.+]+( +--hash=sha256:[0-9a-f]{64})+", line), line


@pytest.mark.parametrize("asked", sorted(tree.REQUIREMENTS.glob("*.in")), ids=lambda p: p.stem)
def test_every_set_holds_what_its_input_asks_for(asked):
    text = asked.read_text()
    left_out = re.findall(r"^#- (\S+)$", text, re.M)
    locked = dict(re.findall(r"^(\S+)(==\S+)", asked.with_suffix(".txt").read_text(), re.M))
    for package, version in re.findall(r"^([a-z0-9-]+)(==[\w.]+)?$", text, re.M):
        if package not in left_out:
            assert locked[package].startswith(version or "==")


@pytest.mark.parametrize("group", sorted(path.stem for path in tree.PACKAGES.glob("*.txt")))
def test_package_lists_name_each_package_once_in_order(group):
    names = debian.listed(group.removeprefix("debian-"))
    assert names and names == sorted(set(names))
    assert all(re.fullmatch(r"[a-z0-9][a-z0-9.+-]+", name) for name in names)


def test_a_browser_is_installed_where_it_is_a_package():
    assert set(debian.wanted(["test", "browser"], 'ID=debian\nVERSION_ID="12"\n')) == {*debian.listed("test"), *debian.listed("browser")}
    for other in ("ID=ubuntu\n", 'ID="ubuntu"\n', ""):
        assert debian.wanted(["test", "browser"], other) == debian.listed("test")


def test_folders_are_those_the_archives_hold():
    assert sorted(sources.folders()) == [
        "tree_sitter-0.26.1", "tree_sitter_python-0.23.6", "tree_sitter_python-0.25.0",
    ]  # fmt: skip
    assert all((tree.DEPS / folder).is_dir() for folder in sources.folders())
