"""The record of a migrated diffusers: the score file and the documentation page.

Entry points: `differences` (score against report), `score_text` and `page`. scripts/update_diffusers.py
writes both files, test_package.py checks that they are current.
"""

import collections
import json

import migration

SCORE = migration.REPOSITORY / "tests" / "score" / f"{migration.PACKAGE}-{migration.VERSION}.json"
PAGE = migration.REPOSITORY / "docs" / "diffusers.md"

# What the score keeps of a site: what identifies it, and what became of it.
IDENTITY = ("file", "line", "column", "rule", "callee")
RESULT = ("outcome", "code", "through", "assumes", "absorbed")


def score_text(sites: migration.Sites) -> str:
    """The score file: JSON, one site a line, so that a change is a one-line diff."""
    rows = [json.dumps([site[key] for key in IDENTITY + RESULT]) for site in _ordered(sites)]
    head = {"library": migration.PACKAGE, "version": migration.VERSION, "columns": IDENTITY + RESULT}
    return json.dumps(head)[:-1] + ', "sites": [\n' + ",\n".join(rows) + "\n]}\n"


def differences(sites: migration.Sites) -> list[str]:
    """What the report says otherwise than the score file: lost, changed and new sites, one line each."""
    if not SCORE.exists():
        return [f"{SCORE.relative_to(migration.REPOSITORY)} is missing"]
    recorded = _table(json.loads(SCORE.read_text(encoding="utf-8"))["sites"])
    found = _table(json.loads(score_text(sites))["sites"])
    problems = []
    for key in sorted(recorded.keys() | found.keys()):
        was, now = recorded.get(key), found.get(key)
        if was == now:
            continue
        what = "lost" if now is None else "new" if was is None else "changed"
        file, line, column, rule, callee = key
        problems.append(f"{what}: {file}:{line}:{column} {rule} {callee}: {_result(was)} -> {_result(now)}")
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
    return "; ".join(" ".join(f"{k}={v}" for k, v in zip(RESULT, r) if v not in (None, "", [])) for r in results)


def _ordered(sites: migration.Sites) -> list[dict]:
    return sorted(sites.sites, key=lambda site: [site[key] for key in IDENTITY])


def page(sites: migration.Sites) -> str:
    """The documentation page: what migrating the pinned diffusers finds, by rule."""
    total = len(sites.sites)
    rewritten = [site for site in sites.sites if site["outcome"] == "rewritten"]
    attention = [site for site in rewritten if site["absorbed"] is not None]
    absorbed = sum(site["absorbed"] for site in attention)
    lines = [
        f"# {migration.PACKAGE} {migration.VERSION}, migrated",
        "",
        f"`refit` on the sources of {migration.PACKAGE} {migration.VERSION} as installed, target `cuda`, all shipped",
        "rules. `scripts/update_diffusers.py` writes this page and the site-by-site record",
        f"[tests/score](../tests/score/{SCORE.name}); `./dev test` checks that both are current. The same report",
        "for your copy:",
        "",
        "```",
        f"refit migrate --report json:report.json PATH   # PATH holds {migration.PACKAGE}/",
        "```",
        "",
        f"{total} sites in {len({site['file'] for site in sites.sites})} files; {len(rewritten)} rewritten, "
        f"{total - len(rewritten)} refused; {len(sites.changed_files())} files change.",
        f"Of {len(attention)} rewritten attention sites {absorbed} absorb the transposes around them; the others",
        "keep them and pass `head_first=True`, or have none.",
        "",
        "| rule | found | rewritten | of these through a definition | with assumptions | refused |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    by_rule = collections.defaultdict(list)
    for site in sites.sites:
        by_rule[site["rule"]].append(site)
    for rule in sorted(by_rule):
        of_rule = by_rule[rule]
        done = [site for site in of_rule if site["outcome"] == "rewritten"]
        through = sum(site["through"] is not None for site in done)
        assuming = sum(bool(site["assumes"]) for site in done)
        lines.append(
            f"| {rule} | {len(of_rule)} | {len(done)} | {through} | {assuming} | {len(of_rule) - len(done)} |"
        )
    lines += ["", "## Refused", "", "| code | sites | rule | an example |", "|---|--:|---|---|"]
    refused = collections.defaultdict(list)
    for site in _ordered(sites):
        if site["outcome"] == "refused":
            refused[site["code"], site["rule"]].append(site)
    for (code, rule), of_code in sorted(refused.items()):
        example = f"{of_code[0]['file']}:{of_code[0]['line']}"
        lines.append(f"| {code} | {len(of_code)} | {rule} | `{example}` |")
    lines += ["", "## Assumed", "", "| assumption | sites |", "|---|--:|"]
    assumed = collections.Counter(text for site in rewritten for text in site["assumes"])
    lines += [f"| {text} | {count} |" for text, count in sorted(assumed.items())]
    return "\n".join(lines) + "\n"
