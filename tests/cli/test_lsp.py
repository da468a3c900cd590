"""refit lsp: what an editor shows of sites, and what it offers to do with them."""

import importlib.util
from pathlib import Path

import pytest

spec = importlib.util.spec_from_file_location("lsp_client", Path(__file__).parent / "lsp_client.py")
lsp = importlib.util.module_from_spec(spec)
spec.loader.exec_module(lsp)
Client, applied = lsp.Client, lsp.applied

TWO = "import torch.nn.functional as F\n\n\ndef f(x):\n    return F.silu(F.gelu(x))\n"
REFUSED = "import torch.nn.functional as F\n\n\ndef f(q, k, v, *more):\n    return F.scaled_dot_product_attention(q, k, v, *more)\n"
RESOLVES = {"textDocument": {"codeAction": {"resolveSupport": {"properties": ["edit"]}}}}
VERSIONED = {"workspace": {"workspaceEdit": {"documentChanges": True}}}


@pytest.fixture
def client(binary, tree):
    (tree / ".git").mkdir()
    with Client(binary, tree, **RESOLVES, **VERSIONED) as made:
        made.initialize()
        yield made


def edits_of(action: dict) -> dict[str, list[dict]]:
    return {change["textDocument"]["uri"]: change["edits"] for change in action["edit"]["documentChanges"]}


def resolved(client: Client, uri: str, line: int, title: str, only: list[str] | None = None) -> dict:
    (action,) = [action for action in client.actions(uri, line, only) if title in action["title"]]
    assert "edit" not in action
    return client.request("codeAction/resolve", **action)


def migrated(refit, path: Path, text: str, *options: str) -> str:
    """What `refit migrate` makes of the file."""
    encoding = "latin-1" if "latin-1" in text else "utf-8"
    path.write_bytes(text.encode(encoding))
    done = refit("migrate", path.parent, "--include", path.name, "--write", "--quiet", *options)
    assert done.code == 0, done.err
    return path.read_bytes().decode(encoding)


def test_diagnostics(client, tree):
    path = tree / "m.py"
    path.write_text("")
    uri = client.open(path, TWO)
    silu, gelu = client.diagnostics(uri)
    assert silu["range"] == {"start": {"line": 4, "character": 11}, "end": {"line": 4, "character": 28}}
    assert (silu["code"], silu["severity"], silu["source"]) == ("silu-function", 3, "refit")
    assert silu["message"].startswith("can become mindiesd.ext.silu(")
    assert silu["codeDescription"]["href"].endswith("/docs/rules/silu-function.md")
    assert gelu["range"]["start"] == {"line": 4, "character": 18}
    assert path.read_text() == ""


def test_a_refused_site_says_why(client, tree):
    (tree / "m.py").touch()
    uri = client.open(tree / "m.py", REFUSED)
    (site,) = client.diagnostics(uri)
    assert site["severity"] == 4
    assert site["code"] == "splatted-arguments"
    assert site["message"].startswith("[sdpa-to-attention-forward] ")
    assert site["data"]["rule"] == "sdpa-to-attention-forward"


def test_comments_that_keep_sites(client, tree):
    (tree / "m.py").touch()
    text = TWO.replace("(x))", "(x))  # refit: ignore[silu-function]") + "\n\nx = 1  # refit: ignore\n"
    uri = client.open(tree / "m.py", text)
    gelu, unused = client.diagnostics(uri)
    assert gelu["code"] == "gelu-function"
    assert (unused["code"], unused["range"]["start"]["line"], unused["tags"]) == ("unused-ignore", 7, [1])


def test_hover_is_what_explain_says(client, tree, refit):
    path = tree / "m.py"
    path.write_text(REFUSED)
    uri = client.open(path, REFUSED)
    place = {"textDocument": {"uri": uri}, "position": {"line": 4, "character": 0}}
    said = client.request("textDocument/hover", **place)["contents"]
    assert said["kind"] == "plaintext"
    assert said["value"] == refit("explain", f"{path}:5").out.decode()
    place["position"]["line"] = 1
    assert client.request("textDocument/hover", **place) is None


def test_hover_in_markdown_is_fenced(binary, tree):
    (tree / "m.py").touch()
    with Client(binary, tree, textDocument={"hover": {"contentFormat": ["markdown", "plaintext"]}}) as client:
        client.initialize()
        uri = client.open(tree / "m.py", TWO.replace("F.gelu(x)", "x['```']"))
        said = client.request("textDocument/hover", textDocument={"uri": uri}, position={"line": 4, "character": 0})
        first, *_, last = said["contents"]["value"].split("\n")
        assert said["contents"]["kind"] == "markdown"
        assert first == last + "text"
        assert last == "````"


@pytest.mark.parametrize(
    "text",
    [
        TWO,
        TWO.replace("\n", "\r\n"),
        TWO.replace("def f(x):", "def f(x):  # 𝄞 ü"),
        TWO.replace("F.silu(F.gelu(x))", "('𝄞ü', F.silu(x), '𝄞', F.gelu(x))"),
        TWO.rstrip("\n"),
        '"""Words."""\n' + TWO,
        "# coding: latin-1\n# \xe4\n" + TWO,
    ],
    ids=["plain", "crlf", "beyond", "behind", "no-end", "docstring", "latin-1"],
)
@pytest.mark.parametrize("encoding", ["utf-16", "utf-8"])
def test_actions_do_what_migrate_does(binary, refit, tree, text, encoding):
    path = tree / "m.py"
    path.touch()
    with Client(binary, tree, general={"positionEncodings": [encoding]}, **RESOLVES, **VERSIONED) as client:
        assert client.initialize()["capabilities"]["positionEncoding"] == encoding
        uri = client.open(path, text)
        sites = client.diagnostics(uri)
        line = sites[0]["range"]["start"]["line"]
        one = edits_of(resolved(client, uri, line, " [silu-function]"))[uri]
        everything = edits_of(resolved(client, uri, 0, "Rewrite all 2 sites", ["source"]))[uri]
        of_line = edits_of(resolved(client, uri, line, "Rewrite all 2 sites"))[uri]
    (silu,) = [site for site in sites if site["code"] == "silu-function"]
    call = "F.silu(x)" if "F.silu(x)" in text else "F.silu(F.gelu(x))"
    assert applied(text, [{"range": silu["range"], "newText": ""}], encoding) == text.replace(call, "")
    of_site = ("--site", silu["data"]["fingerprint"])
    assert applied(text, one, encoding) == migrated(refit, path, text, *of_site)
    assert applied(text, everything, encoding) == migrated(refit, path, text)
    assert of_line == everything


def test_without_resolving_actions_bring_their_edits(binary, refit, tree):
    (tree / "m.py").touch()
    with Client(binary, tree) as client:
        client.initialize()
        uri = client.open(tree / "m.py", TWO)
        client.diagnostics(uri)
        edits = [action["edit"]["changes"][uri] for action in client.actions(uri, 4)]
        assert len(edits) == 5  # two sites, the file, and two comments
        assert applied(TWO, edits[2]) == migrated(refit, tree / "m.py", TWO)


@pytest.mark.parametrize(
    ("text", "line", "after"),
    [
        (TWO, 4, TWO.replace("(x))", "(x))  # refit: ignore[silu-function]")),
        (
            TWO.replace("F.silu(F.gelu(x))", 'F.silu(f"""\n""")'),
            4,
            TWO.replace("    return F.silu(F.gelu(x))", '    # refit: ignore[silu-function]\n    return F.silu(f"""\n""")'),
        ),
        (
            TWO.replace("F.silu(F.gelu(x))", "F.silu(x) + \\\n        x"),
            4,
            TWO.replace(
                "    return F.silu(F.gelu(x))", "    # refit: ignore[silu-function]\n    return F.silu(x) + \\\n        x"
            ),
        ),
        (
            TWO.replace("F.silu(F.gelu(x))", "F.silu(x)  # noqa"),
            4,
            TWO.replace("F.silu(F.gelu(x))", "F.silu(x)  # noqa  # refit: ignore[silu-function]"),
        ),
    ],
    ids=["behind", "string", "backslash", "noqa"],
)
def test_a_comment_that_keeps_a_site(client, tree, text, line, after):
    (tree / "m.py").touch()
    uri = client.open(tree / "m.py", text)
    client.diagnostics(uri)
    action = resolved(client, uri, line, "refit: ignore[silu-function]")
    new = applied(text, edits_of(action)[uri])
    assert new == after
    client.change(uri, 2, {"text": new})
    assert "silu-function" not in [site["code"] for site in client.diagnostics(uri, 2)]


def test_a_comment_that_would_keep_more_is_not_offered(client, tree):
    # Both places would keep the whole function.
    text = "import torch.nn.functional as F\nx = 1\ndef f(y=F.silu(x)):\n    return F.silu(y + 1)\n"
    (tree / "m.py").touch()
    uri = client.open(tree / "m.py", text)
    client.diagnostics(uri)
    (action,) = [action for action in client.actions(uri, 2) if "refit: ignore" in action["title"]]
    error = client.error("codeAction/resolve", **action)
    assert "neither behind the line nor above it" in error["message"]


def test_names_resolve_in_the_tree_and_in_open_documents(client, tree):
    (tree / "pack").mkdir()
    (tree / "pack" / "__init__.py").touch()
    (tree / "pack" / "names.py").write_text("from torch.nn.functional import silu as act\n")
    (tree / "pack" / "m.py").touch()
    text = "from .names import act\n\n\ndef f(x):\n    return act(x)\n"
    uri = client.open(tree / "pack" / "m.py", text)
    assert [site["code"] for site in client.diagnostics(uri)] == ["silu-function"]
    other = client.open(tree / "pack" / "names.py", "from torch.nn.functional import gelu as act\n")
    client.diagnostics(other)
    place = {"textDocument": {"uri": uri}, "position": {"line": 4, "character": 0}}
    assert "[gelu-function]" in client.request("textDocument/hover", **place)["contents"]["value"]


def test_a_definition_in_another_file(client, tree, refit):
    helper = "import torch\n\n\ndef attend(q, k, v):\n    return torch.softmax(q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5, -1) @ v\n"
    (tree / "pack").mkdir()
    (tree / "pack" / "__init__.py").touch()
    (tree / "pack" / "ops.py").write_text(helper)
    text = "from .ops import attend\n\n\ndef f(q, k, v):\n    return attend(q, k, v)\n"
    (tree / "pack" / "m.py").write_text(text)
    uri = client.open(tree / "pack" / "m.py", text)
    (site,) = client.diagnostics(uri)
    assert site["message"] == "its definition at pack/ops.py:5 can be rewritten"
    action = resolved(client, uri, 4, "Rewrite the definition at pack/ops.py:")
    ((target, edits),) = edits_of(action).items()
    assert target == (tree / "pack" / "ops.py").as_uri()
    assert refit("migrate", tree, "--write", "--quiet").code == 0
    assert applied(helper, edits) == (tree / "pack" / "ops.py").read_text() != helper


def test_an_action_reads_what_changed_on_disk(client, tree):
    (tree / "names.py").write_text("from torch.nn.functional import silu as act\n")
    (tree / "m.py").touch()
    text = "from names import act\n\n\ndef f(x):\n    return act(x) + act(x)\n"
    uri = client.open(tree / "m.py", text)
    assert len(client.diagnostics(uri)) == 2
    (action,) = client.actions(uri, 0, ["source"])
    (tree / "names.py").write_text("from torch.nn.functional import gelu as act\n")
    assert "gelu" in applied(text, edits_of(client.request("codeAction/resolve", **action))[uri])
    (tree / "names.py").write_text("from elsewhere import act\n")
    assert "nothing is left" in client.error("codeAction/resolve", **action)["message"]


def test_documents_of_other_settings_count_as_they_are(client, tree):
    (tree / "sub").mkdir()
    (tree / "sub" / "refit.toml").write_text("ignore = ['gelu-*']\n")
    (tree / "sub" / "names.py").touch()
    (tree / "m.py").touch()
    uri = client.open(tree / "m.py", "from sub.names import act\n\n\ndef f(x):\n    return act(x)\n")
    assert client.diagnostics(uri) == []
    names = client.open(tree / "sub" / "names.py", "from torch.nn.functional import silu as act\n")
    assert [site["code"] for site in client.diagnostics(uri)] == ["silu-function"]
    client.change(names, 2, {"text": "from torch.nn.functional import gelu as act\n"})
    assert [site["code"] for site in client.diagnostics(uri)] == ["gelu-function"]
    client.notify("textDocument/didClose", textDocument={"uri": names})
    assert client.diagnostics(uri) == []


def test_settings_hold(client, tree):
    (tree / "sub").mkdir()
    for name in ("m.py", "sub/m.py"):
        (tree / name).touch()
    (tree / "refit.toml").write_text("ignore = ['gelu-*']\n")
    (tree / "sub" / "pyproject.toml").write_text("[tool.refit]\nignore = ['silu-*']\n")
    top, sub = client.open(tree / "m.py", TWO), client.open(tree / "sub" / "m.py", TWO)
    assert [site["code"] for site in client.diagnostics(top)] == ["silu-function"]
    assert [site["code"] for site in client.diagnostics(sub)] == ["gelu-function"]
    (tree / "refit.toml").write_text("ignore = 3\n")
    client.notify("textDocument/didSave", textDocument={"uri": top})
    shown = client.wait_for("window/showMessage")
    assert "refit.toml:1:10: `ignore` must be a list of texts" in shown["message"]
    (tree / "refit.toml").write_text("exclude = ['m.py']\n")
    client.notify("workspace/didChangeWatchedFiles", changes=[])
    client.wait_for("textDocument/publishDiagnostics", uri=top, diagnostics=[])


def test_options_of_the_command(binary, tree):
    (tree / "m.py").touch()
    with Client(binary, tree, "--stdio", "--ignore", "gelu-*", "--target", "ascend") as client:
        client.initialize()
        uri = client.open(tree / "m.py", TWO)
        (site,) = client.diagnostics(uri)
        assert (site["data"]["rule"], site["severity"]) == ("silu-function", 4)


def test_a_baseline_holds(client, tree, refit):
    (tree / "m.py").write_text(TWO)
    assert refit("migrate", tree, "--quiet", "--select", "silu-*", "--write-baseline", tree / "known.json").code == 0
    (tree / "refit.toml").write_text("baseline = 'known.json'\n")
    uri = client.open(tree / "m.py", TWO)
    assert [site["code"] for site in client.diagnostics(uri)] == ["gelu-function"]
    edits = edits_of(resolved(client, uri, 4, " [gelu-function]"))[uri]
    assert "F.silu(mindiesd.ext.gelu(x))" in applied(TWO, edits)


def test_cpp(client, tree, refit):
    path = tree / "m.cpp"
    path.touch()
    call = "torch::scaled_dot_product_attention(q, k, v);"
    text = f"#include <torch/torch.h>\n\nat::Tensor f(at::Tensor q, at::Tensor k, at::Tensor v) {{\n  return {call}\n}}\n"
    uri = client.open(path, text)
    (site,) = client.diagnostics(uri)
    assert site["code"] == "sdpa-to-attention-forward"
    edits = edits_of(resolved(client, uri, 3, " [sdpa-to-attention-forward]"))[uri]
    kept = edits_of(resolved(client, uri, 3, "refit: ignore"))[uri]
    assert f"{call}  // refit: ignore[sdpa-to-attention-forward]\n" in applied(text, kept)
    assert applied(text, edits) == migrated(refit, path, text) != text


def test_a_file_outside_the_work_space(client, tree, tmp_path):
    other = tmp_path / "other" / "pack"
    other.mkdir(parents=True)
    (other / "__init__.py").touch()
    (other / "names.py").write_text("from torch.nn.functional import silu as act\n")
    (other / "m.py").touch()
    uri = client.open(other / "m.py", "from .names import act\n\n\ndef f(x):\n    return act(x)\n")
    assert [site["code"] for site in client.diagnostics(uri)] == ["silu-function"]
