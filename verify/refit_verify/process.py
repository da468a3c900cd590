"""A worker process under a limit of time. Entry point: `Process`."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time

_FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_START = (
    "import sys; sys.path[:] = [sys.argv[1], *filter(None, sys.path)]; "
    "from refit_verify import worker; worker.main(sys.argv[2])"
)
# What is compared is the code as it is written: not what a compiler makes of it, on the CPU, and
# with nothing fetched.
_ENVIRONMENT = {
    "TORCHDYNAMO_DISABLE": "1",
    "PYTORCH_JIT": "0",
    "CUDA_VISIBLE_DEVICES": "",
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONHASHSEED": "0",
}


class TookTooLong(Exception):
    pass


class Crashed(Exception):
    pass


class Process:
    """One version's process, started when it is first asked and again after it has ended."""

    def __init__(self, job_path: str):
        self._job_path = job_path
        self._process: subprocess.Popen | None = None

    def ask(self, seconds: float, what: str, *arguments) -> dict:
        """The reply to a request. Raises TookTooLong and Crashed, after which the process is gone."""
        self.start()
        try:
            self._send({"do": what, "with": arguments})
            line = self._reply(time.monotonic() + seconds)
        except TookTooLong:
            self.end()
            raise
        except BrokenPipeError:
            line = b""
        if not line.endswith(b"\n"):
            raise Crashed(self._ending())
        return json.loads(line)

    def start(self) -> None:
        """Starts the process, unless it runs: importing torch takes seconds."""
        if self._process is not None:
            return
        # The current folder, which -c puts on the path as "", may be anyone's.
        self._process = subprocess.Popen(
            [sys.executable, "-c", _START, _FOLDER, self._job_path],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            env={**os.environ, **_ENVIRONMENT}, start_new_session=True,
        )  # fmt: skip

    def _send(self, request: dict) -> None:
        self._process.stdin.write((json.dumps(request) + "\n").encode())
        self._process.stdin.flush()

    def _reply(self, until: float) -> bytes:
        descriptor, line = self._process.stdout.fileno(), b""
        while not line.endswith(b"\n"):
            left = until - time.monotonic()
            if left <= 0 or not select.select([descriptor], [], [], left)[0]:
                raise TookTooLong
            part = os.read(descriptor, 65536)
            if not part:
                break
            line += part
        return line

    def _ending(self) -> str:
        code = self._process.wait()
        self.end()
        if code < 0:
            with contextlib.suppress(ValueError):
                return f"ended by {signal.Signals(-code).name}"
        return f"ended with status {code}"

    def end(self) -> None:
        """Ends the process and all that it started."""
        if self._process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._process.stdin.close()
        self._process.stdout.close()
        self._process = None
