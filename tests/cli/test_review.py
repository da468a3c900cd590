"""refit review: the page, driven in a real browser, and what it exports."""

import importlib.util
import json
import re
import subprocess
from pathlib import Path

import pytest

spec = importlib.util.spec_from_file_location("browser", Path(__file__).parent / "browser.py")
driver = importlib.util.module_from_spec(spec)
spec.loader.exec_module(driver)

SOURCE = """\
import torch
import torch.nn.functional as F


def first(x):
    return F.gelu(x)


def second(x):
    return F.silu(x)


def third(x):
    return F.gelu(x, approximate="tanh")


def attend(q, k, v, p):
    return F.scaled_dot_product_attention(q, k, v, dropout_p=p)


def refused(q, k, v, **options):
    return F.scaled_dot_product_attention(q, k, v, **options)
"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    program = driver.found()
    if program is None:
        pytest.skip("no Chromium on PATH")
    made = driver.Browser(program, tmp_path_factory.mktemp("browser"))
    yield made
    made.close()


@pytest.fixture
def review(refit, browser, tmp_path):
    """Writes the page of a tree and opens it."""

    def make(tree: Path, *options: str) -> None:
        page = tmp_path / "review.html"
        done = refit("review", tree, "--output", page, *options)
        assert done.code == 0, done.err
        browser.open(page)

    return make


@pytest.fixture
def tree(tree) -> Path:
    (tree / "m.py").write_text(SOURCE)
    (tree / "other.py").write_text("import torch.nn.functional as F\n\n\ndef f(x):\n    return F.silu(x)\n")
    return tree


def heads(browser) -> list[str]:
    return browser.run("[...document.querySelectorAll('.head')].map((head) => head.textContent)")


def current(browser) -> str:
    return browser.run("document.querySelector('.current .head').textContent")


def choose(browser, select: str, value: str) -> None:
    browser.run(f"document.getElementById('{select}').value = {json.dumps(value)}")
    browser.run(f"document.getElementById('{select}').dispatchEvent(new Event('change'))")


def exported(browser) -> tuple[bytes, bytes]:
    browser.press("p")
    patch = browser.downloaded("refit.patch")
    browser.press("c")
    return patch, browser.downloaded("refit-sites.json")


def agree(refit, tree: Path, patch: bytes, choice: bytes, tmp_path: Path) -> dict[str, bytes]:
    """The texts that the patch makes, which are those that the choice makes."""
    names = [path for path in sorted(tree.rglob("*")) if path.is_file()]
    old = {path: path.read_bytes() for path in names}
    (tmp_path / "chosen.json").write_bytes(choice)
    assert refit("migrate", tree, "--write", "--quiet", "--choose", tmp_path / "chosen.json").code == 0
    chosen = {path: path.read_bytes() for path in names}
    for path, data in old.items():
        path.write_bytes(data)
    subprocess.run(["git", "apply", "--whitespace=nowarn", "-"], cwd=tree, input=patch, check=True)
    assert {path: path.read_bytes() for path in names} == chosen
    return {path.name: data for path, data in chosen.items()}


def test_reject_two_sites_and_take_the_rest(refit, review, browser, tree, tmp_path):
    review(tree)
    assert len(heads(browser)) == 6
    choose(browser, "rule", "gelu-function")
    assert len(heads(browser)) == 2
    assert "line 6" in current(browser)
    browser.press("r")
    browser.press("j")
    assert "line 14" in current(browser)
    browser.press("r")
    choose(browser, "rule", "")
    assert "3 of 5 that can be rewritten are accepted" in browser.run("document.getElementById('count').textContent")
    texts = agree(refit, tree, *exported(browser), tmp_path)
    assert texts["m.py"].count(b"F.gelu(x") == 2
    assert b"mindiesd.ext.silu(x)" in texts["m.py"]
    assert b"attention_forward" in texts["m.py"]
    assert b"mindiesd.ext.silu(x)" in texts["other.py"]
    for name, text in texts.items():
        compile(text, name, "exec")
    assert browser.complaints() == []


def test_keys_and_filters(review, browser, tree):
    review(tree)
    browser.press("/")
    assert browser.run("document.activeElement.id") == "search"
    for key in "silu":
        browser.press(key)
    assert [head.split("line")[0] for head in heads(browser)] == ["AcceptRejectrewrittensilu-function"] * 2
    browser.press("Escape")
    browser.press("R")
    assert len(browser.run("[...document.querySelectorAll('.rejected')].map(String)")) == 2
    browser.press("k")
    browser.press("a")
    assert len(browser.run("[...document.querySelectorAll('.rejected')].map(String)")) == 1
    browser.press("A")
    assert browser.run("document.querySelectorAll('.rejected').length") == 0
    browser.run("document.getElementById('search').value = ''")
    for select, value, count in [("outcome", "refused", 1), ("outcome", "assuming", 1), ("file", "other.py", 1)]:
        choose(browser, select, value)
        browser.run("document.getElementById('search').dispatchEvent(new Event('input'))")
        assert len(heads(browser)) == count
        choose(browser, select, "")
    choose(browser, "assumption", browser.run("document.getElementById('assumption').options[1].value"))
    assert "assumes: dropout_p == 0" in browser.run("document.querySelector('.says').textContent")
    choose(browser, "assumption", "")
    browser.press("?")
    assert browser.run("document.getElementById('keys').open")
    browser.press("Escape")
    assert browser.complaints() == []


def test_words_that_change_are_marked(review, browser, tree):
    review(tree, "--select", "silu-function", "--include", "other.py")
    marks = browser.run("[...document.querySelectorAll('.side mark')].map((mark) => mark.textContent)")
    assert "F.silu" in marks
    assert "mindiesd.ext.silu" in marks


def test_a_refused_site_says_why(review, browser, tree):
    review(tree)
    choose(browser, "outcome", "refused")
    assert "refused: splatted-arguments" in current(browser)
    assert browser.run("document.querySelector('.says').textContent").startswith("why: ")
    assert "**options" in browser.run("document.querySelector('.side.site').textContent")
    assert browser.run("document.querySelectorAll('.current button').length") == 0


def test_what_was_rejected_stays_rejected(review, browser, tree):
    review(tree)
    browser.press("r")
    review(tree)
    assert browser.run("document.querySelectorAll('.rejected').length") == 1
    browser.press("a")


def test_hostile_names_and_sources_stay_text(review, browser, tree):
    attack = "</script><script>window.harmed = 1</script><img src=x onerror='window.harmed = 2'><!--"
    (tree / "<img src=x onerror=window.harmed=3>.py").write_text(
        f"import torch.nn.functional as F\n\n\ndef f(x):\n    # {attack}\n    return F.silu(x, {attack!r})\n"
        f"\n\ndef g(x):\n    return F.silu(x)  # {attack}\n"
    )
    review(tree)
    assert browser.run("window.harmed") is None
    assert browser.run("document.images.length") == 0
    assert browser.run("document.scripts.length") == 3
    assert attack in browser.run("document.getElementById('rows').textContent")
    assert "<img src=x onerror=window.harmed=3>.py" in browser.run("document.getElementById('rows').textContent")
    assert browser.complaints() == []


@pytest.mark.parametrize(
    "data",
    [
        SOURCE.replace("\n", "\r\n").encode(),
        b"\xef\xbb\xbf" + SOURCE.encode(),
        SOURCE.encode().rstrip(b"\n"),
        SOURCE.replace("def second", "NAME = '\U0001f600 füß'; F.gelu(NAME)\n\n\ndef second").encode(),
        SOURCE.replace("F.silu(x)", "F.silu(F.gelu(x))").encode(),
    ],
    ids=["CRLF", "BOM", "no last line end", "beyond ASCII", "a site in another"],
)
def test_patches_of_unusual_texts(refit, review, browser, tree, tmp_path, data):
    (tree / "m.py").write_bytes(data)
    review(tree)
    browser.press("r")
    texts = agree(refit, tree, *exported(browser), tmp_path)
    assert b"attention_forward" in texts["m.py"]


def test_what_a_patch_cannot_hold_is_said(review, browser, tree):
    (tree / "m.py").write_bytes(b"# coding: latin-1\n" + SOURCE.replace("return F.silu", "'\xe4'; return F.silu").encode("latin-1"))
    review(tree)
    patch, choice = exported(browser)
    assert "m.py is not in UTF-8" in browser.run("document.getElementById('message').textContent")
    assert b"m.py" not in patch
    assert b'"m.py"' in choice


def test_five_thousand_sites(review, browser, tree):
    functions = "".join(f"\n\ndef f{n}(x):\n    return F.silu(x + {n})\n" for n in range(100))
    for n in range(50):
        (tree / f"m{n}.py").write_text("import torch.nn.functional as F\n" + functions)
    review(tree)
    press = """(async (key) => {
        const start = performance.now();
        document.dispatchEvent(new KeyboardEvent("keydown", {key}));
        document.body.getBoundingClientRect();
        return performance.now() - start;
    })"""
    for key in "jjjkarjR":
        assert browser.run(f"{press}({key!r})") < 100, key
    browser.run("document.getElementById('list').scrollTop = 1e6")
    assert browser.run("new Promise((done) => requestAnimationFrame(() => done(document.querySelectorAll('.item').length)))") < 50
    seconds = """(() => {
        const start = performance.now(), search = document.getElementById("search");
        search.value = "f77 m3";
        search.dispatchEvent(new Event("input"));
        document.body.getBoundingClientRect();
        return performance.now() - start;
    })()"""
    assert browser.run(seconds) < 100
    assert "of 5006 sites shown" in browser.run("document.getElementById('count').textContent")


def test_light_and_dark(review, browser, tree):
    review(tree)
    seen = set()
    for scheme in ("light", "dark"):
        browser.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        seen.add(browser.run("getComputedStyle(document.body).backgroundColor + getComputedStyle(document.body).color"))
    assert len(seen) == 2
    browser.ask("Emulation.setEmulatedMedia", features=[])


def test_the_page_is_whole(refit, tree, tmp_path):
    done = refit("review", tree, "--output", "-", "--quiet")
    assert done.code == 0
    page = done.out.decode()
    assert not re.search(r"\b(src|href)=|@import|url\(", page)
    assert re.search(r"script-src 'sha256-[A-Za-z0-9+/]{43}='", page)
    report = json.loads(re.search(r'id="report">([^<]*)<', page)[1])
    assert len(report["sites"]) == 6
    files = json.loads(re.search(r'id="files">([^<]*)<', page)[1])
    assert files["m.py"]["text"] == SOURCE
    assert files["m.py"]["patch"].startswith("diff --git a/m.py b/m.py\n")


def test_where_the_page_goes(refit, tree, tmp_path):
    assert refit("review", tree, cwd=tmp_path).code == 0
    assert (tmp_path / "refit-review.html").read_text().startswith("<!doctype html>")
    done = refit("review", tree, "--output", tmp_path / "none" / "page.html")
    assert done.code == 6
    assert "cannot write the review" in done.err
    assert refit("review", tree / "absent").code == 3
    assert refit("review", tree, "--write").code == 2
    assert (tree / "m.py").read_text() == SOURCE
