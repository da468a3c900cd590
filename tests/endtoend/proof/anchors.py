"""Counts the sites of a Python package independently of refit, to find what a report misses.

Entry point: `scan`. It resolves names with the standard library's `ast` and simple import tables
(no scopes, no data flow), which is enough for the callees that the shipped rules anchor on: calls
of attention functions, calls of functions that apply a rotation, torch's RMSNorm and rms_norm, and
any reciprocal square root of a mean.
"""

import ast
import dataclasses
import pathlib
import re

ATTENTION = {
    "torch.nn.functional.scaled_dot_product_attention": "scaled_dot_product_attention",
    "flash_attn.flash_attn_func": "flash_attn_func",
    "flash_attn.flash_attn_varlen_func": "flash_attn_varlen_func",
    "flash_attn_interface.flash_attn_func": "flash_attn_func",
    "flash_attn_interface.flash_attn_varlen_func": "flash_attn_varlen_func",
    "diffusers.models.attention_dispatch.dispatch_attention_fn": "dispatch_attention_fn",
}
NORM = {"torch.nn.RMSNorm", "torch.nn.functional.rms_norm", "torch.rms_norm"}

# A function that applies a rotation says so: apply_rotary_emb, _apply_rotary_emb_nucleus,
# rope_apply, ...
ROTARY_NAME = re.compile(r"_?apply_\w*(rotary|rope)\w*|rope_apply")
# Of these names the ones that assemble angles instead of rotating.
NOT_A_ROTATION = {"apply_interleaved_mrope"}

# No anchor without one of these words in its file.
WORDS = re.compile(r"attention|flash_attn|rotary|rope|RMSNorm|rms_norm|rsqrt")


@dataclasses.dataclass(frozen=True, order=True)
class Anchor:
    """A site that a report must name: file relative to the scanned root, 1-based lines.

    kind: scaled_dot_product_attention, dispatch_attention_fn, flash_attn_func,
    flash_attn_varlen_func, rotary, norm. callee: the name as the source spells it. scope: first and
    last line between which the report may place it: those of the call, or of the whole function for
    the arithmetic of a norm.
    """

    file: str
    line: int
    kind: str
    callee: str
    scope: tuple[int, int]


def scan(root: pathlib.Path) -> list[Anchor]:
    """Every anchor in the Python files below root, sorted."""
    anchors = []
    for path in sorted(root.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if WORDS.search(text):
            anchors += _scan_file(path.relative_to(root).as_posix(), text)
    return sorted(anchors)


def _scan_file(file: str, text: str) -> list[Anchor]:
    tree = ast.parse(text)
    names = _imports(tree, file)
    anchors = []
    for call in ast.walk(tree):
        if not isinstance(call, ast.Call):
            continue
        lines = (call.lineno, call.end_lineno)
        if isinstance(call.func, ast.Attribute) and call.func.attr == "rsqrt":
            around = function_around(tree, call.lineno) or lines
            anchors.append(Anchor(file, call.lineno, "norm", "rsqrt", around))
            continue
        spelled = _dotted(call.func)
        if spelled is None:
            continue
        first, _, rest = spelled.partition(".")
        qualified = names.get(first, first) + (f".{rest}" if rest else "")
        last = spelled.rpartition(".")[2]
        if qualified in ATTENTION:
            anchors.append(Anchor(file, call.lineno, ATTENTION[qualified], spelled, lines))
        elif qualified in NORM:
            anchors.append(Anchor(file, call.lineno, "norm", spelled, lines))
        elif ROTARY_NAME.fullmatch(last) and last not in NOT_A_ROTATION:
            anchors.append(Anchor(file, call.lineno, "rotary", spelled, lines))
    return anchors


def function_around(tree: ast.Module, line: int) -> tuple[int, int] | None:
    """First and last line of the innermost function around a line."""
    functions = [
        (node.lineno, node.end_lineno)
        for node in ast.walk(tree)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        and node.lineno <= line <= node.end_lineno
    ]
    return max(functions, default=None)


def _dotted(node: ast.expr) -> str | None:
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    return ".".join([node.id, *reversed(parts)])


def _imports(tree: ast.Module, file: str) -> dict[str, str]:
    """What each imported name stands for, wherever in the file the import stands."""
    package = file.removesuffix(".py").removesuffix("/__init__").split("/")
    if not file.endswith("__init__.py"):
        package = package[:-1]
    names = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                bound = alias.asname or alias.name.partition(".")[0]
                names[bound] = alias.name if alias.asname else bound
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join(base + ([node.module] if node.module else []))
            for alias in node.names:
                names[alias.asname or alias.name] = f"{module}.{alias.name}"
    return names
