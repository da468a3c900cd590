"""Launches, memory traffic and time of code of the caller's, original and migrated. Entry point: ``profile``.

The code is named as MODULE:FUNCTION. FUNCTION takes no argument, makes a model and its inputs and gives back a
function that runs it once, or a pair of that and a tensor of the size of the hidden states. Original and migrated
code have the same names, so each is measured in a process of its own, with its folder first on the path.
"""

import importlib
import multiprocessing
import statistics
import sys
import time
import traceback
from concurrent.futures.process import BrokenProcessPool, ProcessPoolExecutor
from pathlib import Path

import torch

from ._traffic import Traffic, moved

_WARM, _TIMED = 2, 7
_MIB = 1 << 20


class _Unusable(Exception):
    """MODULE:FUNCTION does not give what is to be run; the text says why."""


def _made(target):
    """(a function that runs the model once, the bytes of its hidden states or None)"""
    module, _, name = target.partition(":")
    if not (module and name):
        raise _Unusable(f"{target!r} is not MODULE:FUNCTION")
    function = getattr(importlib.import_module(module), name, None)
    if not callable(function):
        raise _Unusable(f"module {module!r} has no function {name!r}")
    made = function()
    run, hidden = made if isinstance(made, tuple) and len(made) == 2 else (made, None)
    if not callable(run) or not (hidden is None or isinstance(hidden, torch.Tensor)):
        raise _Unusable(
            f"{target} must return a function that runs the model once, or that function and a tensor of the "
            f"size of the hidden states, but returned {type(made).__name__}"
        )
    return run, None if hidden is None else moved(hidden)


def _finished():
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        torch.cuda.synchronize()
    return time.perf_counter()


def _loaded_from(root):
    """Whether a module's file lies in the folder."""
    files = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
    return any(Path(file).is_relative_to(root) for file in files if isinstance(file, str))


def _measured(target, root):
    """{"seconds", "unit", "operators": {name: (launches, bytes)}}, or {"error"} with a text."""
    if root is not None:
        sys.path.insert(0, str(root))
    try:
        with torch.no_grad():
            torch.manual_seed(0)
            run, unit = _made(target)
            for _ in range(_WARM):
                run()
            seconds = []
            for _ in range(_TIMED):
                start = _finished()
                run()
                seconds.append(_finished() - start)
            with Traffic() as traffic:
                run()
        if root is not None and not _loaded_from(root):
            raise _Unusable(f"{target} has loaded no module from {root}")
    except _Unusable as error:
        return {"error": str(error)}
    except Exception:  # noqa: BLE001 - whatever the caller's code raises
        return {"error": traceback.format_exc()}
    operators = {name: (count, traffic.bytes[name]) for name, count in traffic.launches.items()}
    return {"seconds": statistics.median(seconds), "unit": unit, "operators": operators}


def _apart(target, root):
    """What ``_measured`` gives, in a process of its own."""
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=spawn) as pool:
        try:
            return pool.submit(_measured, target, root).result()
        except BrokenProcessPool:
            return {"error": f"the process that ran {target} ended before it was measured"}


def _line(label, cells):
    print(f"{label:<44}" + "".join(f"{cell:>18}" for cell in cells))


def _print(found):
    """The table of {column: what ``_measured`` gives}."""
    columns = found.values()
    sizes = [sum(size for _, size in column["operators"].values()) for column in columns]
    _line("", found)
    _line("time, ms", (f"{column['seconds'] * 1e3:.3f}" for column in columns))
    _line("launches", (sum(count for count, _ in column["operators"].values()) for column in columns))
    _line("memory traffic, MiB", (f"{size / _MIB:.3f}" for size in sizes))
    if all(column["unit"] for column in columns):
        passes = (size / column["unit"] for size, column in zip(sizes, columns, strict=True))
        _line("passes over the hidden states", (f"{count:.1f}" for count in passes))
    print("\nlaunches and MiB by operator")
    names = {name for column in columns for name in column["operators"]}
    rows = {name: [column["operators"].get(name, (0, 0)) for column in columns] for name in names}
    for name, row in sorted(rows.items(), key=lambda item: (-max(size for _, size in item[1]), item[0])):
        _line(f"  {name}", (f"{count}{size / _MIB:12.3f}" if count else "-" for count, size in row))


def profile(target, original=None, migrated=None):
    """Prints what running ``target`` costs with each of the folders first on the path; gives an exit status.

    Where one folder is given, the other column is the code that the path leads to as it is; where none is, that
    is the only column.
    """
    given = original is not None or migrated is not None
    roots = {"original": original, "migrated": migrated} if given else {"as it is": None}
    found = {}
    for name, root in roots.items():
        found[name] = _apart(target, root)
        if "error" in found[name]:
            print(f"{name}: {found[name]['error']}", file=sys.stderr)
            return 1
    _print(found)
    return 0
