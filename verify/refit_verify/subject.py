"""One function of an imported module: how it is called, and on which lines it ran.

Entry points: `Subject` and `NotRun`.
"""

from __future__ import annotations

import ast
import contextlib
import inspect
import os
import random
import sys
import textwrap
import types

import torch

from . import objects, sources, trials, values

# Kinds of drawn input: the type of tensors, and of tables and parameters.
KINDS = {
    "float32": (torch.float32, torch.float32),
    "bfloat16": (torch.bfloat16, torch.bfloat16),
    "bfloat16 with float32 parameters": (torch.bfloat16, torch.float32),
    "float16": (torch.float16, torch.float16),
}


class NotRun(Exception):
    """A function cannot be run, for the reason that this says."""


class MakesModule(Exception):
    """The result of a function is a module."""


class Subject:
    """A function, and for a method the class whose objects it is called on. arguments: expressions for
    parameters whose values are not guessed."""

    def __init__(self, module: types.ModuleType, name: str, arguments: dict[str, str]):
        holder: object = module
        self.arguments = arguments
        self.name, self.cls = name, None
        *above, last = name.split(".")
        try:
            for part in above:
                holder = getattr(holder, part)
            self.function = getattr(holder, last)
        except AttributeError as error:
            raise NotRun(f"the imported module has no {name}") from error
        if isinstance(holder, type):
            found = inspect.getattr_static(holder, last)
            if isinstance(found, (property, torch.jit.ScriptFunction)):
                raise NotRun("it is a property, which takes no arguments")
            if not isinstance(found, (staticmethod, classmethod)):
                self.cls = holder
        if not callable(self.function):
            raise NotRun(f"{name} is no function once the module is imported")
        inner = inspect.unwrap(self.function)
        if inspect.iscoroutinefunction(inner) or inspect.isgeneratorfunction(inner):
            raise NotRun("it is a coroutine or a generator")
        self.inner = getattr(inner, "__func__", inner)
        try:
            self._tree = ast.parse(textwrap.dedent(inspect.getsource(self.inner)))
        except (OSError, TypeError, SyntaxError):
            self._tree = None
        self.makes = False  # it is called for a module, which is then called with a tensor

    def signature(self) -> trials.Signature:
        if self.makes:
            signature = trials.Signature.of_layer()
        else:
            try:
                signature = trials.Signature.of(self.function, self.cls is not None, self._tree)
            except (TypeError, ValueError) as error:
                raise NotRun(f"its parameters are not known: {sources.said(error)}") from error
        unknown = sorted(set(self.arguments) - set(signature.roles))
        if unknown:
            raise NotRun(f"it has no parameter `{unknown[0]}`, but {', '.join(signature.roles) or 'none'}")
        signature.give(self.arguments)
        return signature

    def object_for(self, trial: trials.Trial, kind: str):
        """A filled object of the class, None of a function. Raises objects.CannotMake."""
        if self.cls is None and not self.makes:
            return None
        made = objects.make(self.function if self.makes else self.cls, trial.small)
        objects.fill(made, KINDS[kind][1])
        for name in trial.attributes:
            setattr(made, name, not getattr(made, name))
        return made

    def attributes(self, made) -> tuple[str, ...]:
        """The attributes of an object that hold flags which the function's text reads."""
        if self.cls is None or self._tree is None:
            return ()
        found = {
            node.attr for node in ast.walk(self._tree)
            if isinstance(node, ast.Attribute) and isinstance(getattr(node.value, "id", None), str)
            and node.attr != "training" and isinstance(getattr(made, node.attr, None), bool)
        }  # fmt: skip
        return tuple(sorted(found))

    def call(self, made, arguments):
        """The tensors of the result, and those of the arguments as they are afterwards."""
        args, kwargs = arguments
        function = made if self.makes else self.function
        if made is not None and not self.makes:
            args = (made, *args)
        with torch.no_grad():
            result = function(*args, **kwargs)
            if isinstance(result, torch.nn.Module) and made is None:
                raise MakesModule(f"it gives a {type(result).__name__}")
        return [t.detach() for t in values.tensors(result) + values.tensors((args, kwargs))]


def seed_everything(seed: int) -> None:
    torch.manual_seed(seed)
    random.seed(seed)


class Lines:
    """The lines of some files that were run."""

    def __init__(self, files: list[str]):
        self._files = {os.path.realpath(file) for file in files}
        self._real: dict[str, str] = {}
        self.seen: set[int] = set()

    def _call(self, frame, event, argument):
        name = frame.f_code.co_filename
        if name not in self._real:
            self._real[name] = os.path.realpath(name)
        return self._line if self._real[name] in self._files else None

    def _line(self, frame, event, argument):
        if event == "line":
            self.seen.add(frame.f_lineno)
        return self._line

    @contextlib.contextmanager
    def noted(self):
        before = sys.gettrace()
        sys.settrace(self._call)
        try:
            yield
        finally:
            sys.settrace(before)
