"""docs/faq.md: its codes exist, its examples are refused as it says, and what it advises helps."""

import json
import re
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "faq.md").read_text()
SECTIONS = {
    title: body
    for title, body in re.findall(r"(?ms)^## (.+?)\n(.*?)(?=^## |\Z)", TEXT)
    if re.fullmatch(r"[a-z-]+", title)
}
ROWS = re.findall(r"(?m)^\| \[([a-z-]+)\]\(#\1\) \| (\d+) \| .+ \|$", TEXT)


def test_each_code_of_the_table_has_a_section():
    assert len(ROWS) >= 12
    assert [code for code, _ in ROWS] == list(SECTIONS)


def test_the_counts_are_those_of_the_public_packages():
    found: Counter = Counter()
    total = 0
    for path in (ROOT / "tests" / "score" / "public").glob("*.json"):
        rows = [row for file in json.loads(path.read_text())["files"].values() for row in file]
        total += len(rows)
        found.update(row[4] for row in rows if row[3] == "refused")
    for code, count in ROWS:
        assert abs(int(count) - found[code]) <= max(2, found[code] / 10), f"docs/faq.md: {code} has {found[code]} sites now"
    for what, now in zip(re.search(r"Of (\d+) sites in those packages (\d+) are", TEXT).groups(), (total, found.total())):
        assert abs(int(what) - now) <= now / 10, f"docs/faq.md: of {total} sites {found.total()} are refused now"
    least = min(int(count) for _, count in ROWS if int(count) > 9)
    listed = {code for code, _ in ROWS} | {"norm-shared", "rotary-form-unknown", "not-spellable", "no-counterpart"}
    assert {code for code, count in found.items() if count > 1.5 * least} <= listed


@pytest.mark.parametrize("code", SECTIONS)
def test_an_example_is_refused_and_the_advice_helps(refit, code, tmp_path):
    blocks = re.findall(r"(?s)```python\n(.*?)```", SECTIONS[code])
    if code == "definition-kept":  # it needs a library's own tree
        assert not blocks
        assert f"code: {code}" in (ROOT / "rules" / "norm_library.yaml").read_text()
        return
    assert 1 <= len(blocks) <= 2
    for number, block in enumerate(blocks):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "model.py").write_text(block)
        done = refit("migrate", folder, "--report", "json:-")
        sites = json.loads(done.out)["sites"]
        refused = [site["code"] for site in sites if site["outcome"] == "refused"]
        if number == 0:
            assert code in refused, sites
        else:
            assert refused == [], sites
            assert any(site["outcome"] == "rewritten" for site in sites)


def test_its_links_lead_somewhere():
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", TEXT):
        assert (ROOT / "docs" / target).exists(), target
