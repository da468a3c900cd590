"""A small client of the Language Server Protocol that drives `refit lsp` over its standard streams."""

import contextlib
import json
import queue
import re
import subprocess
import threading
from pathlib import Path
from typing import Any

WAIT = 120  # seconds


def frame(message: Any) -> bytes:
    body = message if isinstance(message, bytes) else json.dumps(message).encode()
    return b"Content-Length: %d\r\n\r\n" % len(body) + body


def offset_of(text: str, position: dict, encoding: str) -> int:
    """Where a place of the protocol stands in a text, counted in characters."""
    begins = [0] + [m.end() for m in re.finditer(r"\r\n|\n|\r", text)]
    if position["line"] >= len(begins):
        return len(text)
    line = text[begins[position["line"]] :]
    units = "utf-16-le" if encoding == "utf-16" else "utf-8"
    size = position["character"] * (2 if encoding == "utf-16" else 1)
    return begins[position["line"]] + len(line.encode(units)[:size].decode(units))


def applied(text: str, edits: list[dict], encoding: str = "utf-16") -> str:
    places = [
        (offset_of(text, e["range"]["start"], encoding), offset_of(text, e["range"]["end"], encoding), e["newText"])
        for e in edits
    ]
    for begin, end, new in sorted(places, reverse=True):
        text = text[:begin] + new + text[end:]
    return text


class Client:
    def __init__(self, binary: Path, folder: Path | None, *arguments: str, **capabilities: Any) -> None:
        self.process = subprocess.Popen(
            [binary, "lsp", *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        self.messages: queue.Queue[dict | None] = queue.Queue()
        self.seen: list[dict] = []  # notifications that were not asked for yet
        self.number = 0
        self.folder = folder
        self.capabilities = capabilities
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        self.reader.join()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            with contextlib.suppress(OSError):
                stream.close()

    def read(self) -> None:
        while header := self.process.stdout.readline():
            length = int(header.removeprefix(b"Content-Length: "))
            assert self.process.stdout.readline() == b"\r\n"
            self.messages.put(json.loads(self.process.stdout.read(length)))
        self.messages.put(None)

    def write(self, data: bytes) -> None:
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def next(self) -> dict:
        message = self.messages.get(timeout=WAIT)
        assert message is not None, "the server closed its output"
        return message

    def notify(self, method: str, **params: Any) -> None:
        self.write(frame({"jsonrpc": "2.0", "method": method, "params": params}))

    def ask(self, method: str, **params: Any) -> int:
        self.number += 1
        self.write(frame({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}))
        return self.number

    def answer(self, number: int | str | None) -> dict:
        while True:
            message = self.next()
            if "method" not in message and message.get("id") == number:
                return message
            self.seen.append(message)

    def request(self, method: str, **params: Any) -> Any:
        answer = self.answer(self.ask(method, **params))
        assert "error" not in answer, answer
        return answer["result"]

    def error(self, method: str, **params: Any) -> dict:
        return self.answer(self.ask(method, **params))["error"]

    def initialize(self) -> dict:
        folders = None if self.folder is None else [{"uri": self.folder.as_uri(), "name": "tree"}]
        result = self.request("initialize", processId=None, capabilities=self.capabilities, workspaceFolders=folders)
        self.notify("initialized")
        return result

    def open(self, path: Path, text: str, version: int = 1) -> str:
        uri = path.as_uri()
        self.notify(
            "textDocument/didOpen",
            textDocument={"uri": uri, "languageId": "python", "version": version, "text": text},
        )
        return uri

    def change(self, uri: str, version: int, *changes: dict) -> None:
        self.notify(
            "textDocument/didChange", textDocument={"uri": uri, "version": version}, contentChanges=list(changes)
        )

    def wait_for(self, method: str, **params: Any) -> dict:
        """The next notification of the method with these parameters; those before it are forgotten."""
        while True:
            message = self.seen.pop(0) if self.seen else self.next()
            given = message.get("params", {})
            if message.get("method") == method and all(given.get(key) == value for key, value in params.items()):
                return given

    def diagnostics(self, uri: str, version: int = 1) -> list[dict]:
        return self.wait_for("textDocument/publishDiagnostics", uri=uri, version=version)["diagnostics"]

    def reopened(self, uri: str, text: str, version: int = 1000) -> list[dict]:
        self.notify("textDocument/didOpen", textDocument={"uri": uri, "version": version, "text": text})
        return self.diagnostics(uri, version)

    def actions(self, uri: str, line: int, only: list[str] | None = None) -> list[dict]:
        place = {"line": line, "character": 0}
        context = {"diagnostics": []} | ({} if only is None else {"only": only})
        return self.request(
            "textDocument/codeAction", textDocument={"uri": uri}, range={"start": place, "end": place}, context=context
        )

    def close(self) -> int:
        """The exit status after a proper end."""
        assert self.request("shutdown") is None
        self.notify("exit")
        self.process.stdin.close()
        return self.process.wait(timeout=WAIT)
