"""What migration does to the package as a whole: the files stay valid, and nothing else changes."""

import ast
import collections
import difflib
import io
import json
import pathlib
import subprocess
import sys
import tokenize

import jsonschema
import pytest
from proof import anchors, migration, record

# One more site for a file that already imports the runtime, as a person would add it.
NEW_SITE = """

def _added_attention(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    batch_size, length, _ = query.shape
    query = query.view(batch_size, length, 4, 8).transpose(1, 2)
    key = key.view(batch_size, length, 4, 8).transpose(1, 2)
    value = value.view(batch_size, length, 4, 8).transpose(1, 2)
    return F.scaled_dot_product_attention(query, key, value)
"""
NEW_SITE_FILE = f"{migration.PACKAGE}/models/transformers/transformer_omnigen.py"
SCHEMA = migration.REPOSITORY / "rewriter" / "report" / "report.schema.json"
RATIOS = {"dispatch_attention_fn": 0.9, "rotary": 0.9, "scaled_dot_product_attention": 0.8}


@pytest.fixture(scope="module")
def before(original) -> dict[str, bytes]:
    return migration.python_files(original)


@pytest.fixture(scope="module")
def after(migrated) -> dict[str, bytes]:
    return migration.python_files(migrated.root)


@pytest.fixture(scope="module")
def changed(before, after) -> list[str]:
    """Files whose bytes migration changed."""
    return [file for file in before if after.get(file) != before[file]]


@pytest.fixture(scope="session")
def scanned(original) -> list[anchors.Anchor]:
    return anchors.scan(original)


def test_same_files(before, after):
    assert sorted(after) == sorted(before)


def test_changed_files_are_those_reported(migrated, changed):
    """A file changes exactly if the report has a site rewritten in it; other bytes stay."""
    assert changed, "migration changed nothing"
    assert set(changed) == migrated.report.changed_files()
    assert sorted(migrated.report.content["files"]["written"]) == sorted(changed)


def test_report_follows_its_schema(migrated):
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(schema).validate(migrated.report.content)


def test_no_file_gave_a_problem(migrated):
    assert migrated.report.content["problems"] == []


def test_package_byte_compiles(migrated):
    command = [sys.executable, "-m", "compileall", "-q", "-f", "-j", "2", str(migrated.root)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_second_run_changes_nothing(migrated, after):
    done = migration.run_refit("migrate", migrated.root, "--check", "--quiet")
    assert done.returncode == 0, done.stdout + done.stderr
    assert migration.python_files(migrated.root) == after


def test_package_directory_gives_the_same_sites(library, migrated, tmp_path):
    """Asked about the package's own directory instead of the one above, refit says the same."""
    root = migration.copy_package(library, tmp_path / "tree")
    report = tmp_path / "report.json"
    done = migration.run_refit(
        "migrate", root / migration.PACKAGE, "--diff", "--quiet", "--report", f"json:{report}"
    )
    assert done.returncode == 0, done.stderr
    inside = migration.Report(report)
    # Names are relative to what refit took for the root, which may be either directory.
    below = pathlib.Path(inside.content["root"]).resolve().relative_to(root.resolve())
    for site in inside.sites:
        site["file"] = (below / site["file"]).as_posix()
        if site["through"] is not None:
            site["through"] = (below / site["through"]).as_posix()
    assert record.score_text(inside) == record.score_text(migrated.report)


def test_new_site_in_migrated_file_is_the_only_edit(migrated, after, tmp_path):
    """One site added to a migrated file gets its edit, and no other line changes."""
    assert b"import mindiesd" in after[NEW_SITE_FILE] or b"from mindiesd" in after[NEW_SITE_FILE]
    root = tmp_path / "tree"
    path = root / NEW_SITE_FILE
    path.parent.mkdir(parents=True)
    text = after[NEW_SITE_FILE].decode()
    # The file may have lost an import that nothing used any more; the new code brings its own.
    if "import torch.nn.functional as F" not in text:
        text = text.replace("import torch\n", "import torch\nimport torch.nn.functional as F\n", 1)
    path.write_text(text + NEW_SITE, encoding="utf-8")
    done = migration.run_refit("migrate", root, "--write", "--quiet")
    assert done.returncode == 0, done.stdout + done.stderr

    first_new = len(text.splitlines()) + 1
    lines = (text + NEW_SITE).splitlines()
    edited = path.read_text(encoding="utf-8").splitlines()
    assert "scaled_dot_product_attention(query, key, value)" not in "\n".join(edited)
    for tag, start, end, _, _ in difflib.SequenceMatcher(
        None, lines, edited, autojunk=False
    ).get_opcodes():
        touched = lines[start:end]
        imports_only = all(line.startswith(("import ", "from ")) for line in touched)
        assert tag == "equal" or start >= first_new - 1 or (touched and imports_only), (
            f"lines {start + 1} to {end} changed too: {touched}"
        )


def test_anchors_are_all_reported(scanned, migrated):
    """An independent scan of the sources finds no site that the report passes over in silence."""
    silent = {
        f"{anchor.file}:{anchor.line}: {anchor.callee}"
        for anchor in scanned
        if not sites_of(anchor, migrated.report)
    }
    missing = sorted(silent)
    assert not missing, (
        f"{len(missing)} of {len(scanned)} sites are not in the report:\n" + "\n".join(missing)
    )


def sites_of(anchor: anchors.Anchor, report: migration.Report) -> list[dict]:
    """The report's sites for an anchor; for the arithmetic of a norm, those in its function."""
    kind = anchor.kind if anchor.kind in ("rotary", "norm") else "attention"
    return report.overlapping(anchor.file, *anchor.scope, kind)


@pytest.mark.parametrize("kind", RATIOS)
def test_most_sites_are_rewritten(scanned, migrated, kind):
    of_kind = [anchor for anchor in scanned if anchor.kind == kind]
    left = []
    for anchor in of_kind:
        found = sites_of(anchor, migrated.report)
        if not any(site["outcome"] == "rewritten" for site in found):
            codes = ", ".join(sorted({site["code"] for site in found})) or "not reported"
            left.append(f"{anchor.file}:{anchor.line}: {anchor.callee} ({codes})")
    done = len(of_kind) - len(left)
    assert of_kind
    assert done >= RATIOS[kind] * len(of_kind), (
        f"{kind}: {done} of {len(of_kind)} rewritten, {RATIOS[kind]:.0%} wanted; left:\n"
        + "\n".join(left)
    )


def public_interface(source: bytes) -> list[str]:
    """Every class and function with its path, bases and parameter names, as text."""
    found = []
    stack = [("", ast.parse(source))]
    while stack:
        path, node = stack.pop()
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.ClassDef):
                found.append(f"class {path}{child.name}")
                stack.append((f"{path}{child.name}.", child))
            elif isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
                # A default that makes an activation makes the runtime's, which is one of torch's.
                parameters = ast.unparse(child.args).replace("mindiesd.ext.", "nn.")
                found.append(f"def {path}{child.name}({parameters})")
                stack.append((f"{path}{child.name}.", child))
    return sorted(found)


def test_interfaces_stay(before, after, changed):
    """Every class and function keeps its name and its signature."""
    for file in changed:
        assert public_interface(after[file]) == public_interface(before[file]), file


def comments(source: bytes) -> collections.Counter:
    tokens = tokenize.tokenize(io.BytesIO(source).readline)
    return collections.Counter(token.string for token in tokens if token.type == tokenize.COMMENT)


def test_comments_stay(before, after, changed):
    """No comment is lost, whatever was rewritten around it."""
    for file in changed:
        lost = comments(before[file]) - comments(after[file])
        assert not lost, f"{file} lost {list(lost)}"


def test_reported_text_is_the_files(before, migrated):
    """Each site's `before` is what the file holds at its line."""
    for site in migrated.report.sites:
        lines = before[site["file"]].decode().splitlines(keepends=True)
        region = "".join(lines[site["line"] - 1 : site["end_line"]])
        assert site["before"].strip() in region, (
            f"{site['file']}:{site['line']}: {site['before']!r}"
        )


def test_through_names_a_rewritten_definition(original, migrated):
    """A site rewritten through a definition names one that the report lists as rewritten."""
    for site in migrated.report.sites:
        if site["through"] is None:
            continue
        file, _, line = site["through"].rpartition(":")
        at = migrated.report.overlapping(file, int(line), int(line), migration.kind_of(site))
        assert any(s["outcome"] == "rewritten" and s["through"] is None for s in at), site


def test_every_refusal_has_a_code_and_a_reason(migrated):
    for site in migrated.report.sites:
        if site["outcome"] == "refused":
            assert site["code"] and site["message"], site
        else:
            assert not site["code"], site


def test_little_is_looked_into(migrated):
    """Bounds a little above what docs/performance-tool.md gives: a rule or an isomorphism whose words
    tell less shows here."""
    files = migrated.report.content["files"]
    assert files["parsed"] <= 235, files["parsed"]
    assert files["lowered_functions"] <= 2550, files["lowered_functions"]


def test_nine_of_ten_transposes_that_the_contract_allows_are_absorbed(migrated):
    share = record.transposes(migrated.report)
    assert share["absorbed"] >= 0.9 * share["allowed"], share
    assert share["absorbed"] >= 0.8 * share["all"], share


def test_what_the_contract_keeps_stands_in_the_sources(migrated, before):
    """Each such site names the line of another reader: it is there, and for no other kind."""
    known, _ = record.readings(migrated.report)
    for place, entry in known.items():
        assert (entry["kind"] == "contract") == ("reader" in entry), place
        if "reader" not in entry:
            continue
        lines = before[place.rpartition(":")[0]].decode().splitlines()
        line, text = entry["reader"]["line"], entry["reader"]["text"]
        assert text in lines[line - 1], (place, lines[line - 1])


def test_score_and_page_are_current(migrated):
    """tests/score holds every site and its outcome: a lost or changed one shows here."""
    problems = record.differences(migrated.report)
    assert not problems, (
        f"{len(problems)} sites differ from tests/score; if that is meant, run "
        "scripts/update_diffusers.py:\n" + "\n".join(problems[:60])
    )
    _, unread = record.readings(migrated.report)
    assert not unread, f"{record.KEPT.name} is not current:\n" + "\n".join(unread)
    assert record.PAGE.read_text(encoding="utf-8") == record.page(migrated.report), (
        "docs/diffusers.md is not what the report says; run scripts/update_diffusers.py"
    )
