"""Writes what ./dev test checks of the public packages, from a run of refit over all of them:
tests/score/public/*.json, tests/score/not_run.jsonl, tests/score/diffusers-*.json, docs/diffusers.md
and docs/public-code.md.

    PYTHONPATH=runtime/python .venv/bin/python scripts/update_public.py
        write these, drop verdicts that no pair needs, print the pairs that nobody read
    ... --unread                    print the pairs that the last run found unread; run nothing
    ... --right REASON DIGEST...    record a verdict on them
    ... --wrong REASON DIGEST...

Run it after a change of the rules that is meant; then read the diff of the score files, and every pair
that has no verdict with the function around it, before committing.
"""

import argparse
import json
import pathlib
import sys
import tempfile

REPOSITORY = pathlib.Path(__file__).resolve().parents[1]
# What the last run found unread: [digest, places, text], so that reading needs no other run.
UNREAD = REPOSITORY / ".cache" / "public-unread.json"
sys.path[:0] = [str(REPOSITORY / part) for part in ("scripts", "tests/public", "tests/endtoend")]

from proof import migration, record  # noqa: E402
from survey import packages, page, score  # noqa: E402


def write(path: pathlib.Path, text: str) -> None:
    if path.exists() and path.read_text(encoding="utf-8") == text:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    print(f"wrote {path.relative_to(REPOSITORY)}")


def write_all(migrations: list[packages.Migration]) -> None:
    for done in migrations:
        write(score.path(done.package), score.text(done.package, done.report.sites))
        if done.package.name == migration.PACKAGE:
            write(record.SCORE, record.score_text(done.report))
            write(record.PAGE, record.page(done.report))
    needed = score.distinct(migrations)
    kept = {digest: entry for digest, entry in score.verdicts().items() if digest in needed}
    write(score.VERDICTS, score.verdict_text(kept))
    unread = [
        [digest, pair.places, pair.change.raw] for digest, pair in score.unread(migrations).items()
    ]
    UNREAD.parent.mkdir(exist_ok=True)
    UNREAD.write_text(json.dumps(unread), encoding="utf-8")
    print_unread()
    for name, site in page.unclassed(migrations):
        print(f"in no class of {page.CLASSES.name}: {name} {site['file']}:{site['line']} {site['code']}")
    from survey import numeric  # imports torch

    ran = numeric.run_all(migrations)
    for (name, case), outcome in ran.items():
        if outcome.wrong:
            print(f"numbers differ: {name} {case.file} {case.owner}: {outcome.wrong}")
    write(score.NOT_RUN, score.not_run_text(ran))
    write(page.PAGE, page.text(migrations))  # its shares are of what was run
    print(f"{len(needed)} distinct pairs, {len(unread)} without a verdict")


def print_unread() -> None:
    for digest, places, text in json.loads(UNREAD.read_text(encoding="utf-8")):
        print(f"{digest} x{len(places)}", *places[:4], text, "", sep="\n")


def record_verdicts(verdict: str, reason: str, digests: list[str]) -> None:
    places = {row[0]: row[1] for row in json.loads(UNREAD.read_text(encoding="utf-8"))}
    entries = score.verdicts()
    for digest in digests:
        seen = places[digest][0]
        entries[digest] = {"pair": digest, "verdict": verdict, "reason": reason, "seen": seen}
    write(score.VERDICTS, score.verdict_text(entries))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--unread", action="store_true", help="print pairs without a verdict")
    for verdict in ("right", "wrong"):
        parser.add_argument(
            f"--{verdict}", nargs="+", metavar=("REASON", "DIGEST"), help=f"these pairs are {verdict}"
        )
    arguments = parser.parse_args()
    if arguments.unread:
        print_unread()
        return 0
    for verdict in ("right", "wrong"):
        if given := getattr(arguments, verdict):
            record_verdicts(verdict, given[0], given[1:])
    if arguments.right or arguments.wrong:
        return 0
    try:
        with tempfile.TemporaryDirectory() as scratch:
            write_all([package.migrate(pathlib.Path(scratch)) for package in packages.PACKAGES])
    except migration.SetupError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
