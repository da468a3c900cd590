"""Inputs that the user gives: a function that returns, by qualified name, calls of functions.

Entry point: `Inputs.read`. It is called anew for every run and in both processes, with torch's
generator seeded the same way.
"""

from __future__ import annotations

import importlib.util
import os
import sys

from . import sources

_SHAPE = (
    "expected a dict from a qualified function name to (args, kwargs) or to a list of such, where "
    "for a method the first of args is the object"
)


class CannotRun(Exception):
    """Nothing can be run: the runtime, or what --inputs names, is not as it must be."""


class Inputs:
    def __init__(self, function, where: str):
        self._function, self._where = function, where
        self.calls = self._all()

    @classmethod
    def read(cls, text: str) -> Inputs:
        """FILE.py:function. Raises CannotRun."""
        file, _, name = text.rpartition(":")
        spec = importlib.util.spec_from_file_location("refit_verify_inputs", os.path.abspath(file))
        if spec is None or spec.loader is None:
            raise CannotRun(f"{file}: expected a Python file")
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        try:
            spec.loader.exec_module(module)
        except BaseException as error:
            raise CannotRun(f"running {file} fails: {sources.said(error)}") from error
        function = getattr(module, name, None)
        if not callable(function):
            raise CannotRun(f"{file} has no function {name}")
        return cls(function, text)

    def of(self, name: str) -> list:
        """The calls of one function, made anew."""
        return self._all()[name]

    def _all(self) -> dict:
        import torch

        torch.manual_seed(0)
        try:
            found = self._function()
        except BaseException as error:
            raise CannotRun(f"{self._where} raises {sources.said(error)}") from error
        if not isinstance(found, dict):
            raise CannotRun(f"{self._where}: {_SHAPE}, found {type(found).__name__}")
        return {name: self._calls(name, value) for name, value in found.items()}

    def _calls(self, name, value) -> list:
        calls = value if isinstance(value, list) else [value]
        for call in calls:
            right = isinstance(call, tuple) and len(call) == 2
            if not (right and isinstance(call[0], (tuple, list)) and isinstance(call[1], dict)):
                raise CannotRun(f"{self._where}: {_SHAPE}, found for {name} another value")
        return [(tuple(args), dict(kwargs)) for args, kwargs in calls]
