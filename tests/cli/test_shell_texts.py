"""Completions and the manual page, made from the options, and the files for pre-commit and GitHub."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
COMMANDS = ["migrate", "review", "verify", "explain", "rules", "rules show", "rules check", "rules test", "assumptions", "lsp", "undo"]


def options_of(refit, command: str) -> set[str]:
    usage = refit(*command.split(), "--help").out.decode()
    return set(re.findall(r"^  (?:-h,)?(--[a-z-]+)", usage, re.MULTILINE))


def completed(script: str, line: str, folder: Path) -> list[str]:
    """What bash offers for the last word of a line."""
    words = line.split(" ")
    body = f"""{script}
COMP_WORDS=({" ".join(f"'{word}'" for word in words)})
COMP_CWORD={len(words) - 1}
_refit
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    done = subprocess.run(["bash", "--norc"], input=body, capture_output=True, text=True, cwd=folder, check=True)
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.parametrize(
    ("line", "offers"),
    [
        ("refit mig", ["migrate"]),
        ("refit rules ", ["show", "check", "test", "why", "new", "--help", "--rules", "--select", "--ignore", "--json", "model.py"]),
        ("refit migrate --tar", ["--target"]),
        ("refit migrate --target ", ["cuda", "ascend"]),
        ("refit migrate --strict --color a", ["auto", "always"]),
        ("refit migrate --check mo", ["model.py"]),
        ("refit review --baseline mo", ["model.py"]),
        ("refit rules test --u", ["--update"]),
        ("refit completion ", ["bash", "zsh", "fish", "--help", "model.py"]),
    ],
)
def test_bash_completes(refit, tmp_path, line, offers):
    (tmp_path / "model.py").touch()
    script = refit("completion", "bash").out.decode()
    got = completed(script, line, tmp_path)
    assert sorted(got) == sorted(offers)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completions_name_every_option(refit, shell):
    script = refit("completion", shell).out.decode()
    for command in COMMANDS:
        for option in options_of(refit, command):
            assert (f"-l {option[2:]} " if shell == "fish" else option) in script


def test_a_shell_that_is_not_known(refit):
    done = refit("completion", "tcsh")
    assert done.code == 2
    assert "expected bash|zsh|fish, found 'tcsh'" in done.err


def test_the_manual_page(refit):
    page = refit("man").out.decode()
    for command in COMMANDS:
        assert f'.SH "refit {command}"' in page
        for option in options_of(refit, command):
            assert option.replace("-", "\\-") in page


def test_roff_takes_the_manual_page(refit):
    if shutil.which("groff") is None:
        pytest.skip("groff is not installed")
    done = subprocess.run(["groff", "-man", "-ww", "-Tascii", "-z"], input=refit("man").out, capture_output=True, check=True)
    assert done.stderr == b""


def run_with_refit(binary, command: list[str], **options) -> subprocess.CompletedProcess:
    path = f"{binary.parent}:/usr/bin:/bin"
    return subprocess.run(command, capture_output=True, text=True, check=False, env={"PATH": path, **options.pop("env", {})}, **options)


def test_the_hooks(binary, tree, source):
    hooks = {hook["id"]: hook for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())}
    (tree / "m.py").write_bytes(source())
    entry = hooks["refit"]["entry"].split()
    done = run_with_refit(binary, [*entry, str(tree / "m.py")])
    assert done.returncode == 1
    assert "+    return mindiesd" in done.stdout
    assert (tree / "m.py").read_bytes() == source()
    (tree / "m.py").write_text("x = 1\n")
    assert run_with_refit(binary, [*entry, str(tree / "m.py")]).returncode == 0
    entry = hooks["refit-rules"]["entry"].split()
    assert re.search(hooks["refit-rules"]["files"], "refit-rules/relu.yaml")
    assert run_with_refit(binary, [*entry, "--select", "silu-function"]).returncode == 0


def test_the_action(binary, tree, source):
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    (step,) = action["runs"]["steps"]
    (tree / "m.py").write_bytes(source())
    values = {"refit": "refit", "path": str(tree), "options": "--select sdpa-* --strict"}
    assert set(values) == set(action["inputs"])
    env = {name: re.sub(r"\$\{\{ inputs\.(\w+) \}\}", lambda m: values[m[1]], text) for name, text in step["env"].items()}
    done = run_with_refit(binary, ["bash", "-e", "-c", step["run"]], env=env)
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("::warning file=m.py,line=5,")
