"""The record of a migrated diffusers: the score file and the documentation page.

Entry points: `differences` (score against report), `score_text` and `page`.
scripts/update_diffusers.py writes both files, test_package.py checks that they are current.
"""

import collections
import json
import re

from proof import migration

SCORE = migration.REPOSITORY / "tests" / "score" / f"{migration.PACKAGE}-{migration.VERSION}.json"
PAGE = migration.REPOSITORY / "docs" / "diffusers.md"
# Sites that keep their transposes, each read by hand: how many, which kind of reason, and why.
KEPT = migration.REPOSITORY / "tests" / "score" / "transposes_kept.json"
KINDS = {
    "contract": "the contract keeps them",  # its `reader` is the line that wants them as they are
    "evidence": "the code does not show the rank",
    "tool": "`refit` does not follow it",
}

# What the score keeps of a site: what identifies it, and what became of it.
IDENTITY = ("file", "line", "column", "rule", "callee")
RESULT = ("outcome", "code", "through", "assumes", "absorbed")


def score_text(report: migration.Report) -> str:
    """The score file: JSON, one site a line, so that a change is a one-line diff."""
    rows = [json.dumps([site[key] for key in IDENTITY + RESULT]) for site in _ordered(report)]
    head = {
        "library": migration.PACKAGE,
        "version": migration.VERSION,
        "columns": IDENTITY + RESULT,
    }
    return json.dumps(head)[:-1] + ', "sites": [\n' + ",\n".join(rows) + "\n]}\n"


def differences(report: migration.Report) -> list[str]:
    """What the report says otherwise than the score file, one line for each site."""
    if not SCORE.exists():
        return [f"{SCORE.relative_to(migration.REPOSITORY)} is missing"]
    recorded = _table(json.loads(SCORE.read_text(encoding="utf-8"))["sites"])
    found = _table(json.loads(score_text(report))["sites"])
    problems = []
    for key in sorted(recorded.keys() | found.keys()):
        was, now = recorded.get(key), found.get(key)
        if was == now:
            continue
        what = "lost" if now is None else "new" if was is None else "changed"
        file, line, column, rule, callee = key
        problems.append(
            f"{what}: {file}:{line}:{column} {rule} {callee}: {_result(was)} -> {_result(now)}"
        )
    return problems


def _table(rows: list) -> dict:
    """Result columns by identity; sites of equal identity keep all their results."""
    table: dict = {}
    for row in rows:
        table.setdefault(tuple(row[: len(IDENTITY)]), []).append(row[len(IDENTITY) :])
    return table


def _result(results: list | None) -> str:
    if results is None:
        return "absent"
    return "; ".join(
        " ".join(f"{k}={v}" for k, v in zip(RESULT, r, strict=True) if v not in (None, "", []))
        for r in results
    )


def _ordered(report: migration.Report) -> list[dict]:
    return sorted(report.sites, key=lambda site: [site[key] for key in IDENTITY])


def page(report: migration.Report) -> str:
    """The documentation page: what migrating the pinned diffusers finds, by rule."""
    return (
        "\n".join([
                *_summary(report),
                *_rules(report),
                *_refusals(report),
                *_layouts(report),
                *_readings(report),
                *_assumptions(report),
            ])
        + "\n"
    )


def _summary(report: migration.Report) -> list[str]:
    rewritten = _rewritten(report.sites)
    refused = len(report.sites) - len(rewritten)
    attention = [site for site in rewritten if site["absorbed"] is not None]
    absorbed = sum(site["absorbed"] for site in attention)
    total = report.content["summary"]["total"]
    gone, kept = total["transposes_absorbed"], total["transposes_kept"]
    files = len({site["file"] for site in report.sites})
    return f"""\
# {migration.PACKAGE} {migration.VERSION}, migrated

`refit` on the sources of {migration.PACKAGE} {migration.VERSION} as installed, target `cuda`, \
all shipped rules.
`scripts/update_diffusers.py` writes this page and the record of every site in
[tests/score](../tests/score/{SCORE.name}); `./dev test` checks that both are current.
The same report for your copy:

```
refit migrate --report json:report.json PATH   # PATH holds {migration.PACKAGE}/
```

{len(report.sites)} sites in {files} files: {len(rewritten)} rewritten, {refused} refused; \
{len(report.changed_files())} files change.
Of {len(attention)} rewritten attention sites with transposes of heads and tokens around them \
{absorbed} absorb them ({absorbed / len(attention):.0%});
of {gone + kept} such transposes {gone} ({gone / (gone + kept):.0%}). The others keep theirs and \
pass `head_first=True`.
""".splitlines()


def _rules(report: migration.Report) -> list[str]:
    by_rule = collections.defaultdict(list)
    for site in report.sites:
        by_rule[site["rule"]].append(site)
    rows = [
        "",
        "| rule | found | rewritten | of these through a definition | with assumptions | refused |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for rule, of_rule in sorted(by_rule.items()):
        done = _rewritten(of_rule)
        through = sum(site["through"] is not None for site in done)
        assuming = sum(bool(site["assumes"]) for site in done)
        numbers = (len(of_rule), len(done), through, assuming, len(of_rule) - len(done))
        rows.append(f"| {rule} | " + " | ".join(map(str, numbers)) + " |")
    return rows


def _refusals(report: migration.Report) -> list[str]:
    refused = collections.defaultdict(list)
    for site in _ordered(report):
        if site["outcome"] == "refused":
            refused[site["code"], site["rule"]].append(site)
    rows = ["", "## Refused", "", "| code | sites | rule | the first |", "|---|--:|---|---|"]
    for (code, rule), of_code in sorted(refused.items()):
        first = f"{of_code[0]['file']}:{of_code[0]['line']}"
        rows.append(f"| {code} | {len(of_code)} | {rule} | `{first}` |")
    return rows


def _layouts(report: migration.Report) -> list[str]:
    kept = collections.defaultdict(list)
    for site in _ordered(report):
        if site["outcome"] == "rewritten" and site["layout_kept"]:
            kept[re.sub(r"line \d+", "line …", site["layout_kept"])].append(site)
    rows = ["", "## Transposes kept", "", "| why | sites | where |", "|---|--:|---|"]
    for why, sites in sorted(kept.items(), key=lambda item: (-len(item[1]), item[0])):
        places = ", ".join(f"`{site['file']}:{site['line']}`" for site in sites)
        rows.append(f"| {why} | {len(sites)} | {places} |")
    return rows


def readings(report: migration.Report) -> tuple[dict, list[str]]:
    """What was read of the sites that keep transposes, and what does not fit this report."""
    known = json.loads(KEPT.read_text(encoding="utf-8"))
    found = {f"{s['file']}:{s['line']}" for s in _rewritten(report.sites) if s["layout_kept"]}
    problems = [f"nobody read {place}" for place in sorted(found - known.keys())]
    problems += [f"{place} keeps nothing now" for place in sorted(known.keys() - found)]
    kept = report.content["summary"]["total"]["transposes_kept"]
    counted = sum(entry["transposes"] for entry in known.values())
    if kept != counted:
        problems.append(f"{KEPT.name} counts {counted} transposes, the report {kept}")
    return known, problems


def transposes(report: migration.Report) -> dict[str, int]:
    """How many transposes there are: absorbed, all, allowed by the contract, and kept by kind."""
    known, _ = readings(report)
    share = {
        kind: sum(e["transposes"] for e in known.values() if e["kind"] == kind) for kind in KINDS
    }
    absorbed = report.content["summary"]["total"]["transposes_absorbed"]
    everything = absorbed + sum(share.values())
    allowed = everything - share["contract"]
    return share | {"absorbed": absorbed, "all": everything, "allowed": allowed}


def _readings(report: migration.Report) -> list[str]:
    known, _ = readings(report)
    share = transposes(report)
    gone, allowed = share["absorbed"], share["allowed"]
    rows = [
        "",
        f"Each was read by hand ([{KEPT.name}](../tests/score/{KEPT.name})).",
        f"Of all {share['all']} transposes {gone} are absorbed: {gone / share['all']:.1%}.",
        f"Of the {allowed} that the contract allows to absorb, {gone / allowed:.1%}.",
        f"The contract keeps {share['contract']}: another reader takes the same tensors as they are,",
        "or a function that others call makes or reads heads before tokens. The line that does so is",
        "named with each, and a test holds it against the sources. Of the rest, for "
        f"{share['evidence']} the code does",
        f"not show that there are four dimensions, and {share['tool']} stand in code that `refit` "
        "does not follow.",
        "",
        "| site | transposes | | why |",
        "|---|--:|---|---|",
    ]
    for place, entry in sorted(known.items(), key=lambda item: (item[1]["kind"], item[0])):
        why = entry["why"]
        if "reader" in entry:
            why += f" (line {entry['reader']['line']})"
        rows.append(f"| `{place}` | {entry['transposes']} | {KINDS[entry['kind']]} | {why} |")
    return rows


def _assumptions(report: migration.Report) -> list[str]:
    assumed = collections.Counter(text for s in _rewritten(report.sites) for text in s["assumes"])
    rows = ["", "## Assumed", "", "| assumption | sites |", "|---|--:|"]
    return rows + [f"| {text} | {count} |" for text, count in sorted(assumed.items())]


def _rewritten(sites: list[dict]) -> list[dict]:
    return [site for site in sites if site["outcome"] == "rewritten"]
