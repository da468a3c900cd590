"""When clang-tidy is started again for a file, and what of the tree is looked at at all."""

import json
import subprocess

import pytest
from devtool import lint, tree


@pytest.fixture
def project(sandbox, monkeypatch):
    """One translation unit with one header, and a clang-tidy that objects to the word `bad`."""
    root = sandbox.root
    (root / "rewriter").mkdir()
    (root / "rewriter" / "a.cpp").write_text('#include "a.hpp"\n')
    (root / "rewriter" / "a.hpp").write_text("int a();\n")
    (root / ".clang-tidy").write_text("Checks: '*'\n")
    (root / "build").mkdir()
    command = {
        "file": str(root / "rewriter" / "a.cpp"),
        "command": "c++ -o a.o -c a.cpp", "directory": str(root / "build"),
    }  # fmt: skip
    (root / "build" / "compile_commands.json").write_text(json.dumps([command]))
    sandbox.tool(
        "ninja", f"echo 'a.o: #deps 3'; echo '    ../rewriter/a.cpp'; echo '    ../rewriter/a.hpp'; "
        "echo '    /usr/include/stdio.h'; echo",
    )  # fmt: skip
    sandbox.tool(
        lint.CLANG_TIDY,
        f'[ "$1" = --version ] && {{ echo 19; exit; }}; echo run >> {root}/runs\n'
        f'case "$(cat {root}/rewriter/*)" in *bad*) echo "a.cpp:1: bad"; exit 1;; esac',
    )
    monkeypatch.setenv("PATH", str(sandbox.bin))
    monkeypatch.setattr(tree, "ROOT", root)
    monkeypatch.setattr(tree, "BUILD", root / "build")
    monkeypatch.setattr(lint, "CLEAN", root / ".cache" / "clang-tidy")
    return root


def runs(root):
    return len((root / "runs").read_text().splitlines())


def test_a_clean_file_is_looked_at_once(project):
    assert lint.tidy_complaints() == [] == lint.tidy_complaints()
    assert runs(project) == 1


@pytest.mark.parametrize("changed", ["rewriter/a.cpp", "rewriter/a.hpp", ".clang-tidy"])
def test_a_change_makes_it_be_looked_at_again(project, changed):
    lint.tidy_complaints()
    with (project / changed).open("a") as file:
        file.write("# more\n")
    lint.tidy_complaints()
    assert runs(project) == 2


def test_a_file_with_findings_is_reported_every_time(project):
    (project / "rewriter" / "a.hpp").write_text("int bad();\n")
    assert lint.tidy_complaints() == ["a.cpp:1: bad"] == lint.tidy_complaints()


def test_new_files_are_formatted_too_and_ignored_ones_are_not(project):
    subprocess.run(["git", "init", "-q", project], check=True)
    (project / ".gitignore").write_text("made.cpp\n")
    (project / "rewriter" / "made.cpp").touch()
    (project / "rewriter" / "notes.txt").touch()
    assert [path.name for path in lint.sources()] == ["a.cpp", "a.hpp"]


def test_a_format_finding_names_the_file_and_the_command(project, sandbox):
    name = project / "rewriter" / "a.cpp"
    sandbox.tool(
        lint.CLANG_FORMAT,
        f"echo '{name}:1:2: warning: code should be clang-formatted [-Wclang-format-violations]' >&2",
    )
    assert lint.format_complaints() == ["rewriter/a.cpp is not formatted; run ./dev fmt"]
