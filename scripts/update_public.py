"""Writes what ./dev test checks of the public packages, from a run of refit over all of them:
tests/score/public/*.json, tests/score/not_run.jsonl, tests/score/diffusers-*.json, docs/diffusers.md
and docs/public-code.md.

    python scripts/update_public.py            write these, drop verdicts that no pair needs
    python scripts/update_public.py --unread   print the pairs that nobody read; write nothing
    python scripts/update_public.py --right REASON DIGEST...    record a verdict
    python scripts/update_public.py --wrong REASON DIGEST...

Run it with the Python of .venv, as ./dev test would (PYTHONPATH=runtime/python), after a change of the rules that is meant; then read the diff of the
score files, and every pair that has no verdict with the function around it, before committing.
"""

import argparse
import pathlib
import sys
import tempfile

REPOSITORY = pathlib.Path(__file__).resolve().parents[1]
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
    write(page.PAGE, page.text(migrations))
    from survey import numeric  # imports torch

    write(score.NOT_RUN, score.not_run_text(numeric.run_all(migrations)))
    unread, unclassed = len(score.unread(migrations)), len(page.unclassed(migrations))
    print(f"{len(needed)} distinct pairs, {unread} without a verdict; {unclassed} refusals unclassed")


def print_unread(migrations: list[packages.Migration]) -> None:
    for digest, pair in score.unread(migrations).items():
        print(f"{digest} x{len(pair.places)}", *pair.places[:4], pair.change.raw, "", sep="\n")


def record_verdicts(migrations, verdict: str, reason: str, digests: list[str]) -> None:
    pairs, entries = score.distinct(migrations), score.verdicts()
    for digest in digests:
        seen = pairs[digest].places[0]
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
    try:
        with tempfile.TemporaryDirectory() as scratch:
            migrations = [
                package.migrate(pathlib.Path(scratch)) for package in packages.PACKAGES
            ]
            if arguments.unread:
                print_unread(migrations)
            elif arguments.right or arguments.wrong:
                for verdict in ("right", "wrong"):
                    given = getattr(arguments, verdict)
                    if given:
                        record_verdicts(migrations, verdict, given[0], given[1:])
            else:
                write_all(migrations)
    except migration.SetupError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
