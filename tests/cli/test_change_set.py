"""One run is one change set: the built tool is killed at drawn moments, and meets full disks, small
limits, access control lists and files that are not to be written."""

import os
import random
import resource
import signal
import struct
import subprocess
import time
from pathlib import Path

import pytest

# A small number in every run of the tests; docs/reliability.md has the figures of a large one.
KILLS = int(os.environ.get("REFIT_KILLS", "12"))
FILES = 40
ACCESS_LIST = "system.posix_acl_access"


def fill(tree: Path, text: bytes) -> list[Path]:
    files = [tree / f"part{i % 4}" / f"model{i}.py" for i in range(FILES)]
    for file in files:
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(text)
    return files


def state(files: list[Path], old: bytes) -> str:
    texts = {file.read_bytes() for file in files}
    if len(texts) != 1:
        return "mixed"
    return "old" if texts == {old} else "new"


def names(tree: Path) -> list[str]:
    return sorted(str(path.relative_to(tree)) for path in tree.rglob("*") if path.is_file())


@pytest.mark.parametrize("git", [True, False], ids=["git", "plain"])
def test_a_killed_run_leaves_no_mixed_tree(refit, binary, tree, source, git):
    old = source()
    files = fill(tree, old)
    if git:
        subprocess.run(["git", "init", "-q", tree], check=True)
    before = names(tree)
    in_tree = [name for name in before if not name.startswith(".git/")]
    start = time.monotonic()
    assert refit("migrate", tree, "--write", "--quiet").code == 0
    longest = time.monotonic() - start
    new = files[0].read_bytes()
    assert state(files, old) == "new"
    draw = random.Random(20)
    found = {"old": 0, "new": 0, "mixed": 0, "said": 0}
    for _ in range(KILLS):
        assert refit("undo", tree).code == 0
        assert names(tree) == before
        run = subprocess.Popen(
            [binary, "migrate", tree, "--write", "--quiet"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        time.sleep(draw.uniform(0.2, 1.2) * longest)
        run.send_signal(signal.SIGKILL)
        run.wait()
        found[state(files, old)] += 1
        next_run = refit("migrate", tree, "--check", "--quiet")
        assert state(files, old) in ("old", "new")
        assert next_run.code == (1 if state(files, old) == "old" else 0)
        found["said"] += "An earlier run was killed" in next_run.err
        assert [name for name in names(tree) if not name.startswith(".git/")] == in_tree
        assert refit("migrate", tree, "--write", "--quiet").code == 0
        assert {file.read_bytes() for file in files} == {new}
    print(f"{KILLS} kills: {found}")


def test_a_full_disk_or_a_limit_leaves_every_file_old(refit, tree, source):
    old = source(head=b"# " + b"x" * 3000 + b"\n")
    files = fill(tree, old)
    before = names(tree)

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))

    done = refit("migrate", tree, "--write", "--quiet", preexec_fn=limit)
    assert done.code == 6, done.err
    assert "File too large; every file is as it was" in done.err
    assert state(files, old) == "old"
    assert names(tree) == before


def test_a_report_beyond_a_limit_is_an_error(refit, tree, source):
    fill(tree, source())

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))

    done = refit("migrate", tree, f"--report=json:{tree}/r.json", "--quiet", preexec_fn=limit)
    assert done.code == 6, done.err
    assert "cannot write the report" in done.err


def test_a_closed_pipe_is_no_end(binary, tree, source):
    files = fill(tree, source())
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run([binary, "migrate", tree, "--write", "--diff"], stdout=write, stderr=write)
    os.close(write)
    assert done.returncode == 0
    assert state(files, source()) == "new"


def test_a_file_marked_read_only_stays_for_root_too(refit, tree, source):
    files = fill(tree, source())
    files[3].chmod(0o444)
    done = refit("migrate", tree, "--write", "--quiet")
    assert done.code == 6
    assert "may not be written" in done.err
    assert files[3].read_bytes() == source()
    files[3].chmod(0o644)
    assert state([file for file in files if file != files[3]], source()) == "new"


def access_list(path: Path) -> bytes:
    """owner rw-, a named user r--, group r--, mask rw-, others r--."""
    entries = [(1, 6, 0xFFFFFFFF), (2, 4, 12345), (4, 4, 0xFFFFFFFF), (16, 6, 0xFFFFFFFF),
               (32, 4, 0xFFFFFFFF)]  # fmt: skip
    value = struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)
    try:
        os.setxattr(path, ACCESS_LIST, value)
    except OSError as error:
        pytest.skip(f"the temporary folder's file system has no access control lists: {error}")
    return value


def test_access_control_lists_and_attributes_stay(refit, tree, source):
    file = tree / "model.py"
    file.write_bytes(source())
    value = access_list(file)
    os.setxattr(file, "user.origin", b"here")
    mode = file.stat().st_mode
    assert refit("migrate", tree, "--write", "--quiet").code == 0
    assert file.read_bytes() != source()
    assert os.getxattr(file, ACCESS_LIST) == value
    assert os.getxattr(file, "user.origin") == b"here"
    assert file.stat().st_mode == mode


def test_a_folders_default_list_is_not_given_to_its_files(refit, tree, source):
    file = tree / "model.py"
    file.write_bytes(source())
    probe = tree / "probe"
    probe.touch()
    os.setxattr(tree, "system.posix_acl_default", access_list(probe))
    mode = file.stat().st_mode
    assert refit("migrate", tree, "--write", "--quiet").code == 0
    assert file.read_bytes() != source()
    assert ACCESS_LIST not in os.listxattr(file)
    assert file.stat().st_mode == mode


def test_hard_links_are_said(refit, tree, source):
    file = tree / "model.py"
    file.write_bytes(source())
    os.link(file, tree / "other_name")
    done = refit("migrate", tree, "--write")
    assert "model.py: the file has 2 hard links; the other names keep the old text" in done.err
    assert (tree / "other_name").read_bytes() == source()


def test_a_linked_work_tree_has_a_journal_of_its_own(refit, tree, source):
    def git(*words):
        subprocess.run(
            ["git", "-c", "user.name=a", "-c", "user.email=a@b", *words], cwd=tree, check=True,
            capture_output=True,
        )  # fmt: skip

    git("init", "-q")
    (tree / "model.py").write_bytes(source())
    git("add", "model.py")
    git("commit", "-qm", "x")
    git("worktree", "add", "../linked")
    linked = tree.parent / "linked"
    assert refit("migrate", linked, "--write", "--quiet").code == 0
    assert (tree / ".git" / "worktrees" / "linked" / "refit" / "done").exists()
    assert "no run to take back" in refit("undo", tree).err
    assert refit("undo", linked).code == 0
    assert (linked / "model.py").read_bytes() == source()


def test_two_runs_at_once_do_not_meet(binary, refit, tree, source):
    files = fill(tree, source())
    runs = [
        subprocess.Popen([binary, "migrate", tree, "--write", "--quiet"], stderr=subprocess.PIPE)
        for _ in range(4)
    ]
    for run in runs:
        run.communicate(timeout=60)
    assert state(files, source()) == "new"
    assert refit("undo", tree).code == 0
    assert state(files, source()) == "old"


def test_changes_that_are_not_committed(refit, tree, source):
    """A warning in front of what is written, where git could not tell the two apart."""

    def git(*arguments: str) -> None:
        command = ["git", "-C", tree, "-c", "user.name=a", "-c", "user.email=a@b", *arguments]
        subprocess.run(command, check=True, capture_output=True)

    def written(*options: str) -> str:
        done = refit("migrate", tree, "--write", *options)
        assert done.code == 0
        assert refit("undo", tree).code == 0
        return done.err

    names = ("clean.py", "staged.py", "changed.py")
    for name in names:
        (tree / name).write_bytes(source())
    assert "warning" not in written()  # no work tree
    git("init", "-q")
    assert "warning: 3 files that are rewritten have changes that are not committed, changed.py for one" in written()
    git("add", ".")
    git("commit", "-qm", "one")
    assert "warning" not in written()
    (tree / "notes.py").write_text("x = 1\n")  # is not rewritten
    for name in ("staged.py", "changed.py"):
        (tree / name).write_bytes(source(head=b"# more\n"))
    git("add", "staged.py")
    said = written()
    assert said.startswith("warning: 2 files that are rewritten have changes that are not committed, changed.py for one; commit")
    git("commit", "-qm", "two")
    assert "warning: 1 file that is rewritten has changes that are not committed, changed.py" in written()
    assert "warning" not in written("--quiet")
    assert "warning" not in refit("migrate", tree).err


def test_changes_that_are_not_committed_below_the_top(refit, tree, source):
    """Git's names of files begin at the work tree's top, whatever PATH is given, and the report's at the run's root."""

    def git(*arguments: str) -> None:
        command = ["git", "-C", tree, "-c", "user.name=a", "-c", "user.email=a@b", *arguments]
        subprocess.run(command, check=True, capture_output=True)

    def warning(path: str) -> str:
        done = refit("migrate", tree / path, "--write")
        assert done.code == 0
        assert refit("undo", tree / path).code == 0  # it had written something
        first = done.err.splitlines()[0]
        return first if first.startswith("warning") else ""

    git("init", "-q")
    for name in ("src/model.py", "src/deep/model.py", "kept/model.py", "kept/deep/model.py"):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_bytes(source())
    git("add", ".")
    git("commit", "-qm", "one")
    (tree / ".gitignore").write_text("kept\n")
    for path in ("src", "src/deep", "kept", "kept/deep", "kept/model.py"):
        assert warning(path) == ""
    for name in ("src/deep/model.py", "kept/deep/model.py"):
        (tree / name).write_bytes(source(head=b"# more\n"))
    one = "warning: 1 file that is rewritten has changes that are not committed, {} for one; commit first to see the two apart"
    assert warning("src") == one.format("src/deep/model.py")
    assert warning("src/deep") == one.format("src/deep/model.py")
    # Tracked in a folder that git ignores, which is then the run's root.
    assert warning("kept") == one.format("deep/model.py")
    assert warning("kept/deep") == one.format("model.py")
    assert warning("kept/deep/model.py") == one.format("model.py")
    assert warning("kept/model.py") == ""
    (tree / "kept" / "untracked.py").write_bytes(source())  # as git status, nothing of ignored files
    assert warning("kept") == one.format("deep/model.py")


def test_changes_that_are_not_committed_in_several_work_trees(refit, tree, source):
    """A folder that is no work tree and holds two."""

    def written(path: Path) -> str:
        done = refit("migrate", path, "--write")
        assert done.code == 0, done.err
        assert refit("undo", path).code == 0
        return done.err

    for name in ("one", "two"):
        (tree / name / "src").mkdir(parents=True)
        (tree / name / "src" / "model.py").write_bytes(source())
        command = ["git", "-C", tree / name, "-c", "user.name=a", "-c", "user.email=a@b"]
        for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "one"]):
            subprocess.run([*command, *words], check=True, capture_output=True)
    assert "warning" not in written(tree)
    (tree / "two" / "src" / "model.py").write_bytes(source(head=b"# more\n"))
    one = "warning: 1 file that is rewritten has changes that are not committed, {} for one"
    assert one.format("two/src/model.py") in written(tree)
    (tree / "one" / "src" / "model.py").write_bytes(source(head=b"# more\n"))
    assert "warning: 2 files that are rewritten have changes that are not committed, one/src/model.py for one" in written(tree)
