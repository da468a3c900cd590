"""What was measured, in memory and on disk. Entry points: ``recall``, ``remember``, ``folder``.

One JSON file for each device under ``$XDG_CACHE_HOME/mindiesd`` (``~/.cache/mindiesd``), which names
the versions that it holds for. Writers merge what is there under a lock and replace the file whole, so
a reader sees the old or the new one, never half of one. A file that is damaged or of other versions
counts as empty and is written anew. MINDIESD_CACHE=off keeps everything in memory.
"""

import contextlib
import fcntl
import json
import os
import re
import tempfile
import threading
from pathlib import Path

import torch

from . import _library
from .utils import logger

_FORMAT = 1
_lock = threading.Lock()
_known = {}  # device: {key: {"backend": name, "seconds": {name: seconds}}}


def folder():
    base = os.environ.get("XDG_CACHE_HOME")
    if not base or not os.path.isabs(base):  # the specification has relative paths ignored
        base = Path.home() / ".cache"
    return Path(base) / "mindiesd"


def versions(device):
    """What a measurement depends on beside the problem."""
    from ._backends import device_text

    found = {"device": device_text(device), "library": _library.version, "torch": torch.__version__}
    if device.type == "cuda":
        found["cuda"] = str(torch.version.cuda)
        found["cudnn"] = str(torch.backends.cudnn.version())
        found["driver"] = _driver()
    return found


def _driver():
    try:
        text = Path("/proc/driver/nvidia/version").read_text()
    except OSError:
        return "unknown"
    match = re.search(r"\b\d+\.\d+(\.\d+)?\b", text)
    return match[0] if match else "unknown"


def path(device):
    slug = re.sub(r"[^A-Za-z0-9.]+", "-", versions(device)["device"]).strip("-")
    return folder() / f"attention-{slug}.json"


def _off():
    return os.environ.get("MINDIESD_CACHE", "").lower() in ("off", "0", "no")


def _damaged(file, what):
    logger.warning("%s is ignored and will be written anew: %s", file, what)
    return {}


def _read(device):
    file = path(device)
    try:
        content = json.loads(file.read_text())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        return _damaged(file, error)
    if not isinstance(content, dict) or not isinstance(content.get("entries"), dict):
        return _damaged(file, "it does not hold what this package writes")
    if content.get("format") != _FORMAT or content.get("versions") != versions(device):
        return {}  # of another version: not damage, just of no use here
    entries = {}
    for key, entry in content["entries"].items():
        if not isinstance(entry, dict) or not isinstance(entry.get("backend"), str):
            return _damaged(file, f"the entry {key!r} names no back end")
        entries[key] = entry
    return entries


def entries(device):
    """All that is known for a device: {key: {"backend", "seconds"}}."""
    with _lock:
        if device not in _known:
            _known[device] = {} if _off() else _read(device)
        return _known[device]


def recall(device, key):
    """The name of the fastest back end, or None."""
    entry = entries(device).get(key)
    return None if entry is None else entry["backend"]


@contextlib.contextmanager
def _locked(place):
    """Holds the lock of the folder among processes."""
    with open(place / ".lock", "a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def remember(device, key, backend, seconds):
    """Keeps a measurement. A disk that cannot be written costs the next process a measurement."""
    entry = {"backend": backend, "seconds": seconds}
    entries(device)[key] = entry
    if _off():
        return
    file = path(device)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with _locked(file.parent):
            merged = {**_read(device), key: entry}
            content = {"format": _FORMAT, "versions": versions(device), "entries": merged}
            _replace(file, json.dumps(content, indent=1, sort_keys=True))
    except OSError as error:
        logger.warning("%s cannot be written: %s", file, error)
        return
    with _lock:
        _known[device] = {**merged, **_known[device]}


def _replace(file, text):
    handle, temporary = tempfile.mkstemp(dir=file.parent, prefix=file.name, suffix=".tmp")
    try:
        with open(handle, "w") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, file)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def forget():
    """Drops what is in memory; the disk keeps it."""
    with _lock:
        _known.clear()
