"""How a step of ./dev speaks, runs a program, and fails. Entry points: say, Stop, run_logged.

Everything ./dev says goes to standard error, so that the standard output of
`./dev migrate` is the tool's alone. A failure the user can act on is a Stop: one sentence, no
trace.
"""

import contextlib
import fcntl
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from devtool import tree


class Stop(Exception):
    """Ends the run with this sentence and this exit status."""

    def __init__(self, sentence: str, status: int = 2):
        super().__init__(sentence)
        self.status = status


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


class Stopwatch:
    """How long the parts of a run took."""

    def __init__(self) -> None:
        self._last = time.monotonic()
        self._laps: list[str] = []

    def lap(self, name: str) -> None:
        now = time.monotonic()
        self._laps.append(f"{name} {now - self._last:.0f} s")
        self._last = now

    def line(self) -> str:
        return "times: " + ", ".join(self._laps)


def telling_line(text: str, marks: Sequence[str]) -> str:
    """The first line that starts with one of `marks`, with the line after it when it only
    announces that one; or else the last line that is not blank."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    for line, following in zip(lines, [*lines[1:], ""]):
        if line.startswith(tuple(marks)):
            return f"{line} {following}".strip() if line.endswith(":") else line
    return lines[-1] if lines else "it printed nothing"


def run_logged(
    command: Sequence[str | Path],
    failure: str,
    log: Path = tree.SETUP_LOG,
    marks: Sequence[str] = ("E:", "ERROR:", "CMake Error", "error:"),
    env: dict[str, str] | None = None,
) -> None:
    """Runs a program with its output appended to `log`. When it fails, raises a Stop made of
    `failure`, the log's path and the line of the output that tells most."""
    log.parent.mkdir(parents=True, exist_ok=True)
    shown_command = " ".join(str(part) for part in command)
    with log.open("ab") as out:
        out.write(f"\n$ {shown_command}\n".encode())
        out.flush()
        start = out.tell()
        try:
            status = subprocess.run(
                [str(part) for part in command],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                env={**os.environ, **(env or {})},
                check=False,
            ).returncode
        except OSError as error:
            raise Stop(f"{failure}: {command[0]} could not be started ({error.strerror}).") from None
    if status:
        with log.open("rb") as written:
            written.seek(start)
            output = written.read().decode(errors="replace")
        line = telling_line(output, marks)
        raise Stop(f"{failure} (whole log: {tree.shown(log)}): {line}")


@contextlib.contextmanager
def alone_in_tree() -> Iterator[None]:
    """Holds the tree's lock: two runs of ./dev must not set up or build one tree at once."""
    tree.CACHE.mkdir(exist_ok=True)
    with (tree.CACHE / "dev.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("waiting for another ./dev that is at work in this tree")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
