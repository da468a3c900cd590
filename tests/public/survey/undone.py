"""Which changes a program shows to be right: those that, undone, give the source back.

Entry point: `undone`. A call of a layer norm, an activation and torch's own RMSNorm each have one
counterpart in the runtime with the same arguments, so that a change made of nothing else is right
exactly if putting the old callee back gives the old statements. What a name means is read from the
file's imports, and what `self.norm` is from every assignment to it in the class and in the classes
of the file that inherit from it. A change that holds anything else needs a reader.
"""

import ast
import functools
import re

FUNCTIONS = {
    "torch.nn.functional.silu": "silu",
    "mindiesd.ext.silu": "silu",
    "torch.nn.functional.gelu": "gelu",
    "mindiesd.ext.gelu": "gelu",
    "torch.nn.GELU": "GELU",
    "mindiesd.ext.GELU": "GELU",
    "torch.nn.RMSNorm": "RMSNorm",
    "mindiesd.ext.RMSNorm": "RMSNorm",
}
# Arguments that say what holds without them.
DEFAULTS = {
    ("silu", "inplace", "False"),
    ("gelu", "approximate", "'none'"),
    ("GELU", "approximate", "'none'"),
}
LAYER_NORM = "torch.nn.LayerNorm"
# What the runtime is called by in a change that can be undone.
KNOWN = {name for name in FUNCTIONS if name.startswith("mindiesd.")} | {"mindiesd.fast_layernorm"}
WRITTEN = re.compile(r"\bmindiesd(?:\.\w+)+")


def undone(source: str, change) -> bool:
    """Whether the change (`pairs.Change`) of a file with this source before is such a one."""
    added = "\n".join(text for _, now in change.hunks for text in now)
    if not set(WRITTEN.findall(added)) <= KNOWN:
        return False
    names, classes = _read(source)
    norms = _layer_norms(classes, change.owner, names)
    for removed, added in change.hunks:
        try:
            was = [_canonical(text, names, norms, before=True) for text in removed]
            now = [_canonical(text, names, norms, before=False) for text in added]
        except SyntaxError:  # the header of a compound statement
            return False
        if was != now:
            return False
    return True


@functools.lru_cache(maxsize=4)
def _read(source: str) -> tuple[dict[str, str], list[ast.ClassDef]]:
    nodes = list(ast.walk(ast.parse(source)))
    return _meanings(nodes), [node for node in nodes if isinstance(node, ast.ClassDef)]


def _meanings(nodes: list[ast.AST]) -> dict[str, str]:
    """What each name that only imports bind stands for, wherever in the file they are."""
    found: dict[str, set[str]] = {}
    for node in nodes:
        if isinstance(node, ast.Import):
            for item in node.names:
                local = item.asname or item.name.partition(".")[0]
                found.setdefault(local, set()).add(item.name if item.asname else local)
        elif isinstance(node, ast.ImportFrom):
            for item in node.names:
                module = "." * node.level + (node.module or "")
                found.setdefault(item.asname or item.name, set()).add(f"{module}.{item.name}")
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found.setdefault(node.name, set()).add("")
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            found.setdefault(node.id, set()).add("")
        elif isinstance(node, ast.arg):
            found.setdefault(node.arg, set()).add("")
    return {name: next(iter(means)) for name, means in found.items() if len(means) == 1}


def _qualified(node: ast.expr, names: dict[str, str]) -> str:
    """The dotted name that an expression stands for, or ""."""
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name) or not names.get(node.id):
        return ""
    return ".".join([names[node.id], *reversed(parts)])


def _layer_norms(
    classes: list[ast.ClassDef], owner: str, names: dict[str, str]
) -> set[str]:
    """Attributes of self that are a torch.nn.LayerNorm whatever class of the file made it."""
    own = [c for c in classes if c.name in owner.split(".")]
    if len(own) != 1 or sum(c.name == own[0].name for c in classes) != 1:
        return set()
    family, grown = {own[0].name}, True
    while grown:
        heirs = {c.name for c in classes for b in c.bases if ast.unparse(b).split(".")[-1] in family}
        grown = not heirs <= family
        family |= heirs
    values: dict[str, list[ast.expr | None]] = {}
    for node in (inner for c in classes if c.name in family for inner in ast.walk(c)):
        value = node.value if isinstance(node, (ast.Assign, ast.AnnAssign)) else None
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        for target in targets:
            alone = isinstance(target, ast.Attribute)
            for part in ast.walk(target) if target is not None else ():
                if isinstance(part, ast.Attribute) and isinstance(part.ctx, ast.Store):
                    values.setdefault(part.attr, []).append(value if alone else None)
    return {name for name, given in values.items() if _all_norms(given, names)}


def _all_norms(given: list[ast.expr | None], names: dict[str, str]) -> bool:
    """Whether all are norms but for `None`, which nobody calls."""
    given = [v for v in given if not (isinstance(v, ast.Constant) and v.value is None)]
    return bool(given) and all(_makes_norm(value, names) for value in given)


def _makes_norm(value: ast.expr | None, names: dict[str, str]) -> bool:
    if isinstance(value, ast.IfExp):
        sides = (value.body, value.orelse)
        return any(_makes_norm(side, names) for side in sides) and all(
            _makes_norm(side, names) or isinstance(side, ast.Constant) for side in sides
        )
    return isinstance(value, ast.Call) and _qualified(value.func, names) == LAYER_NORM


class _Canonical(ast.NodeTransformer):
    """Calls of both sides under one name; `before` says which callees are meant."""

    def __init__(self, names: dict[str, str], norms: set[str], before: bool):
        self.names, self.norms, self.before = names, norms, before

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        written = ast.unparse(node.func)
        runtime = written.startswith("mindiesd.")
        if runtime == self.before:
            return node
        name = FUNCTIONS.get(written if runtime else _qualified(node.func, self.names))
        if name:
            keywords = [*node.keywords]
            arguments = [*node.args]
            if name == "GELU" and arguments:
                keywords.append(ast.keyword("approximate", arguments.pop()))
            keywords = [k for k in keywords if (name, k.arg, ast.unparse(k.value)) not in DEFAULTS]
            return ast.Call(ast.Name(f"<{name}>", ast.Load()), arguments, keywords)
        norm, operands = node.func, node.args
        if written == "mindiesd.fast_layernorm" and len(operands) == 2:
            norm, *operands = operands
        elif runtime:
            return node
        own = isinstance(norm, ast.Attribute) and ast.unparse(norm.value) == "self"
        if not own or norm.attr not in self.norms or len(operands) != 1 or node.keywords:
            return node
        return ast.Call(ast.Name("<norm>", ast.Load()), [norm, *operands], [])


def _canonical(text: str, names: dict[str, str], norms: set[str], before: bool) -> str:
    tree = _Canonical(names, norms, before).visit(ast.parse(text))
    return ast.dump(ast.fix_missing_locations(tree))
