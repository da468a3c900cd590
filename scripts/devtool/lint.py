"""clang-format and clang-tidy over the project's own C and C++. Entry points: fmt, check.

clang-tidy takes seconds a file, so a file that was found clean is not looked at again until it,
a project header that it includes, its compile command, .clang-tidy or clang-tidy itself changes.
"""

import concurrent.futures
import json
import os
import re
import subprocess
from pathlib import Path

from devtool import tree
from devtool.steps import say

CLANG_FORMAT = "clang-format-19"
CLANG_TIDY = "clang-tidy-19"
PARTS = ("rewriter", "kernels", "runtime", "tests", "bench", "cmake")
FORMATTED = {".c", ".cc", ".cpp", ".cu", ".cuh", ".h", ".hpp"}
CLEAN = tree.CACHE / "clang-tidy"


def sources() -> list[Path]:
    """The project's own C, C++ and CUDA files, committed or not."""
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *PARTS],
        cwd=tree.ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if listing.returncode == 0:
        files = [tree.ROOT / name for name in listing.stdout.split("\0") if name]
    else:
        files = [path for part in PARTS for path in (tree.ROOT / part).rglob("*")]
    return sorted(path for path in files if path.suffix in FORMATTED and path.is_file())


def fmt() -> int:
    files = sources()
    if files:
        subprocess.run([CLANG_FORMAT, "-i", *files], cwd=tree.ROOT, check=True)
    return 0


def format_complaints() -> list[str]:
    """One line for each file that ./dev fmt would change."""
    files = sources()
    if not files:
        return []
    run = subprocess.run(
        [CLANG_FORMAT, "--dry-run", *files], cwd=tree.ROOT, capture_output=True, text=True, check=True
    )
    changed = re.findall(r"^(.+?):\d+:\d+: warning: .*-Wclang-format", run.stderr, re.MULTILINE)
    return [
        f"{tree.shown(Path(name))} is not formatted; run ./dev fmt" for name in sorted(set(changed))
    ]


def _project_inputs() -> dict[str, list[Path]]:
    """For each object file of the build, the project's files it was compiled from."""
    listing = subprocess.run(
        ["ninja", "-C", tree.BUILD, "-t", "deps"], capture_output=True, text=True, check=True
    ).stdout
    inputs: dict[str, list[Path]] = {}
    for block in listing.split("\n\n"):
        head, *rest = block.splitlines() or [""]
        paths = (tree.BUILD / line.strip() for line in rest)
        inside = (Path(os.path.normpath(path)) for path in paths)
        inputs[head.split(":")[0]] = [path for path in inside if _is_ours(path)]
    return inputs


def _object(command: dict[str, str]) -> str:
    found = re.search(r" -o (\S+)", command["command"])
    return found[1] if found else ""


def _is_ours(path: Path) -> bool:
    return path.is_relative_to(tree.ROOT) and path.relative_to(tree.ROOT).parts[0] in PARTS


def _tidy(command: dict[str, str], inputs: list[Path] | None, common: str) -> str:
    """What clang-tidy says of one file; empty when it is clean."""
    file = Path(command["file"])
    texts = [path.read_bytes() for path in sorted(inputs or []) if path.exists()]
    key = tree.digest(common, command["command"], str(file), file.read_bytes(), *texts)
    mark = CLEAN / key
    # Without the compiler's list of headers, nothing tells whether the file is as it was.
    if inputs is not None and mark.exists():
        mark.touch()
        return ""
    run = subprocess.run(
        [CLANG_TIDY, "-p", CLEAN, "--quiet", "--extra-arg=-Wno-error",
         "--extra-arg=-Wno-unknown-warning-option", file],
        cwd=tree.ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if run.returncode or run.stdout.strip():
        return run.stdout.strip() or run.stderr.strip()
    if inputs is not None:
        mark.touch()
    return ""


def tidy_complaints() -> list[str]:
    """What clang-tidy says of every file of the build, one text for each file with findings."""
    try:
        commands = json.loads((tree.BUILD / "compile_commands.json").read_text())
    except FileNotFoundError:  # CMake writes none for a build that compiles nothing.
        return []
    # A file that is compiled several times with different flags is looked at once.
    # What nvcc compiles has options that clang does not know.
    ours = {
        c["file"]: c
        for c in reversed(commands)
        if _is_ours(Path(c["file"])) and Path(c["file"]).suffix != ".cu"
    }
    inputs = _project_inputs()
    version = subprocess.run([CLANG_TIDY, "--version"], capture_output=True, text=True, check=True)
    common = version.stdout + (tree.ROOT / ".clang-tidy").read_text()
    CLEAN.mkdir(parents=True, exist_ok=True)
    (CLEAN / "compile_commands.json").write_text(json.dumps(list(ours.values())))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        texts = pool.map(
            lambda command: _tidy(command, inputs.get(_object(command)), common),
            sorted(ours.values(), key=lambda command: command["file"]),
        )
        return [text for text in texts if text]


def check() -> list[str]:
    """All complaints; the tree must be built, for clang-tidy reads its compile commands."""
    say("lint: clang-format")
    complaints = format_complaints()
    say("lint: clang-tidy (a first run looks at every file, later ones at what changed)")
    return complaints + tidy_complaints()
