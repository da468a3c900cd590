"""Where things lie in this tree. Every path that set-up or a build writes is inside it."""

import hashlib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

BUILD = ROOT / "build"
LOGS = BUILD / "log"
SETUP_LOG = LOGS / "setup.log"
REFIT = BUILD / "bin" / "refit"
LIBRARY = BUILD / "lib" / "libmindiesd.so"

CACHE = ROOT / ".cache"
DEPS = ROOT / ".deps"
VENV = ROOT / ".venv"

PACKAGES = ROOT / "scripts" / "packages"
REQUIREMENTS = ROOT / "scripts" / "requirements"


def shown(path: Path) -> str:
    """`path` as a reader who stands in the tree would type it."""
    try:
        return str(path.relative_to(ROOT))
    except ValueError:
        return str(path)


def digest(*parts: bytes | str) -> str:
    """One SHA-256 over all parts, with their boundaries."""
    total = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        total.update(len(data).to_bytes(8, "little"))
        total.update(data)
    return total.hexdigest()
