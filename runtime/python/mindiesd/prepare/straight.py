"""Whether code hands the result of one call to another and to nothing else, on every way through it. Entry point:
``hands_on``."""

import ast
import functools
import linecache


@functools.lru_cache(maxsize=256)
def _tree(filename):
    try:
        return ast.parse("".join(linecache.getlines(filename)))
    except (SyntaxError, ValueError, RecursionError):
        return None


def _call_at(tree, position):
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            if (node.lineno, node.end_lineno, node.col_offset, node.end_col_offset) == position:
                return node
    return None


def _position(code, instruction):
    """(first line, last line, first column, last column) of what an instruction was compiled from, or None."""
    if not hasattr(code, "co_positions"):  # before Python 3.11
        return None
    return next((p for at, p in enumerate(code.co_positions()) if 2 * at == instruction), None)


def _is_argument(value, call):
    return len(call.args) == 1 and not call.keywords and call.args[0] is value


def _loads(node, name):
    return [n for n in ast.walk(node) if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load)]


def _assigns(statement, name):
    return isinstance(statement, ast.Assign) and [
        target.id if isinstance(target, ast.Name) else None for target in statement.targets
    ] == [name]


def _scopes_with(tree, name):
    """How many nested functions and declarations of another scope name a variable."""
    inner = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.GeneratorExp, ast.ListComp, ast.SetComp, ast.DictComp)
    found = 0
    for node in ast.walk(tree):
        if isinstance(node, (ast.Global, ast.Nonlocal)):
            found += name in node.names
        elif isinstance(node, inner) and node is not tree:
            found += any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(node))
    return found


def _function_around(tree, call):
    around = [
        node
        for node in ast.walk(tree)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and any(n is call for n in ast.walk(node))
    ]
    return around[-1] if around else None  # the innermost, which the walk finds last


def _inside(statement, key):
    """What stands first in ``if self.KEY is not None:``; another statement is itself."""
    test = getattr(statement, "test", None)
    if not isinstance(statement, ast.If) or not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return statement
    there = isinstance(test.ops[0], ast.IsNot) and isinstance(test.left, ast.Attribute) and test.left.attr == key
    none = isinstance(test.comparators[0], ast.Constant) and test.comparators[0].value is None
    return statement.body[0] if there and none else statement


def hands_on(first, second, key):
    """Whether ``second(first(…))`` is what stands there, or ``v = first(…)`` and behind it ``v = … second(v) …`` or
    ``return … second(v) …``, so that no way through the function reads the first result otherwise. The statement
    behind it may stand under ``if self.KEY is not None``.

    Args:
        first, second: (code, instruction) of the two calls, in one function.
        key: the name of the second module, which is known to be there.
    """
    (code, _), _ = first, second
    tree, places = _tree(code.co_filename), [_position(*first), _position(*second)]
    if tree is None or None in places or places[0] == places[1]:
        return False
    made, read = (_call_at(tree, place) for place in places)
    if made is None or read is None:
        return False
    if _is_argument(made, read):
        return True
    function = _function_around(tree, made)
    if function is None or len(read.args) != 1 or read.keywords or not isinstance(read.args[0], ast.Name):
        return False
    name = read.args[0].id
    for node in ast.walk(function):
        for _, block in ast.iter_fields(node):
            if not isinstance(block, list):
                continue
            for one, behind in zip(block, block[1:], strict=False):
                two = _inside(behind, key)
                if not (_assigns(one, name) and one.value is made and any(n is read for n in ast.walk(two))):
                    continue
                over = _assigns(two, name) or isinstance(two, ast.Return)
                return over and _loads(two, name) == [read.args[0]] and not _scopes_with(function, name)
    return False
