"""Judges what a migrated model computed against the original's results.

Entry points: `relative_difference`, `count_kinds`, `old_ways`.
"""

import collections
import pathlib

from proof import migration

FLOAT32_TOLERANCE = 1e-5
BFLOAT16_FACTOR = 1.25


def relative_difference(reference, found) -> float:
    """Root-mean-square of found - reference over that of reference; float64, one shape."""
    if reference.shape != found.shape:
        raise AssertionError(f"shapes differ: {tuple(reference.shape)} became {tuple(found.shape)}")
    return float((found - reference).square().mean().sqrt() / reference.square().mean().sqrt())


def count_kinds(events: list[dict]) -> dict[str, int]:
    """How many events of each kind, every kind named."""
    counts = collections.Counter(event["kind"] for event in events)
    return {kind: counts[kind] for kind in ("attention", "rotary", "norm")}


class SiteFinder:
    """Finds the sites of the report that an observed event of the migrated package belongs to."""

    def __init__(self, original: pathlib.Path, migrated: pathlib.Path, report: migration.Report):
        self._original = original
        self._migrated = migrated
        self._report = report
        self._maps: dict[str, migration.LineMap] = {}

    def refused(self, event: dict) -> bool:
        """Whether a site that the report refused stands on the event's call stack."""
        return any(
            site["outcome"] == "refused"
            for frame in event["frames"]
            for site in self._sites_at(frame, event["kind"])
        )

    def _sites_at(self, frame: str, kind: str) -> list[dict]:
        name, _, line = frame.rpartition(":")
        file = f"{migration.PACKAGE}/{name}"
        if file not in self._maps:
            before = (self._original / file).read_text(encoding="utf-8")
            after = (self._migrated / file).read_text(encoding="utf-8")
            self._maps[file] = migration.LineMap(before, after)
        original_line = self._maps[file].original(int(line))
        return (
            []
            if original_line is None
            else self._report.overlapping(file, original_line, original_line, kind)
        )


def describe(event: dict) -> str:
    """One line for a failure: what ran, and the innermost frames."""
    frames = " < ".join(event["frames"][:3]) or "no frame of the package"
    return f"{event['kind']}: {event['how']} at {frames}"
