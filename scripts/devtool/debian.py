"""Debian packages: which are missing, and their installation. Entry point: ensure.

The lists are scripts/packages/debian-*.txt. Nothing is installed that they do not name, and
nothing is asked of apt when dpkg says that all is there.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from devtool import tree
from devtool.steps import Stop, run_logged, say

# The oldest releases that the lists and the compiler's version are known to fit.
OLDEST = {"debian": (12,), "ubuntu": (24, 4)}


# Lists of what Debian alone has; elsewhere the tests that need it are skipped.
DEBIAN_ALONE = {"browser"}


def listed(group: str) -> list[str]:
    lines = (tree.PACKAGES / f"debian-{group}.txt").read_text().splitlines()
    return [line.strip() for line in lines if line.strip() and not line.startswith("#")]


def missing(packages: Iterable[str]) -> list[str]:
    packages = list(packages)
    query = subprocess.run(
        ["dpkg-query", "--show", "--showformat=${db:Status-Abbrev} ${Package}\n", *packages],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        check=False,
    )
    rows = (line.split() for line in query.stdout.splitlines())
    installed = {row[1] for row in rows if row[0] == "ii"}
    return [name for name in packages if name not in installed]


def as_root() -> list[str] | None:
    """What to put before a command that needs root; None when there is no way to become root."""
    if os.geteuid() == 0:
        return []
    if not shutil.which("sudo"):
        return None
    silent = subprocess.run(
        ["sudo", "-n", "true"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
    )
    return ["sudo"] if silent.returncode == 0 or sys.stdin.isatty() else None


def release(os_release: str) -> dict[str, str]:
    """What a text of /etc/os-release says, by its names."""
    return dict(line.split("=", 1) for line in os_release.splitlines() if "=" in line)


def wanted(groups: Iterable[str], os_release: str) -> list[str]:
    """The packages of the named lists that a system with this /etc/os-release has."""
    debian = release(os_release).get("ID", "").strip('"') == "debian"
    return [name for group in groups if debian or group not in DEBIAN_ALONE for name in listed(group)]


def release_warning(os_release: str) -> str | None:
    """A warning when this text of /etc/os-release is of a system nobody tried."""
    fields = release(os_release)
    system = fields.get("ID", "").strip('"')
    version = fields.get("VERSION_ID", "").strip('"')
    oldest = OLDEST.get(system)
    numbers = tuple(int(part) for part in version.split(".") if part.isdigit())
    if oldest and numbers >= oldest:
        return None
    name = fields.get("PRETTY_NAME", "this system").strip('"')
    return f"warning: {name} is neither Debian 12 nor Ubuntu 24.04 nor newer; trying all the same"


def ensure(groups: Iterable[str]) -> None:
    """Installs what the named lists hold and dpkg does not have."""
    try:
        os_release = Path("/etc/os-release").read_text(encoding="utf-8")
    except OSError:
        os_release = ""
    names = wanted(groups, os_release)
    if not shutil.which("dpkg-query") or not shutil.which("apt-get"):
        say(
            "warning: this system has no apt-get, so nothing was installed; "
            f"the build needs what Debian calls {' '.join(names)}"
        )
        return
    absent = missing(names)
    if not absent:
        return
    warning = release_warning(os_release) if os_release else None
    if warning:
        say(warning)
    prefix = as_root()
    if prefix is None:
        raise Stop(
            "Debian packages are missing and neither root nor sudo is at hand; have somebody run: "
            f"apt-get install {' '.join(absent)}"
        )
    say(f"setup: installing {len(absent)} Debian packages ({' '.join(absent)})")
    environment = [*prefix, "env", "DEBIAN_FRONTEND=noninteractive"]
    options = ["-o", "DPkg::Lock::Timeout=300"]
    run_logged(
        [*environment, "apt-get", *options, "update"],
        "apt-get update failed, so Debian packages cannot be installed; is there a network?",
    )
    run_logged(
        [*environment, "apt-get", *options, "install", "--yes", "--no-install-recommends", *absent],
        "apt-get could not install Debian packages",
    )
