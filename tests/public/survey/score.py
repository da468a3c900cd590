"""The record of every site in the public packages, and the verdicts on what migration wrote.

Entry points: `text`, `differences` (score files), `Verdicts`. scripts/update_public.py writes the
files, test_packages.py checks that they are current.
"""

import collections
import dataclasses
import json
import pathlib

from survey import packages, pairs

FOLDER = packages.REPOSITORY / "tests" / "score"
VERDICTS = FOLDER / "verdicts.jsonl"
COLUMNS = ("line", "column", "rule", "outcome", "detail")


def path(package: packages.Package) -> pathlib.Path:
    return FOLDER / "public" / f"{package.name}-{package.version}.json"


def outcome(site: dict) -> str:
    """rewritten, assumed, through or refused: the four that the report's summary counts."""
    if site["outcome"] == "refused":
        return "refused"
    if site["through"] is not None:
        return "through"
    return "assumed" if site["assumes"] else "rewritten"


def detail(site: dict) -> str:
    """The code of a refusal; for attention, what became of the transposes around it."""
    if site["absorbed"] is not None and site["outcome"] != "refused":
        return "absorbed" if site["absorbed"] else "kept"
    return site["code"]


def rows(sites: list[dict]) -> dict[str, list]:
    """By file, the rows of COLUMNS, sorted."""
    by_file = collections.defaultdict(list)
    for site in sites:
        by_file[site["file"]].append(
            [site["line"], site["column"], site["rule"], outcome(site), detail(site)]
        )
    return {file: sorted(by_file[file]) for file in sorted(by_file)}


def text(package: packages.Package, sites: list[dict]) -> str:
    """The score file: JSON, one site a line, so that a change is a one-line diff."""
    head = {"library": package.name, "version": package.version, "columns": COLUMNS}
    files = [
        f" {json.dumps(file)}: [\n" + ",\n".join(f"  {json.dumps(row)}" for row in found) + "\n ]"
        for file, found in rows(sites).items()
    ]
    return json.dumps(head)[:-1] + ', "files": {\n' + ",\n".join(files) + "\n}}\n"


def differences(package: packages.Package, sites: list[dict]) -> list[str]:
    """What a report says otherwise than the score file, one line for each site."""
    if not path(package).exists():
        return [f"{path(package).relative_to(packages.REPOSITORY)} is missing"]
    recorded = _table(json.loads(path(package).read_text(encoding="utf-8"))["files"])
    found = _table(rows(sites))
    problems = []
    for key in sorted(recorded.keys() | found.keys()):
        was, now = recorded.get(key, []), found.get(key, [])
        if was == now:
            continue
        what = "lost" if not now else "new" if not was else "changed"
        file, line, column, rule = key
        shown = [" ".join(filter(None, result)) or "absent" for result in (sum(was, []), sum(now, []))]
        problems.append(f"{what}: {file}:{line}:{column} {rule}: {shown[0]} -> {shown[1]}")
    return problems


def _table(by_file: dict) -> dict:
    """Outcome and detail by file, line, column and rule; equal keys keep all their results."""
    table: dict = {}
    for file, found in by_file.items():
        for line, column, rule, *result in found:
            table.setdefault((file, line, column, rule), []).append(result)
    return table


@dataclasses.dataclass(frozen=True)
class Pair:
    """One distinct pair of before and after, and where it stands."""

    change: pairs.Change
    places: tuple[str, ...]


def distinct(migrations) -> dict[str, Pair]:
    """Every distinct pair by its digest, in the order of packages and files."""
    first: dict[str, pairs.Change] = {}
    places = collections.defaultdict(list)
    for migration in migrations:
        for file, change in migration.changes:
            first.setdefault(change.digest, change)
            places[change.digest].append(
                f"{migration.package.name}: {file}:{change.line} {change.owner}"
            )
    return {digest: Pair(change, tuple(places[digest])) for digest, change in first.items()}


def shown(migrations) -> set[str]:
    """Digests of the pairs that a program shows to be right at every place (undone.py)."""
    seen = {change.digest for migration in migrations for _, change in migration.changes}
    return seen.difference(*(migration.not_undone for migration in migrations))


def unread(migrations) -> dict[str, Pair]:
    """The pairs that neither a program shows to be right nor a reader gave a verdict on."""
    known = verdicts().keys() | shown(migrations)
    return {digest: pair for digest, pair in distinct(migrations).items() if digest not in known}


def verdicts() -> dict[str, dict]:
    """Verdicts by digest; each has `verdict` (right or wrong), `reason` and `seen`, a place."""
    lines = VERDICTS.read_text(encoding="utf-8").splitlines() if VERDICTS.exists() else []
    return {entry["pair"]: entry for entry in map(json.loads, lines)}


def verdict_text(entries: dict[str, dict]) -> str:
    return "".join(f"{json.dumps(entries[digest])}\n" for digest in sorted(entries))


NOT_RUN = FOLDER / "not_run.jsonl"
NOT_RUN_KEYS = ("package", "file", "owner", "kind")


def not_run() -> list[dict]:
    """Functions with rewritten sites that numeric.py cannot run, each with `why`."""
    lines = NOT_RUN.read_text(encoding="utf-8").splitlines() if NOT_RUN.exists() else []
    return [json.loads(line) for line in lines]


def not_run_text(ran) -> str:
    """The file's text from what numeric.run_all gave; a reason that was written by hand stays."""
    known = {tuple(entry[key] for key in NOT_RUN_KEYS): entry["why"] for entry in not_run()}
    lines = []
    for (name, case), outcome in ran.items():
        if outcome.compared or outcome.wrong:
            continue
        key = (name, case.file, case.owner, case.kind)
        entry = dict(zip(NOT_RUN_KEYS, key, strict=True)) | {"why": known.get(key, outcome.why)}
        lines.append(json.dumps(entry) + "\n")
    return "".join(sorted(lines))
