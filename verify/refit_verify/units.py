"""Which functions a migration changed, read from both texts of a file without running them.

Entry point: `changed`. A unit is what can be called by a qualified name: a function at the top of a
module, or a method. Where a class's constructor or its bases change, its `forward` is the unit, as
that computes with what they made.
"""

from __future__ import annotations

import ast
import dataclasses

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_BLOCKS = ("body", "orelse", "finalbody", "handlers")
CALLED = ("forward", "__call__")


@dataclasses.dataclass
class Unit:
    """name: qualified in its module, "" for code outside of functions. line: in both texts. sites:
    their numbers. averages: the migrated code calls attention, whose results are weighted means."""

    file: str
    name: str
    line: int
    line_after: int
    sites: list[int]
    averages: bool = False


class _Owners:
    """The functions and the class heads of one text, by qualified name."""

    def __init__(self, source: bytes):
        self.functions: dict[str, list[ast.AST]] = {}
        self.heads: dict[str, list[ast.AST]] = {}
        self.methods: dict[str, set[str]] = {}
        self.classes: dict[str, ast.ClassDef] = {}
        self._walk(ast.parse(source).body)

    def _walk(self, top: list[ast.stmt]) -> None:
        todo = [(statement, "") for statement in reversed(top)]
        while todo:
            node, inside = todo.pop()
            if isinstance(node, FUNCTIONS):
                self.functions.setdefault(inside + node.name, []).append(node)
                continue
            if isinstance(node, ast.ClassDef):
                name = inside + node.name
                self.classes[name] = node
                self.heads.setdefault(name, []).extend([*node.decorator_list, *node.bases])
                self.methods.setdefault(name, set()).update(
                    part.name for part in node.body if isinstance(part, FUNCTIONS)
                )
                todo += [(part, name + ".") for part in reversed(node.body)]
                continue
            parts = [part for block in _BLOCKS for part in getattr(node, block, [])]
            if parts:
                todo += [(part, inside) for part in reversed(parts)]
            elif inside:
                self.heads[inside[:-1]].append(node)

    def owner(self, line: int) -> str | None:
        """The function or class that a line stands in."""
        found, best = None, -1
        for table in (self.functions, self.classes):
            for name, nodes in table.items():
                for node in nodes if isinstance(nodes, list) else [nodes]:
                    first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
                    if first <= line <= node.end_lineno and first > best:
                        found, best = name, first
        return found

    def line_of(self, name: str) -> int:
        nodes = self.functions.get(name) or [self.classes.get(name.rpartition(".")[0])]
        return nodes[0].lineno if nodes[0] is not None else 1


def _texts(nodes: list[ast.AST] | None) -> list[str]:
    return [ast.dump(node) for node in nodes or []]


def _called(owners: _Owners, cls: str) -> str:
    """The method that a class's constructor and bases are judged by."""
    own = owners.methods.get(cls, set())
    return next((name for name in CALLED if name in own), "forward")


def changed(file: str, before: bytes, after: bytes, sites: list[dict]) -> list[Unit]:
    """The units of a file whose code differs, each with the sites in it. A site is `whole` where it
    stands in a class's body or head, which runs when the file is imported."""
    old, new = _Owners(before), _Owners(after)
    found: dict[str, Unit] = {}

    def unit(name: str) -> Unit:
        if name not in found:
            found[name] = Unit(file, name, old.line_of(name), new.line_of(name), [])
        return found[name]

    for name in old.functions:
        if _texts(old.functions[name]) != _texts(new.functions.get(name)):
            unit(_unit_name(old, name))
    for name in old.heads:
        if _texts(old.heads[name]) != _texts(new.heads.get(name)):
            unit(f"{name}.{_called(old, name)}")
    for site in sites:
        owner = old.owner(site["line"])
        site["whole"] = owner in old.classes
        if owner is None:
            one = unit("")
            if not one.sites:
                one.line = one.line_after = site["line"]
            one.sites.append(site["id"])
            continue
        name = f"{owner}.{_called(old, owner)}" if owner in old.classes else _unit_name(old, owner)
        if name in found:
            found[name].sites.append(site["id"])
    for one in found.values():
        nodes = new.functions.get(one.name, [])
        one.averages = any("attention" in name for node in nodes for name in _callees(node))
    return sorted(found.values(), key=lambda one: one.line)


def _unit_name(owners: _Owners, name: str) -> str:
    cls, _, method = name.rpartition(".")
    return f"{cls}.{_called(owners, cls)}" if cls and method == "__init__" else name


def _callees(node: ast.AST):
    for part in ast.walk(node):
        if isinstance(part, ast.Call):
            function = part.func
            yield getattr(function, "attr", getattr(function, "id", ""))
