"""Which files decide the outcomes of a run: those with a site, and those without one that say what a
site names. `deciding_files` takes the JSON report of `refit migrate`
and the folder that it was run over.

Read with Python's own parser, independently of the tool: for each site the imports behind the names
on its lines, behind what its class gives to the attributes that it reads, and behind the class's
bases, each followed through re-exports to the definition; and the files that define a class which
inherits from the site's class.
"""

import ast
import bisect
import re
import sys
import warnings
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

CLASS = re.compile(rb"^[ \t]*class[ \t]+(\w+)[ \t]*\(([^)]*)\)", re.MULTILINE)


@dataclass
class Module:
    tree: ast.Module
    name: str
    package: bool
    imports: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    stars: list[str] = field(default_factory=list)


class Tree:
    def __init__(self, root: Path, folder: Path):
        self.root = root
        self.modules: dict[str, Module | None] = {}
        self.names: dict[str, str] = {}  # module -> file
        for path in folder.rglob("*.py"):
            relative = path.relative_to(root).as_posix()
            name, _ = module_name(relative)
            self.names.setdefault(name, relative)
            # A package under a folder that is none is imported by its own name.
            parts = relative.split("/")
            for depth in range(1, len(parts)):
                if (root / "/".join(parts[:depth]) / "__init__.py").exists():
                    break
                self.names.setdefault(module_name("/".join(parts[depth:]))[0], relative)

    def module(self, file: str) -> Module | None:
        if file not in self.modules:
            self.modules[file] = self.read(file)
        return self.modules[file]

    def read(self, file: str) -> Module | None:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tree = ast.parse((self.root / file).read_bytes())
        except (SyntaxError, ValueError, RecursionError):
            return None
        module = Module(tree, *module_name(file))
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                for name in node.names:
                    bound = name.asname or name.name.split(".")[0]
                    module.imports[bound].append(name.name if name.asname else bound)
            elif isinstance(node, ast.ImportFrom):
                origin = absolute(node, module)
                for name in node.names:
                    if name.name == "*":
                        module.stars.append(origin)
                    else:
                        module.imports[name.asname or name.name].append(f"{origin}.{name.name}")
        return module

    def follow(self, qualified: str, found: set[str], depth: int = 0) -> None:
        """Adds the files that say what a qualified name means."""
        parts = qualified.split(".")
        for length in range(len(parts), 0, -1):
            file = self.names.get(".".join(parts[:length]))
            if file is None:
                continue
            if file in found and depth > 0:
                return
            found.add(file)
            module = self.module(file)
            if length == len(parts) or module is None or depth > 16:
                return
            for further in module.imports.get(parts[length], []):
                self.follow(".".join([further, *parts[length + 1 :]]), found, depth + 1)
            return


def module_name(relative: str) -> tuple[str, bool]:
    parts = relative.removesuffix(".py").split("/")
    package = parts[-1] == "__init__"
    return ".".join(parts[:-1] if package else parts), package


def absolute(node: ast.ImportFrom, module: Module) -> str:
    if node.level == 0:
        return node.module or ""
    parts = module.name.split(".")
    parts = parts[: len(parts) - node.level + (1 if module.package else 0)]
    return ".".join([*parts, *([node.module] if node.module else [])])


def dotted(node: ast.expr) -> list[str]:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.insert(0, node.attr)
        node = node.value
    return [node.id, *parts] if isinstance(node, ast.Name) else []


def within(ranges: list[tuple[int, int]], node: ast.expr) -> bool:
    """Whether a node stands in one of some ranges of lines, which are sorted."""
    at = bisect.bisect_right(ranges, (node.lineno, sys.maxsize))
    return at > 0 and (node.end_lineno or 0) <= ranges[at - 1][1]


def merged(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    out: list[tuple[int, int]] = []
    for begin, end in sorted(ranges):
        if out and begin <= out[-1][1]:
            out[-1] = (out[-1][0], max(end, out[-1][1]))
        else:
            out.append((begin, end))
    return out


def stored(owner: ast.ClassDef, attributes: set[str]) -> list[ast.expr]:
    """What a class gives to attributes of `self`."""
    values = []
    for node in ast.walk(owner):
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(dotted(target)[:1] == ["self"] and dotted(target)[1:2] and
                   dotted(target)[1] in attributes for target in targets):
                values.append(node.value)
    return values


def deciding_files(report: dict, folder: Path) -> list[str]:
    """Files under `folder`, relative to the report's root, on which some outcome depends."""
    tree = Tree(Path(report["root"]), folder)
    lines: dict[str, list[tuple[int, int]]] = defaultdict(list)
    found: set[str] = set()
    owners: dict[bytes, str] = {}
    for site in report["sites"]:
        lines[site["file"]].append((site["line"], site["end_line"]))
    for file in lines:
        found.add(file)
        module = tree.module(file)
        if module is None:
            continue
        ranges = merged(lines[file])
        nodes = list(ast.walk(module.tree))
        expressions = [node for node in nodes if isinstance(node, ast.expr) and
                       within(ranges, node)]
        for owner in (node for node in nodes if isinstance(node, ast.ClassDef)):
            here = [range_ for range_ in ranges
                    if owner.lineno <= range_[0] <= (owner.end_lineno or 0)]
            if not here:
                continue
            owners[owner.name.encode()] = file
            attributes = {dotted(node)[1] for node in ast.walk(owner)
                          if isinstance(node, ast.Attribute) and within(here, node)
                          and dotted(node)[:1] == ["self"]}
            for value in stored(owner, attributes):
                expressions += [node for node in ast.walk(value) if isinstance(node, ast.expr)]
            expressions += owner.bases
        for parts in {tuple(dotted(node)) for node in expressions} - {()}:
            for origin in module.imports.get(parts[0], []):
                reached: set[str] = set()
                tree.follow(".".join([origin, *parts[1:]]), reached)
                found |= reached
    found |= heirs(tree, owners)
    return sorted(found)


def heirs(tree: Tree, owners: dict[bytes, str]) -> set[str]:
    found = set()
    for file in set(tree.names.values()):
        for _, bases in CLASS.findall((tree.root / file).read_bytes()):
            for base in re.findall(rb"\w+", bases):
                home = owners.get(base)
                if home is None or home == file:
                    continue
                module = tree.module(file)
                reached: set[str] = set()
                for origin in module.imports.get(base.decode(), []) if module else []:
                    tree.follow(origin, reached)
                if home in reached:
                    found.add(file)
    return found
