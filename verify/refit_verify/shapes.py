"""Shapes that the arguments of one drawn call may have together.

Entry points: `LAYOUTS`, `TABLES`, `ranks`. B, N, S and D are the batch, heads, positions and the
width of a head, C = N D.
"""

from __future__ import annotations

import ast
import re

from .names import BATCH, CHANNELS, HALF, HEADS, LENGTH, SIDE, WIDTH

# Name -> (shape, the dimension of positions); a 0 stands for the width that an object asks for.
LAYOUTS = {
    "BSC": ((BATCH, LENGTH, 0), 1),
    "BNSD": ((BATCH, HEADS, LENGTH, WIDTH), 2),
    "BSND": ((BATCH, LENGTH, HEADS, WIDTH), 1),
    "BCHW": ((BATCH, 0, SIDE, SIDE), 2),
    "SND": ((LENGTH, HEADS, WIDTH), 0),
    "BHWC": ((BATCH, SIDE, SIDE, 0), 1),
    "SBC": ((LENGTH, BATCH, 0), 0),
    "BCTHW": ((BATCH, 0, 2, SIDE, SIDE), 3),
    "BTHWC": ((BATCH, 2, SIDE, SIDE, 0), 1),
    "BC": ((BATCH, 0), 0),
    "BCS": ((BATCH, 0, LENGTH), 2),
    "SC": ((LENGTH, 0), 0),
}

# Shapes of tables of cosines, sines or angles, of full and of half width.
TABLES = tuple(
    shape
    for width in (WIDTH, HALF)
    for shape in (
        (LENGTH, width), (BATCH, LENGTH, width), (1, LENGTH, width), (1, 1, LENGTH, width),
        (1, LENGTH, 1, width), (LENGTH, 1, width), (BATCH, 1, LENGTH, width),
        (BATCH, LENGTH, 1, width), (BATCH, HEADS, LENGTH, width), (LENGTH, HEADS, width),
    )
) + ((LENGTH, CHANNELS), (BATCH, LENGTH, CHANNELS), (LENGTH, HALF // 2), (BATCH, LENGTH, HALF // 2))  # fmt: skip


def ranks(function: ast.AST | None) -> dict[str, int]:
    """The ranks that a function's text shows of its parameters: by unpacking a shape, by a
    permutation, by an equation of einsum, by a pattern of einops."""
    found: dict[str, int] = {}
    for node in ast.walk(function) if function is not None else ():
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            _of_unpacking(node.targets[0], node.value, found)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            _of_call(node, found)
        if isinstance(node, ast.Call) and len(node.args) > 1:
            _of_pattern(node, found)
    return found


def layout_of(rank: int, first: str) -> str:
    """The layout that goes with another one for a tensor of a rank."""
    if len(LAYOUTS[first][0]) == rank:
        return first
    return next((name for name, (shape, _) in LAYOUTS.items() if len(shape) == rank), first)


def _of_unpacking(target: ast.expr, value: ast.expr, found: dict[str, int]) -> None:
    if not isinstance(target, ast.Tuple) or any(isinstance(e, ast.Starred) for e in target.elts):
        return
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and not value.args:
        value = value.func if value.func.attr == "size" else value
    shape = isinstance(value, ast.Attribute) and value.attr in ("shape", "size")
    if shape and isinstance(value.value, ast.Name):
        found.setdefault(value.value.id, len(target.elts))


def _of_call(node: ast.Call, found: dict[str, int]) -> None:
    method, arguments = node.func.attr, node.args
    if method == "permute" and isinstance(node.func.value, ast.Name):
        if len(arguments) == 1 and isinstance(arguments[0], (ast.Tuple, ast.List)):
            arguments = arguments[0].elts
        if len(arguments) > 1:
            found.setdefault(node.func.value.id, len(arguments))
    equation = arguments[0].value if arguments and isinstance(arguments[0], ast.Constant) else None
    if method == "einsum" and isinstance(equation, str):
        terms = equation.partition("->")[0].replace(" ", "").split(",")
        for term, operand in zip(terms, arguments[1:]):
            if isinstance(operand, ast.Name) and "." not in term:
                found.setdefault(operand.id, len(term))


def _of_pattern(node: ast.Call, found: dict[str, int]) -> None:
    name = getattr(node.func, "attr", getattr(node.func, "id", ""))
    operand, pattern = node.args[0], node.args[1]
    text = pattern.value if isinstance(pattern, ast.Constant) else None
    if name in ("rearrange", "reduce", "repeat") and isinstance(operand, ast.Name) and isinstance(text, str):
        axes = re.sub(r"\([^)]*\)", "_", text.partition("->")[0]).split()
        if axes and "..." not in axes:
            found.setdefault(operand.id, len(axes))
