"""What a migration changed, function by function, in a form in which equal changes are equal texts.

Entry points: `changes` (one file) and `Change`. A function's statements before and after are
compared as `ast.unparse` prints them, so that layout, quotes and comments do not count; of each
maximal run of statements that differ, the old ones stand first. Identifiers that the code chose
(variables, parameters, attributes that are not called) are numbered in order of first appearance;
names of modules, of builtins, of keyword arguments and of methods that are called stay, for they
decide what is computed.
"""

import ast
import builtins
import dataclasses
import difflib
import functools
import hashlib
import keyword
import re

# Names that stay wherever they stand: roots of libraries, and attributes that every tensor has.
LIBRARIES = frozenset(
    "torch F nn math np numpy einops rearrange repeat reduce einsum mindiesd flash_attn xformers "
    "functional ext self cls".split()
)
TENSOR_ATTRIBUTES = frozenset(
    "dtype shape ndim device T mT real imag is_cuda training weight bias eps".split()
)
NAME = re.compile(r"[A-Za-z_]\w*")
TOKEN = re.compile(
    r"(?P<string>[rbfuRBFU]{0,2}(?:'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\"))"
    r"|(?P<name>[A-Za-z_]\w*)|(?P<number>\d[\w.]*)|(?P<other>\s+|.)",
    re.S,
)


@dataclasses.dataclass(frozen=True)
class Change:
    """One function (or class body, or module level) that differs.

    owner: its path in the module, "" for the module itself. line: its first line before. removed
    and added: runs of statements, in order. text: both, normalised; digest: the hash of text.
    """

    owner: str
    line: int
    hunks: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]

    @functools.cached_property
    def text(self) -> str:
        lines = []
        for removed, added in self.hunks:
            lines += [f"- {line}" for text in removed for line in text.splitlines()]
            lines += [f"+ {line}" for text in added for line in text.splitlines()]
            lines.append("")
        return normalise("\n".join(lines[:-1]))

    @property
    def raw(self) -> str:
        lines = []
        for removed, added in self.hunks:
            lines += [f"- {line}" for text in removed for line in text.splitlines()]
            lines += [f"+ {line}" for text in added for line in text.splitlines()]
            lines.append("")
        return "\n".join(lines[:-1])

    @functools.cached_property
    def digest(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()[:16]


def changes(before: str, after: str) -> list[Change]:
    """What differs between two versions of one file, imports aside."""
    trees = ast.parse(before), ast.parse(after)
    sources = [
        {key: (node, text) for key, node, text in _definitions(tree, source)}
        for tree, source in zip(trees, (before, after), strict=True)
    ]
    same = {
        key
        for key in sources[0].keys() & sources[1].keys()
        if sources[0][key][1] == sources[1][key][1]
    }
    old, new = (
        _owners(tree, {id(found[key][0]) for key in same})
        for tree, found in zip(trees, sources, strict=True)
    )
    found = []
    for key in old.keys() | new.keys():
        line, was = old.get(key, (0, []))
        _, now = new.get(key, (0, []))
        if was == now:
            continue
        hunks = []
        matcher = difflib.SequenceMatcher(None, was, now, autojunk=False)
        for tag, a, b, c, d in matcher.get_opcodes():
            if tag != "equal":
                hunks.append((tuple(t for _, t in was[a:b]), tuple(t for _, t in now[c:d])))
        found.append(Change(key[0], line, tuple(hunks)))
    return sorted(found, key=lambda change: (change.line, change.owner))


def _definitions(tree: ast.Module, source: str):
    """((path, how often it was met), node, its lines) for every function and class, in the order of
    `_owners`. Those with equal lines in both versions need no look inside."""
    lines = source.splitlines()
    met: dict[str, int] = {}

    def visit(body, path: str):
        for node in body:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                inner = f"{path}.{node.name}".lstrip(".")
                number = met[inner] = met.get(inner, -1) + 1
                first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
                yield (inner, number), node, lines[first - 1 : node.end_lineno]
                yield from visit(node.body, inner)
            else:
                for _, block in _blocks(node):
                    yield from visit(block, path)

    return visit(tree.body, "")


def _owners(tree: ast.Module, same: set[int]) -> dict:
    """(path, how often it was met) -> first line, [(depth, statement)]. same: definitions, by
    identity, that stand in both versions and are left out."""
    owners: dict = {}
    met: dict[str, int] = {}

    def enter(path: str, line: int) -> list:
        number = met[path] = met.get(path, -1) + 1
        owners[path, number] = (line, [])
        return owners[path, number][1]

    def visit(body, into: list, path: str, depth: int, left_out: bool) -> None:
        for node in body:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                inner = f"{path}.{node.name}".lstrip(".")
                own = enter(inner, node.lineno)
                out = left_out or id(node) in same
                if not out:
                    own.append((0, _header(node)))
                visit(node.body, own, inner, 1, out)
            elif isinstance(node, (ast.Import, ast.ImportFrom)):
                continue
            elif _blocks(node):
                if not left_out:
                    into.append((depth, _header(node)))
                for name, block in _blocks(node):
                    if name and not left_out:
                        into.append((depth, name))
                    visit(block, into, path, depth + 1, left_out)
            elif not left_out:
                into.append((depth, ast.unparse(node)))

    visit(tree.body, enter("", 1), "", 0, False)
    return owners


def _blocks(node: ast.stmt) -> list[tuple[str, list]]:
    """The blocks of a compound statement, with what introduces each but the first."""
    blocks = []
    if isinstance(getattr(node, "body", None), list):
        blocks.append(("", node.body))
    for handler in getattr(node, "handlers", []):
        kind = ast.unparse(handler.type) if handler.type else ""
        blocks.append((f"except {kind}:", handler.body))
    for case in getattr(node, "cases", []):
        blocks.append((f"case {ast.unparse(case.pattern)}:", case.body))
    if getattr(node, "orelse", None):
        blocks.append(("else:", node.orelse))
    if getattr(node, "finalbody", None):
        blocks.append(("finally:", node.finalbody))
    return blocks


def _header(node: ast.stmt) -> str:
    """The first line of a compound statement, with its decorators."""
    text = ast.unparse(_without_blocks(node))
    lines = text.splitlines()
    for number, line in enumerate(lines):
        if not line.startswith("@"):
            return "\n".join(lines[: number + 1])
    return text


def _without_blocks(node: ast.stmt) -> ast.stmt:
    """The statement with `pass` for each of its blocks."""
    fields = {name: value for name, value in ast.iter_fields(node)}
    for name in ("body", "orelse", "finalbody", "handlers", "cases"):
        if isinstance(fields.get(name), list):
            fields[name] = [ast.Pass()] if name == "body" else []
    if isinstance(node, (ast.Try,)):
        fields["finalbody"] = [ast.Pass()]
    if isinstance(node, ast.Match):
        fields["cases"] = [ast.match_case(ast.MatchAs(), None, [ast.Pass()])]
    return ast.copy_location(type(node)(**fields), node)


def normalise(text: str) -> str:
    """The text with the code's own identifiers numbered: the first is a1, the next a2."""
    tokens = [(match.lastgroup, match.group()) for match in TOKEN.finditer(text)]
    solid = [i for i, (_, token) in enumerate(tokens) if not token.isspace()]
    position = {index: place for place, index in enumerate(solid)}
    numbers: dict[str, str] = {}
    out = []
    in_library = False
    for index, (kind, token) in enumerate(tokens):
        if kind != "name":
            out.append(token)
            continue
        place = position[index]
        previous = tokens[solid[place - 1]][1] if place else ""
        following = tokens[solid[place + 1]][1] if place + 1 < len(solid) else ""
        after_dot = previous == "."
        called = following == "("
        in_library = (in_library and after_dot) or (not after_dot and token in LIBRARIES - {"self", "cls"})
        is_keyword = following == "=" and previous in ("(", ",") and not after_dot
        stays = (
            keyword.iskeyword(token)
            or in_library
            or (after_dot and (called or token in TENSOR_ATTRIBUTES))
            or is_keyword
            or (not after_dot and (token in LIBRARIES or hasattr(builtins, token)))
        )
        if stays:
            out.append(token)
        else:
            out.append(numbers.setdefault(token, f"a{len(numbers) + 1}"))
    return "".join(out)
