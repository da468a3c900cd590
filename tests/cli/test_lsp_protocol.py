"""refit lsp: texts that are edited, the life of a server, and clients that send nonsense."""

import importlib.util
import json
import os
from pathlib import Path
from random import Random

import pytest

spec = importlib.util.spec_from_file_location("lsp_client", Path(__file__).parent / "lsp_client.py")
lsp = importlib.util.module_from_spec(spec)
spec.loader.exec_module(lsp)
Client, frame = lsp.Client, lsp.frame

TWO = "import torch.nn.functional as F\n\n\ndef f(x):\n    return F.silu(F.gelu(x))\n"
RULE = """\
id: softer
summary: one activation becomes another
subject: activation
match:
  call: torch.nn.functional.mish
rewrites:
  - target: cuda
    with: mindiesd.ext.silu($input)
"""


@pytest.fixture
def raw(binary, tree):
    """A server that nothing was said to yet."""
    (tree / ".git").mkdir()
    (tree / "m.py").touch()
    with Client(binary, tree) as made:
        yield made


@pytest.fixture
def client(raw):
    raw.initialize()
    return raw


def place(line: int, character: int) -> dict:
    return {"line": line, "character": character}


def change(start: tuple[int, int], end: tuple[int, int], text: str) -> dict:
    return {"range": {"start": place(*start), "end": place(*end)}, "text": text}


def columns(sites: list[dict]) -> list[tuple[str, int, int]]:
    return [(s["code"], s["range"]["start"]["line"], s["range"]["start"]["character"]) for s in sites]


def test_edits_of_a_text(client, tree):
    uri = client.open(tree / "m.py", "# 𝄞\n" + TWO)
    assert columns(client.diagnostics(uri)) == [("silu-function", 5, 11), ("gelu-function", 5, 18)]
    # Behind the clef, which is two units of UTF-16 and four bytes; then in front of the sites.
    client.change(uri, 2, change((0, 4), (0, 4), "\nx = 1"), change((6, 4), (6, 10), "y = '𝄞', "))
    assert columns(client.diagnostics(uri, 2)) == [("silu-function", 6, 15), ("gelu-function", 6, 22)]
    client.change(uri, 3, change((0, 3), (1, 5), ""))  # the middle of the clef is its beginning
    assert columns(client.diagnostics(uri, 3)) == [("silu-function", 5, 15), ("gelu-function", 5, 22)]
    client.change(uri, 4, change((5, 14), (99, 99), "x\n"))
    assert client.diagnostics(uri, 4) == []
    client.change(uri, 5, {"text": TWO})
    assert columns(client.diagnostics(uri, 5)) == [("silu-function", 4, 11), ("gelu-function", 4, 18)]
    client.notify("textDocument/didClose", textDocument={"uri": uri})
    assert client.wait_for("textDocument/publishDiagnostics", uri=uri)["diagnostics"] == []
    assert client.close() == 0


def test_what_is_old_is_not_shown(client, tree):
    uri = client.open(tree / "m.py", TWO)
    for version in range(2, 40):
        client.change(uri, version, change((0, 0), (0, 0), "#\n"))
    client.diagnostics(uri, 39)
    # The numbers of versions only rise, and few were worth a run.
    client.ask("textDocument/hover", textDocument={"uri": uri}, position=place(0, 0))
    client.change(uri, 40, {"text": TWO.replace("silu", "mish")})
    assert columns(client.diagnostics(uri, 40)) == [("gelu-function", 4, 18)]


def test_an_action_for_an_old_text_is_refused(binary, tree):
    (tree / "m.py").touch()
    resolves = {"codeAction": {"resolveSupport": {"properties": ["edit"]}}}
    with Client(binary, tree, textDocument=resolves) as client:
        client.initialize()
        uri = client.open(tree / "m.py", TWO)
        action, *_ = client.actions(uri, 4)
        client.change(uri, 2, {"text": "#" + TWO})
        assert client.error("codeAction/resolve", **action)["code"] == -32801
        client.notify("textDocument/didClose", textDocument={"uri": uri})
        client.open(tree / "m.py", "##" + TWO)
        assert client.error("codeAction/resolve", **action)["code"] == -32801
        for data in (None, 1, {}, {"do": "site"}, action["data"] | {"do": "harm"}, action["data"] | {"line": -1}):
            assert client.error("codeAction/resolve", title="x", data=data)["code"] == -32602


def test_requests_outside_a_life(raw, tree):
    assert raw.error("textDocument/hover")["code"] == -32002
    assert raw.error("shutdown")["code"] == -32002
    raw.open(tree / "m.py", TWO)  # too early to count
    raw.initialize()
    assert raw.error("initialize", capabilities={})["code"] == -32600
    assert raw.error("textDocument/rename")["code"] == -32601
    assert raw.error("$/nonsense")["code"] == -32601
    raw.notify("$/nonsense")
    assert raw.request("textDocument/hover", textDocument={"uri": (tree / "m.py").as_uri()}, position=place(4, 0)) is None
    assert raw.request("shutdown") is None
    assert raw.error("textDocument/hover")["code"] == -32600
    raw.notify("exit")
    assert raw.process.wait(timeout=60) == 0


@pytest.mark.parametrize("before", ["nothing", "initialize"])
@pytest.mark.parametrize("how", ["exit", "end"])
def test_a_client_that_leaves_without_shutdown(raw, before, how):
    if before == "initialize":
        raw.initialize()
    if how == "exit":
        raw.notify("exit")
    raw.process.stdin.close()
    assert raw.process.wait(timeout=60) == 1


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (frame(b"{"), -32700),
        (frame(b""), -32700),
        (frame(b'{"jsonrpc": "2.0", "method": "\xff"}'), -32700),
        (frame(b'"\\ud834"'), -32700),
        (frame(b"[" * 100000), -32700),
        (frame(b"[" * 100000 + b"]" * 100000), -32600),
        (b"Content-Length: many\r\n\r\n", -32700),
        (b"Content-Length: -1\r\n\r\n", -32700),
        (b"Content-Length: 99999999999999999999999\r\n\r\n", -32700),
        (b"nonsense\r\nContent-Type: x\r\n\r\n", -32700),
        (b"Content-Length: 70000000\r\n\r\n" + b" " * 70000000, -32700),
        (frame(b"[]"), -32600),
        (frame(b"null"), -32600),
        (frame({"jsonrpc": "2.0", "id": {}, "method": "shutdown"}), -32600),
        (frame({"jsonrpc": "2.0", "method": 3}), -32600),
    ],
)
def test_nonsense_is_answered(client, tree, data, code):
    client.write(data)
    assert client.answer(None)["error"]["code"] == code
    uri = client.open(tree / "m.py", TWO)
    assert len(client.diagnostics(uri)) == 2
    assert client.close() == 0


@pytest.mark.parametrize("data", [b"x" * 20000, b"Content-Length: 10\r\n\r\n{", b"Content-Length", b"a: b\r\n" * 100])
def test_a_stream_that_breaks_off(client, data):
    client.write(data)
    client.process.stdin.close()
    assert client.answer(None)["error"]["code"] == -32700
    assert client.process.wait(timeout=60) == 1


ODD = [None, 0, -1, 1.5, True, "", "x", [], {}, [None], {"uri": 3}, {"uri": "file:///%zz"}, {"line": -1, "character": 2**70}]


def test_parameters_that_make_no_sense(client, tree):
    uri = client.open(tree / "m.py", TWO)
    client.diagnostics(uri)
    for odd in ODD:
        document = {"uri": uri, "version": odd, "text": odd}
        for method in ("textDocument/hover", "textDocument/codeAction", "codeAction/resolve"):
            for params in (
                odd,
                {"textDocument": odd, "position": odd, "range": odd, "context": odd},
                {"textDocument": document, "position": {"line": odd, "character": odd}, "range": {"start": odd, "end": odd}},
                {"textDocument": document, "range": {"start": place(0, 0), "end": place(9, 9)}, "context": {"only": odd}},
            ):
                client.number += 1
                client.write(frame({"jsonrpc": "2.0", "id": client.number, "method": method, "params": params}))
                answer = client.answer(client.number)
                assert "result" in answer or answer["error"]["code"] == -32602
        for method in ("didOpen", "didChange", "didClose", "didSave"):
            client.write(frame({"jsonrpc": "2.0", "method": f"textDocument/{method}", "params": odd}))
            client.notify(f"textDocument/{method}", textDocument=odd, contentChanges=odd)
        client.notify("textDocument/didOpen", textDocument=document | {"uri": odd})
        client.notify("workspace/didChangeWorkspaceFolders", event={"added": odd, "removed": [odd]})
        client.write(frame({"jsonrpc": "2.0", "id": 1000000, "result": odd}))
        client.notify("$/cancelRequest", id=odd)
    assert columns(client.reopened(uri, TWO)) == [("silu-function", 4, 11), ("gelu-function", 4, 18)]
    assert client.close() == 0


@pytest.mark.parametrize("odd", [3, {}, {"text": 1}, change((1, 0), (0, 0), "x"), {"range": 1, "text": ""}])
def test_a_change_that_makes_no_sense(client, tree, odd):
    uri = client.open(tree / "m.py", TWO)
    client.diagnostics(uri)
    client.change(uri, 2, odd)
    assert "until it is opened again" in client.wait_for("window/showMessage")["message"]
    assert client.wait_for("textDocument/publishDiagnostics", uri=uri)["diagnostics"] == []
    uri = client.open(tree / "m.py", TWO, 3)
    assert len(client.diagnostics(uri, 3)) == 2


def test_requests_wait_until_the_keys_rest(client, tree):
    uri = client.open(tree / "m.py", TWO)
    client.diagnostics(uri)
    hover = {"textDocument": {"uri": uri}, "position": place(5, 0)}
    client.change(uri, 2, {"text": "#\n" + TWO})
    old, cancelled = client.ask("textDocument/hover", **hover), client.ask("textDocument/hover", **hover)
    client.notify("$/cancelRequest", id=cancelled)
    assert client.answer(cancelled)["error"]["code"] == -32800
    client.change(uri, 3, {"text": "##\n" + TWO})
    new = client.ask("textDocument/hover", **hover)
    assert client.answer(old)["error"]["code"] == -32801
    assert "[silu-function]" in client.answer(new)["result"]["contents"]["value"]
    client.change(uri, 4, {"text": TWO})
    last = client.ask("textDocument/hover", **hover)
    client.notify("textDocument/didClose", textDocument={"uri": uri})
    assert client.answer(last)["result"] is None
    uri = client.open(tree / "m.py", TWO, 5)
    client.diagnostics(uri, 5)
    client.change(uri, 6, {"text": "#\n" + TWO})
    last = client.ask("textDocument/hover", **hover)
    down = client.ask("shutdown")
    assert client.answer(last)["error"]["code"] == -32800
    assert client.answer(down)["result"] is None


def test_files_are_watched_where_the_client_can(binary, tree):
    (tree / "m.py").touch()
    with Client(binary, tree, workspace={"didChangeWatchedFiles": {"dynamicRegistration": True}}) as client:
        client.initialize()
        asked = client.next()
        client.write(frame({"jsonrpc": "2.0", "id": asked["id"], "result": None}))
        (registration,) = asked["params"]["registrations"]
        globs = [watcher["globPattern"] for watcher in registration["registerOptions"]["watchers"]]
        assert {"**/*.py", "**/*.hpp", "**/*.yaml", "**/refit.toml"} < set(globs)
        uri = client.open(tree / "m.py", TWO)
        assert len(client.diagnostics(uri)) == 2
        (tree / "refit.toml").write_text("ignore = ['gelu-*']\n")
        client.notify("workspace/didChangeWatchedFiles", changes=[{"uri": (tree / "refit.toml").as_uri(), "type": 1}])
        place_of = {"textDocument": {"uri": uri}, "position": place(4, 0)}
        assert "[gelu-function]" not in client.request("textDocument/hover", **place_of)["contents"]["value"]


@pytest.mark.parametrize("seed", range(12))
def test_a_damaged_session(raw, tree, seed):
    """Bytes that are lost, doubled and exchanged on the way end no server but by its own exit."""
    random = Random(seed)
    uri = (tree / "m.py").as_uri()
    document = {"uri": uri, "version": 1, "text": TWO, "languageId": "python"}
    whole = {"start": place(0, 0), "end": place(9, 0)}
    messages = [
        ("textDocument/didOpen", {"textDocument": document}),
        ("textDocument/didChange", {"textDocument": document, "contentChanges": [change((4, 4), (4, 5), "𝄞"), {"text": TWO}]}),
        ("textDocument/codeAction", {"textDocument": document, "range": whole, "context": {"only": ["quickfix", "source"]}}),
        ("textDocument/hover", {"textDocument": document, "position": place(4, 12)}),
        ("textDocument/didSave", {"textDocument": document}),
    ]
    raw.initialize()
    for number in range(40):
        method, params = random.choice(messages)
        body = bytearray(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode())
        if number % 2 == 0 or "did" in method:
            body = body.replace(b'"id": %d, ' % number, b"")
        for _ in range(random.choice([0, 1, 1, 3])):
            at = random.randrange(len(body))
            body[at : at + random.choice([0, 1, 9])] = random.choice([b"", b'"', b"}", b"[", b"-1", b"null", b"\xff", b"\\u0000"])
        data = frame(bytes(body))
        if random.random() < 0.1:
            data = data[random.randrange(30) :] + b"\r\n\r\n"
        raw.write(data)
    raw.process.stdin.close()
    assert raw.process.wait(timeout=120) == 1
    assert raw.process.stderr.read() == b""
    assert (tree / "m.py").read_bytes() == b""


def test_nothing_is_written(client, tree):
    before = {path: path.read_bytes() for path in tree.rglob("*") if path.is_file()}
    uri = client.open(tree / "m.py", TWO)
    client.diagnostics(uri)
    for action in client.actions(uri, 4):
        assert action["edit"]
    assert client.close() == 0
    assert {path: path.read_bytes() for path in tree.rglob("*") if path.is_file()} == before


def test_other_documents_are_left_alone(client, tree):
    for name in ("notes.txt", "settings.yaml", "x.py"):
        (tree / name).write_text("")
    for uri in ("untitled:Untitled-1", "https://example.org/m.py", "file://elsewhere/m.py", (tree / "notes.txt").as_uri()):
        client.notify("textDocument/didOpen", textDocument={"uri": uri, "version": 1, "text": TWO})
        assert client.request("textDocument/hover", textDocument={"uri": uri}, position=place(4, 0)) is None
    assert client.diagnostics(client.open(tree / "settings.yaml", "match: [")) == []
    # Not on disk yet, so no file of the tree.
    assert client.diagnostics(client.open(tree / "new.py", TWO)) == []


def test_a_path_with_odd_letters(client, tree):
    path = tree / "a b" / "ü#%.py"
    path.parent.mkdir()
    path.touch()
    uri = client.open(path, TWO)
    assert len(client.diagnostics(uri)) == 2
    link = tree / "link.py"
    os.symlink(path, link)
    assert len(client.diagnostics(client.open(link, TWO))) == 2


def test_rule_files_are_checked_as_they_are_typed(client, tree):
    package = tree / "team"
    package.mkdir()
    (package / "package.yaml").write_text("name: team\nversion: '1'\n")
    path = package / "rules.yaml"
    path.write_text(RULE)
    uri = client.open(path, RULE)
    (doubt, *_) = client.diagnostics(uri)
    assert doubt["severity"] == 3
    assert "no test shows what it rewrites" in doubt["message"]
    client.change(uri, 2, {"text": RULE.replace("match:", "matsh:")})
    (error,) = [error for error in client.diagnostics(uri, 2) if "did you mean `match`?" in error["message"]]
    assert (error["severity"], error["range"]["start"]) == (1, place(3, 0))
    client.change(uri, 3, {"text": RULE + "  bad: [\n"})
    assert client.diagnostics(uri, 3)[0]["severity"] == 1
    client.change(uri, 4, {"text": RULE.replace("$input", "$imput")})
    (error,) = client.diagnostics(uri, 4)
    assert (error["severity"], error["range"]["start"]["line"]) == (1, 7)
    assert path.read_text() == RULE


def test_a_rule_file_that_names_the_schema(client, tree):
    path = tree / "mine.yaml"
    path.touch()
    uri = client.open(path, "# yaml-language-server: $schema=rule.schema.json\n" + RULE.replace("softer", "silu-function"))
    (error,) = client.diagnostics(uri)
    assert "the rule `silu-function` exists already" in error["message"]
    assert error["range"] == {"start": place(1, 4), "end": place(1, 17)}


def test_the_rules_of_the_settings(client, tree):
    (tree / "refit.toml").write_text("rules = ['mine']\n")
    (tree / "mine").mkdir()
    (tree / "mine" / "a.yaml").write_text(RULE)
    uri = client.open(tree / "m.py", TWO.replace("silu", "mish"))
    assert [site["code"] for site in client.diagnostics(uri)] == ["softer", "gelu-function"]
    rules = client.open(tree / "mine" / "a.yaml", "id: [")
    assert client.diagnostics(rules)[0]["severity"] == 1
