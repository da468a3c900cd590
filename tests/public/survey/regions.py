"""The statements in which two versions of a function differ, made runnable by themselves.

Entry points: `owner_at`, `between`, `compiled` and `Scope`. Where transposes were absorbed, the
region reaches from the first statement that differs to the last: only the whole is one function.
"""

import ast
import dataclasses

import torch

from survey import extract

RESULT = "__result__"


@dataclasses.dataclass(frozen=True)
class Region:
    """Statements before and after; reads: names they take from outside; writes: names whose values
    the rest of the function reads, or RESULT for what is returned."""

    before: tuple[ast.stmt, ...]
    after: tuple[ast.stmt, ...]
    reads: tuple[str, ...]
    writes: tuple[str, ...]


def owner_at(tree: ast.Module, line: int):
    """(path, node, outermost node) of the innermost function, or class, around a line."""
    best = None
    stack = [("", None, tree.body)]
    while stack:
        path, head, body = stack.pop()
        for node, _ in extract._definitions(body):
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            if first <= line <= node.end_lineno:
                inner = f"{path}.{node.name}".lstrip(".")
                best = (inner, node, head or node)
                stack.append((inner, head or node, node.body))
    return best


def between(before: ast.stmt, after: ast.stmt) -> list[Region]:
    """The regions of one function, each to be run by itself."""
    found: list[Region] = []
    _descend(before.body, after.body, before, found)
    return found


def _descend(old, new, function, found) -> None:
    texts = [ast.unparse(n) for n in old], [ast.unparse(n) for n in new]
    start = 0
    while start < min(len(old), len(new)) and texts[0][start] == texts[1][start]:
        start += 1
    end = 0
    while end < min(len(old), len(new)) - start and texts[0][-1 - end] == texts[1][-1 - end]:
        end += 1
    olds, news = old[start : len(old) - end], new[start : len(new) - end]
    if not olds and not news:
        return
    different = [
        (a, b)
        for a, b in zip(olds, news, strict=False)
        if ast.unparse(a) != ast.unparse(b)
    ]
    aligned = len(olds) == len(news)
    calls_only = aligned and all(_same_shape(a, b) for a, b in different)
    if calls_only:
        for a, b in different:
            if _blocks(a) and type(a) is type(b):
                for x, y in zip(_blocks(a), _blocks(b), strict=True):
                    _descend(x, y, function, found)
            else:
                found.append(_region((a,), (b,), function))
        return
    found.append(_region(tuple(olds), tuple(news), function))


def _same_shape(a: ast.stmt, b: ast.stmt) -> bool:
    """Whether two statements differ in a call or inside their blocks only, not in what they bind by
    a removed transpose: what stands before the runtime's call is untouched."""
    if _blocks(a):
        return type(a) is type(b) and len(_blocks(a)) == len(_blocks(b))
    return "mindiesd" in ast.unparse(b) and not _absorbs(b, a)


def _absorbs(after: ast.stmt, before: ast.stmt) -> bool:
    """A call in the runtime's own layout where the old one had the other."""
    text = ast.unparse(after)
    old = ast.unparse(before)
    bnsd = "scaled_dot_product_attention" in old
    return bnsd and "attention_forward" in text and "head_first=True" not in text


def _blocks(node: ast.stmt) -> list[list]:
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return [node.body]
    fields = (getattr(node, field, None) for field in ("body", "orelse", "finalbody"))
    return [block for block in fields if block] + [handler.body for handler in getattr(node, "handlers", [])]


def _names(statements, context) -> set[str]:
    return {
        n.id
        for s in statements
        for n in ast.walk(s)
        if isinstance(n, ast.Name) and isinstance(n.ctx, context)
    }


def _region(before, after, function) -> Region:
    first = _what_gives_lost(before, after, function)
    before, after = (*first, *before), (*first, *after)
    reads = _from_outside(before)
    for name in sorted(_names(after, ast.Load) - _names(before, ast.Load)):
        if name != "mindiesd" and name not in reads and name not in _names(after, ast.Store):
            reads.append(name)
    last = before[-1].end_lineno if before else 0
    elsewhere = _other_branches(function, last)
    # Types and devices are the same in every layout.
    skipped = {
        id(n.value)
        for n in ast.walk(function)
        if isinstance(n, ast.Attribute) and n.attr in ("dtype", "device")
    }
    later = {
        n.id
        for n in ast.walk(function)
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)
        and n.lineno > last and id(n) not in skipped | elsewhere
    }  # fmt: skip
    both = _names(before, ast.Store) & _names(after, ast.Store) & later
    writes = sorted(name for name in both if not _bound_anew(name, last, function, elsewhere))
    return Region(before, after, tuple(reads), (*writes, RESULT))


def _from_outside(statements) -> list[str]:
    """The names that statements read before they store them."""
    reads: list[str] = []
    stored: set[str] = set()
    for statement in statements:
        for name in sorted(_names([statement], ast.Load) - stored):
            if name not in reads:
                reads.append(name)
        if not _blocks(statement):
            stored |= _names([statement], ast.Store)
    return reads


def _what_gives_lost(before, after, function) -> list[ast.stmt]:
    """The assignments in front that give the names which only the old statements read: `wide` of
    `wide = x.float()` where the new ones read `x`. Drawn by itself it would be another value."""
    if not before:
        return []
    line = before[0].lineno
    hidden = {
        id(inner)
        for node in ast.walk(function)
        if isinstance(node, ast.stmt) and _blocks(node) and not node.lineno <= line <= node.end_lineno
        for inner in ast.walk(node)
    } | _other_branches(function, line)
    lost = set(_from_outside(before)) - _names(after, ast.Load)
    given: dict[str, ast.stmt] = {}
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and node.end_lineno < line and id(node) not in hidden:
            for name in _names([node], ast.Store) & lost:
                if name not in given or given[name].lineno < node.lineno:
                    given[name] = node
    return sorted({id(n): n for n in given.values()}.values(), key=lambda n: n.lineno)


def _other_branches(function, line: int) -> set[int]:
    """What stands in a branch that is not taken when the one around `line` is, by identity."""
    return {
        id(inner)
        for node in ast.walk(function)
        if isinstance(node, ast.If) and node.body[0].lineno <= line <= node.body[-1].end_lineno
        for other in node.orelse
        for inner in ast.walk(other)
    }


def _bound_anew(name: str, line: int, function, elsewhere: set[int]) -> bool:
    """Whether the first statement after `line` that has the name only gives it another value."""
    found = [
        n
        for n in ast.walk(function)
        if isinstance(n, ast.Name) and n.id == name and n.lineno > line and id(n) not in elsewhere
    ]
    first = min(n.lineno for n in found)
    return all(isinstance(n.ctx, ast.Store) for n in found if n.lineno == first)


class _Returns(ast.NodeTransformer):
    """`return x` becomes `__result__ = x`, at the region's own level."""

    def visit_Return(self, node):
        target = ast.Name(RESULT, ast.Store())
        return ast.copy_location(ast.Assign([target], node.value or ast.Constant(None)), node)

    def visit_FunctionDef(self, node):
        return node

    visit_Lambda = visit_FunctionDef


def compiled(statements, wide: bool):
    module = ast.parse("\n".join(ast.unparse(s) for s in statements))
    module = _Returns().visit(module)
    if wide:
        module = extract._Widen().visit(module)
    return compile(ast.fix_missing_locations(module), "region", "exec", extract.FUTURE)


class Scope(dict):
    """What a region runs in: drawn values, then the module's names."""

    def __init__(self, module, values: dict):
        super().__init__(values)
        self.module = module
        self.attributes_before = {
            name: set(vars(value)) for name, value in values.items() if hasattr(value, "__dict__")
        }

    def __missing__(self, name):
        return self.module[name]


def modules_of(values: dict, before: dict) -> list[torch.Tensor]:
    """What the modules that a region stored as attributes make of a drawn tensor."""
    results = []
    for name, known in before.items():
        for attribute, module in sorted(vars(values[name]).items()):
            if attribute in known or not isinstance(module, torch.nn.Module):
                continue
            results += _applied(module)
    return results


def _applied(module: torch.nn.Module) -> list[torch.Tensor]:
    """The results of every norm in a module, with drawn weights, on a drawn tensor."""
    results = []
    for norm in module.modules():
        weight = getattr(norm, "weight", None)
        size = getattr(norm, "normalized_shape", None)
        if size is None and weight is not None and weight.dim() == 1:
            size = weight.shape
        if "Norm" not in type(norm).__name__ or size is None:
            continue
        generator = torch.Generator().manual_seed(1)
        if weight is not None:
            with torch.no_grad():
                weight.copy_(1 + 0.3 * torch.randn(tuple(size), generator=generator))
        results.append(norm(torch.randn((2, 5, *size), generator=generator)))
    return results
