"""Writes docs/rules/: a page for each rule that ships, as `refit rules show` prints it, and their list.

Usage: python scripts/update_rule_pages.py [REFIT]; by default the tool of the build, build/bin/refit.
"""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def pages(refit: Path) -> dict[str, str]:
    """The texts of docs/rules/ by file name."""

    def said(*arguments: str) -> str:
        return subprocess.run([refit, "rules", *arguments], capture_output=True, check=True, text=True).stdout

    rules = json.loads(said("--json"))
    texts = {f"{rule['id']}.md": said("show", rule["id"]) for rule in rules}
    lines = ["# The rules", "", "Made by `scripts/update_rule_pages.py` from the rules themselves."]
    for subject in dict.fromkeys(rule["subject"] for rule in rules):
        lines += ["", f"## {subject}", ""]
        lines += [f"- [{r['id']}]({r['id']}.md): {r['summary']}" for r in rules if r["subject"] == subject]
    return {"README.md": "\n".join(lines) + "\n", **texts}


def main() -> None:
    folder = ROOT / "docs" / "rules"
    folder.mkdir(exist_ok=True)
    texts = pages(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build" / "bin" / "refit")
    for path in folder.glob("*.md"):
        if path.name not in texts:
            path.unlink()
    for name, text in texts.items():
        (folder / name).write_text(text)


if __name__ == "__main__":
    main()
