"""docs/public-code.md: what migration does to the public packages, and which refusals are open.

Entry points: `text`, `count_open`, `unclassed`. The page has words above the first marker, written
by hand; what stands between the markers is written from the reports. Which refusals the contract
wants and which it would allow to rewrite stands in tests/score/refusals.json.
"""

import collections
import json
import re

from survey import packages, score

PAGE = packages.REPOSITORY / "docs" / "public-code.md"
CLASSES = score.FOLDER / "refusals.json"
BEGIN = "<!-- written by scripts/update_public.py: begin -->\n"
END = "<!-- end -->\n"
KINDS = {"rotary": "rotation", "norm": "RMSNorm", "attention": "attention"}


def classes() -> list[dict]:
    """Classes of refusals, the first that fits counts: `code`, and by regular expression `package`,
    `callee`, `file` and `message`, all optional; `open` or not, and `why`."""
    return json.loads(CLASSES.read_text(encoding="utf-8"))


def class_of(package: str, site: dict, table: list[dict]) -> dict | None:
    for entry in table:
        found = {"package": package, **site}
        if all(re.search(entry[key], found[key] or "") for key in _KEYS if key in entry):
            return entry
    return None


_KEYS = ("code", "rule", "package", "callee", "file", "message")


def _refused(migrations):
    for migration in migrations:
        for site in migration.report.sites:
            if site["outcome"] == "refused":
                yield migration.package.name, site


def unclassed(migrations) -> list[tuple[str, dict]]:
    """Refusals that no class fits."""
    table = classes()
    return [found for found in _refused(migrations) if class_of(*found, table) is None]


def count_open(migrations) -> tuple[int, int]:
    """All sites, and those refused although the contract allows to rewrite them."""
    table = classes()
    sites = sum(len(migration.report.sites) for migration in migrations)
    fitting = (class_of(*found, table) for found in _refused(migrations))
    return sites, sum(entry is None or entry["open"] for entry in fitting)


def text(migrations) -> str:
    """The whole page: the words as they stand, the written part anew."""
    whole = PAGE.read_text(encoding="utf-8")
    above, _, rest = whole.partition(BEGIN)
    below = rest.partition(END)[2]
    tables = (_packages, _allowed, _pairs, _numbers, _refusals)
    parts = [line for table in tables for line in table(migrations)]
    return above + BEGIN + "\n".join(parts) + "\n" + END + below


def _packages(migrations) -> list[str]:
    lines = [
        "",
        "| package | files changed | sites | rewritten | assuming | through | refused | open "
        "| transposes absorbed, kept |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    total = [0] * 9
    table = classes()
    for migration in migrations:
        name, sites = migration.package.name, migration.report.sites
        outcomes = collections.Counter(score.outcome(site) for site in sites)
        details = collections.Counter(
            score.detail(site) for site in sites if site["outcome"] != "refused"
        )
        entries = [class_of(n, s, table) for n, s in _refused([migration])]
        numbers = [
            len(migration.report.content["files"]["written"]),
            len(sites),
            *(outcomes[kind] for kind in ("rewritten", "assumed", "through", "refused")),
            sum(entry is None or entry["open"] for entry in entries),
            details["absorbed"],
            details["kept"],
        ]
        total = [a + b for a, b in zip(total, numbers, strict=True)]
        lines.append(_row(f"{name} {migration.package.version}", numbers))
    return [*lines, _row("all", total)]


def _allowed(migrations) -> list[str]:
    """How many of the sites that the contract allows are rewritten, everywhere and in diffusers."""
    shares = []
    for chosen in (migrations, [m for m in migrations if m.package.name == "diffusers"]):
        sites, left = count_open(chosen)
        done = sites - sum(1 for _ in _refused(chosen))
        shares.append(f"{done} of {done + left}, {100 * done / (done + left):.1f} %")
    return [
        "",
        f"Of the sites that the contract allows to rewrite are rewritten: {shares[0]}; in diffusers "
        f"{shares[1]}.",
    ]


def _pairs(migrations) -> list[str]:
    found, shown = score.distinct(migrations), score.shown(migrations)
    return [
        "",
        f"{len(found)} distinct pairs of before and after: a program shows {len(shown)} to be right, the "
        f"other {len(found) - len(shown)} were read.",
    ]


def _numbers(migrations) -> list[str]:
    """How many of the functions with rewritten sites were run, by kind."""
    from survey import numeric  # imports torch

    counts = collections.Counter(
        case.kind for migration in migrations for case in numeric.cases(migration)
    )
    left = collections.Counter(entry["kind"] for entry in score.not_run())
    lines = ["", "| functions that hold a rewritten | there are | run and compared | |", "|---|--:|--:|--:|"]
    for kind, name in KINDS.items():
        run = counts[kind] - left[kind]
        lines.append(f"| {name} | {counts[kind]} | {run} | {100 * run / counts[kind]:.0f} % |")
    return lines


def _row(name: str, numbers: list[int]) -> str:
    *first, absorbed, kept = numbers
    return f"| {name} | " + " | ".join(map(str, first)) + f" | {absorbed}, {kept} |"


def _refusals(migrations) -> list[str]:
    table = classes()
    counts: dict[int, collections.Counter] = collections.defaultdict(collections.Counter)
    for name, site in _refused(migrations):
        entry = class_of(name, site, table)
        if entry is not None:
            counts[table.index(entry)][name] += 1
    lines = []
    for is_open, title in ((True, "Open: the contract allows it"), (False, "Right by the contract")):
        lines += ["", f"## {title}", "", "| sites | code | why | packages |", "|--:|---|---|---|"]
        chosen = [(i, c) for i, c in counts.items() if table[i]["open"] == is_open]
        for index, by_package in sorted(chosen, key=lambda item: (-item[1].total(), item[0])):
            where = ", ".join(f"{name} {n}" for name, n in by_package.most_common())
            entry = table[index]
            lines.append(
                f"| {by_package.total()} | {entry['code'].strip('^$')} "
                f"| {entry['why']} | {where} |"
            )
    return lines
