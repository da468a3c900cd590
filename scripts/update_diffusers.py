"""Writes tests/score/diffusers-*.json and docs/diffusers.md from a run of refit.

Run it with a Python that has the pinned diffusers (torch is not needed), after a change of the
rules that is meant; then read the diff of the score file before committing it.
"""

import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests" / "endtoend"))

from proof import migration, record  # noqa: E402


def main() -> int:
    try:
        library = migration.find_library()
        if library is None:
            raise migration.SetupError(
                f"{migration.PACKAGE} is not installed; ./dev test installs it"
            )
        with tempfile.TemporaryDirectory() as scratch:
            root = migration.copy_package(library, pathlib.Path(scratch) / "tree")
            report = migration.migrate(root, pathlib.Path(scratch) / "report.json")
    except migration.SetupError as error:
        print(error, file=sys.stderr)
        return 1
    for path, text in (
        (record.SCORE, record.score_text(report)),
        (record.PAGE, record.page(report)),
    ):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        print(f"wrote {path.relative_to(migration.REPOSITORY)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
