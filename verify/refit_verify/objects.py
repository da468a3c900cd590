"""Objects of a tree's classes with small drawn sizes, so that their methods can be run.

Entry points: `make`, `fill`, `widths`, and `StandIn` for an object of which only its name is known.
"""

from __future__ import annotations

import inspect
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


def make(cls: type, small: bool, depth: int = _DEPTH):
    """An object of the class; small: sizes that have a default are drawn all the same. Raises
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


def _size(cls: type, arguments: dict) -> int:
    if not issubclass(cls, torch.nn.Module):
        return 0
    try:
        with torch.device("meta"):
            return sum(value.numel() for value in cls(**arguments).parameters())
    except Exception:  # it will raise again, or it takes no meta tensors
        return 0


def _arguments(cls: type, small: bool, depth: int) -> dict:
    arguments = {}
    scope = vars(inspect.getmodule(cls)) if inspect.getmodule(cls) else {}
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
        arguments[name] = value_of(parameter, scope, small, depth)
    return arguments


def _takes_number(parameter: inspect.Parameter) -> bool:
    note = note_of(parameter)
    return not note or "int" in note


def value_of(parameter: inspect.Parameter, scope: dict, small: bool = True, depth: int = _DEPTH):
    """A value for a parameter that is no tensor. Raises CannotMake."""
    name = parameter.name
    what = names.role(name, note_of(parameter), None)
    known = names.number(name)
    if what == "callable":
        return lambda value, *rest, **options: value
    if what == "flag":
        return False
    if what == "text":
        options = typing.get_args(parameter.annotation)
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
    if known is not None:
        return known
    return names.CHANNELS


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
