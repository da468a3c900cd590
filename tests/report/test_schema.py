"""The JSON report against its schema, and the schema against reports that it must reject.

report_sample, which the build leaves beside refit, prints a report with every kind of finding.
"""

import copy
import json
import os
import subprocess
from pathlib import Path

import jsonschema
import pytest

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = json.loads((ROOT / "rewriter" / "report" / "report.schema.json").read_text())
BINARIES = Path(os.environ.get("REFIT_BINARY", ROOT / "build" / "bin" / "refit")).parent

# The fields of a site, which other tools read: adding is free, renaming and removing is not.
SITE_FIELDS = [
    "file", "line", "column", "end_line", "rule", "callee", "outcome", "through", "assumes",
    "code", "message", "clause", "before", "after", "absorbed", "layout_kept",
    "function", "fingerprint", "edits",
]  # fmt: skip


def sample(*arguments: str) -> dict:
    done = subprocess.run(
        [BINARIES / "report_sample", *arguments], capture_output=True, check=True, text=True
    )
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def report() -> dict:
    return sample()


@pytest.fixture(scope="module")
def validator() -> jsonschema.Draft202012Validator:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    return jsonschema.Draft202012Validator(SCHEMA)


def test_a_full_report_is_valid(report, validator):
    assert len(report["sites"]) == 8
    validator.validate(report)


def test_an_empty_report_is_valid(validator):
    empty = sample("empty")
    assert empty["sites"] == []
    validator.validate(empty)


def test_a_site_has_exactly_the_settled_fields_in_order(report):
    for site in report["sites"]:
        assert list(site) == SITE_FIELDS


@pytest.mark.parametrize(
    "change",
    [
        lambda r: r.pop("sites"),
        lambda r: r.update(extra=1),
        lambda r: r.update(schema=2),
        lambda r: r.update(target="rocm"),
        lambda r: r["tool"].update(version="next"),
        lambda r: r["files"].update(seen=-1),
        lambda r: r["files"]["written"].append("pkg/a.py"),
        lambda r: r["summary"]["rules"][0].pop("rule"),
        lambda r: r["summary"]["total"]["refused_by_code"].update(none=0),
        lambda r: r["problems"][0].update(kind="odd"),
        lambda r: r["sites"][0].pop("absorbed"),
        lambda r: r["sites"][0].update(line=0),
        lambda r: r["sites"][0].update(outcome="skipped"),
        lambda r: r["sites"][0].update(code="rank-unknown"),
        lambda r: r["sites"][0].update(through="pkg/a.py"),
        lambda r: r["sites"][0].update(absorbed="yes"),
        lambda r: r["sites"][0].update(fingerprint="0123"),
        lambda r: r["sites"][0].update(edits=[{"line": 1}]),
        lambda r: r["sites"][-1].update(code=""),
        lambda r: r["sites"][-1].update(message=""),
        lambda r: r["sites"][-1].update(after="x"),
        lambda r: r["sites"][-1].update(through="pkg/a.py:30"),
    ],
)
def test_the_schema_rejects(report, validator, change):
    broken = copy.deepcopy(report)
    change(broken)
    assert not validator.is_valid(broken)
