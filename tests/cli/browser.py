"""A headless Chromium, driven over its DevTools protocol through a pair of pipes. Entry point: Browser.

The protocol: https://chromedevtools.github.io/devtools-protocol/. Over pipes the browser reads from descriptor 3 and
writes to descriptor 4; each message is JSON with a NUL behind it.
"""

import json
import os
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

NAMES = ("chromium-headless-shell", "chrome-headless-shell", "chromium", "chromium-browser", "google-chrome")
# A child's descriptors 3 and 4 may be in use until it runs a program, so that one of its own moves them there.
TO_3_AND_4 = """
import fcntl, os, sys
read, write = (fcntl.fcntl(int(n), fcntl.F_DUPFD, 10) for n in sys.argv[1:3])
os.dup2(read, 3), os.dup2(write, 4)
os.execv(sys.argv[3], sys.argv[3:])
"""


def found() -> str | None:
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Browser:
    def __init__(self, program: str, folder: Path) -> None:
        self.downloads = folder / "downloads"
        self.downloads.mkdir()
        to_read, self.to = os.pipe()
        self.back, to_write = os.pipe()
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                   "--remote-debugging-pipe", "--window-size=1200,3000", f"--user-data-dir={folder / 'profile'}"]  # fmt: skip
        self.process = subprocess.Popen(
            [sys.executable, "-c", TO_3_AND_4, str(to_read), str(to_write), program, *options, "about:blank"],
            pass_fds=(to_read, to_write), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(to_read)
        os.close(to_write)
        self.number = 0
        self.session: str | None = None
        self.buffer = b""
        self.events: list[dict] = []
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for part in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{part}.enable")
        self.ask("Page.setDownloadBehavior", behavior="allow", downloadPath=str(self.downloads))

    def message(self, seconds: float) -> dict:
        deadline = time.monotonic() + seconds
        while b"\0" not in self.buffer:
            left = deadline - time.monotonic()
            ready = select.select([self.back], [], [], max(left, 0))[0]
            assert ready, "the browser said nothing in time"
            got = os.read(self.back, 1 << 20)
            assert got, "the browser has ended"
            self.buffer += got
        text, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(text)

    def ask(self, method: str, **parameters) -> dict:
        self.number += 1
        asked = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            asked["sessionId"] = self.session
        data = json.dumps(asked).encode() + b"\0"
        while data:
            data = data[os.write(self.to, data) :]
        while True:
            message = self.message(30)
            if message.get("id") == self.number:
                assert "error" not in message, f"{method}: {message['error']}"
                return message["result"]
            self.events.append(message)

    def open(self, page: Path) -> None:
        """Loads a page and waits for its load event.

        The answer to Page.navigate comes before the new document is there, and until then the old one answers: its
        readyState tells nothing.
        """
        self.events.clear()
        self.ask("Page.navigate", url=page.as_uri())
        while all(event["method"] != "Page.loadEventFired" for event in self.events):
            self.events.append(self.message(30))

    def run(self, script: str):
        """The value of an expression in the page."""
        done = self.ask("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in done, done["exceptionDetails"]
        return done["result"].get("value")

    def press(self, key: str) -> None:
        for kind in ("keyDown", "keyUp"):
            text = {"text": key} if kind == "keyDown" and len(key) == 1 else {}
            self.ask("Input.dispatchKeyEvent", type=kind, key=key, **text)

    def downloaded(self, name: str) -> bytes:
        path = self.downloads / name
        for _ in range(200):
            if path.exists() and not list(self.downloads.glob("*.crdownload")):
                data = path.read_bytes()
                path.unlink()
                return data
            time.sleep(0.05)
        raise AssertionError(f"{name} was not downloaded")

    def complaints(self) -> list[str]:
        """What the page threw, or was kept from doing, and what it asked the network for."""
        said = []
        for event in self.events:
            method, values = event.get("method"), event.get("params", {})
            if method in ("Runtime.exceptionThrown", "Log.entryAdded"):
                said.append(json.dumps(values))
            if method == "Network.requestWillBeSent" and not values["request"]["url"].startswith(("file:", "blob:")):
                said.append(values["request"]["url"])
        return said

    def close(self) -> None:
        self.process.terminate()
        self.process.wait(20)
        os.close(self.to)
        os.close(self.back)
