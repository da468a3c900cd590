"""Objects of a tree's classes with small drawn sizes, so that their methods can be run.

Entry points: `make`, `fill`, `widths`, and `StandIn` for an object of which only its name is known.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
import types
import typing
import zlib

import torch

from . import names, sources
from .values import modules

MOST = 20_000_000  # parameters of one object; models with their default sizes have billions
_DEPTH = 3


class CannotMake(Exception):
    """No object of a class can be made from drawn arguments."""


class StandIn:
    """An object whose attributes are numbers by their names, and whose calls give what they get."""

    def __init__(self, **known):
        self.__dict__.update(known)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        value = names.number(name)
        if value is None:
            value = False if names.role(name, "", None) == "flag" else StandIn()
        self.__dict__[name] = value
        return value

    def __call__(self, *args, **kwargs):
        for value in (*args, *kwargs.values()):
            if isinstance(value, torch.Tensor):
                return value
        return self

    def get(self, name, default=None):
        return default


def class_of(annotation, scope: dict) -> type | None:
    """The one class that an annotation names, if it is a class of a tree and no type of values."""
    if annotation is inspect.Parameter.empty:
        return None
    if isinstance(annotation, str):
        text = annotation.strip().strip("'\"")
        for ending in ("| None", "|None"):
            text = text.removesuffix(ending).strip()
        if text.startswith("Optional[") and text.endswith("]"):
            text = text[len("Optional[") : -1].strip("'\" ")
        found = scope.get(text.partition(".")[0])
        for part in text.split(".")[1:]:
            found = getattr(found, part, None)
        annotation = found
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        parts = [part for part in typing.get_args(annotation) if part is not type(None)]
        annotation = parts[0] if len(parts) == 1 else None
    if isinstance(annotation, typing.ForwardRef):
        return class_of(annotation.__forward_arg__, scope)
    if not isinstance(annotation, type) or annotation.__module__ in ("builtins", "typing", "torch"):
        return None
    return annotation


def note_of(parameter: inspect.Parameter) -> str:
    """An annotation as text, "" where there is none."""
    annotation = parameter.annotation
    if annotation is inspect.Parameter.empty:
        return ""
    if isinstance(annotation, str):
        return annotation
    return annotation.__qualname__ if isinstance(annotation, type) else str(annotation)


def parameters_of(function) -> list[inspect.Parameter]:
    gathers = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [p for p in inspect.signature(function).parameters.values() if p.kind not in gathers]


def texts_for(name: str, function) -> list[str]:
    """The literals that the text of a function or of a class's constructor compares a name with."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError):
        return []
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare) and isinstance(node.left, ast.Name) and node.left.id == name:
            parts = [part for side in node.comparators for part in getattr(side, "elts", [side])]
            found += [p.value for p in parts if isinstance(p, ast.Constant) and isinstance(p.value, str)]
    return found


def make(cls, small: bool, depth: int = _DEPTH):
    """An object of the class, or what a function makes; small: sizes that have a default are drawn all the same. Raises
    CannotMake."""
    try:
        arguments = _arguments(cls, small, depth)
        size = _size(cls, arguments)
        if size > MOST:
            raise CannotMake(f"it has {size} parameters; at most {MOST} are drawn")
        torch.manual_seed(0)
        return sources.with_placeholders(lambda: cls(**arguments))
    except CannotMake as error:
        raise CannotMake(f"no {cls.__qualname__} can be made: {error}") from error
    except Exception as error:  # whatever the constructor raises
        raise CannotMake(f"no {cls.__qualname__} can be made: {sources.said(error)}") from error


def _size(cls, arguments: dict) -> int:
    if isinstance(cls, type) and not issubclass(cls, torch.nn.Module):
        return 0
    try:
        with torch.device("meta"):
            return sum(value.numel() for value in cls(**arguments).parameters())
    except Exception:  # it will raise again, or it takes no meta tensors
        return 0


def _arguments(cls, small: bool, depth: int) -> dict:
    arguments = {}
    module = inspect.getmodule(cls)
    scope = vars(module) if module else {}
    for parameter in parameters_of(cls):
        name, default = parameter.name, parameter.default
        required = default is inspect.Parameter.empty
        known = names.number(name)
        plain = isinstance(default, int) and not isinstance(default, bool)
        drawn = names.is_size(name) and (default is None or (small and plain))
        if not required:
            if drawn and (default is not None or _takes_number(parameter)):
                arguments[name] = known
            continue
        arguments[name] = value_of(parameter, scope, small, depth, cls)
    return arguments


def _takes_number(parameter: inspect.Parameter) -> bool:
    note = note_of(parameter)
    return not note or "int" in note


def value_of(
    parameter: inspect.Parameter, scope: dict, small: bool = True, depth: int = _DEPTH, owner=None
):
    """A value for a parameter that is no tensor. owner: whose parameter it is. Raises CannotMake."""
    name = parameter.name
    what = names.role(name, note_of(parameter), None)
    known = names.number(name)
    if what == "callable":
        return lambda value, *rest, **options: value
    if what == "flag":
        return False
    if what == "text":
        options = [*typing.get_args(parameter.annotation), *texts_for(name, owner)]
        if options and isinstance(options[0], str):
            return options[0]
        raise CannotMake(f"its parameter `{name}` is a text")
    cls = class_of(parameter.annotation, scope)
    if cls is not None:
        if depth == 0:
            raise CannotMake(f"its parameter `{name}` is a {cls.__qualname__}")
        return make(cls, small, depth - 1)
    if what == "object":
        return StandIn()
    texts = texts_for(name, owner) if known is None else []
    if texts:
        return texts[0]
    return names.CHANNELS if known is None else known


def fill(value, kind: torch.dtype) -> None:
    """Gives the modules in a value parameters that depend on their names alone, in a type."""
    for module in modules(value):
        module.eval()
        with torch.no_grad():
            for name, parameter in module.named_parameters():
                generator = torch.Generator().manual_seed(zlib.crc32(name.encode()))
                drawn = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
                if parameter.dim() >= 2:
                    drawn *= max(1, parameter[0].numel()) ** -0.5
                else:
                    drawn = 0.1 * drawn if name.endswith("bias") else 1 + 0.3 * drawn
                if parameter.is_floating_point() or parameter.is_complex():
                    parameter.copy_(drawn)
        module.to(kind)


def widths(value) -> list[int]:
    """The widths that the modules in a value take, the first ones first."""
    found = [names.CHANNELS]
    for module in modules(value):
        for part in module.modules():
            for attribute in ("in_features", "in_channels", "num_features", "num_channels"):
                width = getattr(part, attribute, None)
                if isinstance(width, int):
                    found.append(width)
        found += [p.numel() for _, p in module.named_parameters() if p.dim() == 1]
    return list(dict.fromkeys(found))[:3]
