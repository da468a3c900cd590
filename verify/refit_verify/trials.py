"""Guesses at the arguments of a function, one after the other, from what its signature says.

Entry points: `trials` and `Trial.arguments`. What the original raises on is no input of it: `worker`
tries until some fit. Both processes make the same guesses, and the same values of each.
"""

from __future__ import annotations

import dataclasses
import inspect
import itertools
import types

import torch

from . import names, objects, shapes

MASKS = (None, "bool", "float")
_KINDS = ("pair", "angles", "complex", "matrices", "stacked")
_VECTORS = ("last", "batch", "position")
_EMPTY = inspect.Parameter.empty


@dataclasses.dataclass(frozen=True)
class Trial:
    """One guess. width: of channels. optional: tensors whose default is None that are given, too.
    flipped: flags are not as their defaults say. attributes: of the object, which hold flags that
    are turned over."""

    small: bool
    optional: tuple[str, ...]
    flipped: bool
    width: int
    kind: str | None
    table: tuple | None
    layout: str
    mask: str | None
    vector: str | None
    flag: bool
    attributes: tuple[str, ...] = ()

    @classmethod
    def read(cls, written: dict) -> Trial:
        """The guess that was written as JSON."""
        table = written["table"]
        return cls(**{
            **written,
            "table": None if table is None else tuple(table),
            "optional": tuple(written["optional"]),
            "attributes": tuple(written["attributes"]),
        })  # fmt: skip


@dataclasses.dataclass
class Signature:
    """What is drawn for one function: its parameters, without the object of a method."""

    parameters: list[inspect.Parameter]
    roles: dict[str, str]
    scope: dict
    ranks: dict[str, int]
    function: object = None
    given: dict[str, str] = dataclasses.field(default_factory=dict)

    @classmethod
    def of(cls, function, method: bool, tree) -> Signature:
        parameters = objects.parameters_of(function)[1 if method else 0 :]
        roles = {}
        for p in parameters:
            default = None if p.default is _EMPTY else p.default
            roles[p.name] = names.role(p.name, objects.note_of(p), default)
        scope = getattr(inspect.unwrap(function), "__globals__", {})
        return cls(parameters, roles, scope, shapes.ranks(tree), function)

    @classmethod
    def of_layer(cls) -> Signature:
        """That of a module of which only its result is known: one tensor."""
        x = inspect.Parameter("x", inspect.Parameter.POSITIONAL_ONLY)
        return cls([x], {"x": "tensor"}, {}, {})

    def give(self, expressions: dict[str, str]) -> None:
        """Takes the arguments for these parameters from expressions instead of guessing them."""
        self.given = expressions
        self.roles.update(dict.fromkeys(expressions, "given"))

    def has(self, *roles: str, optional: bool | None = None) -> bool:
        return any(
            self.roles[p.name] in roles and (optional is None or optional == (p.default is None))
            for p in self.parameters
        )


def trials(signature: Signature, widths, smalls, masks=MASKS):
    """Every guess, the likeliest first; widths: of a kind of object (`small`), those to try."""
    layouts = list(shapes.LAYOUTS)
    first = [rank for name, rank in signature.ranks.items() if name in signature.roles]
    if first:
        layouts.sort(key=lambda name: len(shapes.LAYOUTS[name][0]) not in first)
    tensors = signature.has("tensor", "mask", "vector", "embedding")
    for small in smalls:
        yield from (
            Trial(small, given, False, width, kind, table, layout, mask, vector, flag)
            for (kind, table), width, layout, given, mask, vector, flag in itertools.product(
                _tables(signature),
                widths(small),
                layouts if tensors else layouts[:1],
                _optional(signature),
                masks if signature.has("mask") else (None,),
                _VECTORS if signature.has("vector", "embedding") else (None,),
                (False, True) if _flags(signature, required=True) else (False,),
            )
        )


def _optional(signature: Signature) -> list[tuple[str, ...]]:
    """Which of the tensors with the default None are given: none, all, or one."""
    found = tuple(
        p.name for p in signature.parameters
        if p.default is None and signature.roles[p.name] in ("tensor", "vector", "embedding", "integers")
    )  # fmt: skip
    if not found:
        return [()]
    return [(), found] + ([(name,) for name in found[:4]] if len(found) > 1 else [])


def _tables(signature: Signature) -> list[tuple]:
    """Kinds and shapes of tables; first none, where all have the default None."""
    names_ = [p for p in signature.parameters if signature.roles[p.name] in ("table", "frequencies")]
    if not names_:
        return [(None, None)]
    kinds = _KINDS if signature.has("frequencies") else ("pair",)
    absent = [(None, None)] if all(p.default is None for p in names_) else []
    return absent + list(itertools.product(kinds, shapes.TABLES))


def variants(signature: Signature, trial: Trial, attributes: tuple[str, ...]):
    """A guess that fits, with other flags: these may lead to other lines."""
    flags = (False, True) if _flags(signature, required=False) else (False,)
    turned = [()] + [(name,) for name in attributes] + ([attributes] if len(attributes) > 1 else [])
    for tables, given, flipped, names_ in itertools.product(
        _tables(signature), _optional(signature), flags, turned
    ):
        yield dataclasses.replace(
            trial, kind=tables[0], table=tables[1], optional=given, flipped=flipped, attributes=names_
        )


def _flags(signature: Signature, required: bool) -> bool:
    return any(
        signature.roles[p.name] == "flag" and (p.default is _EMPTY) == required
        for p in signature.parameters
    )


class Draw:
    """Random values from one seed: tensors in one type, tables and vectors in another."""

    def __init__(self, seed: int, tensor: torch.dtype, table: torch.dtype):
        self._generator = torch.Generator().manual_seed(seed)
        self._tensor, self._table = tensor, table

    def normal(self, shape, kind: torch.dtype | None = None) -> torch.Tensor:
        drawn = torch.randn(shape, generator=self._generator, dtype=torch.float64)
        return drawn.to(kind or self._tensor)

    def table(self, shape) -> torch.Tensor:
        return self.normal(shape, self._table)

    def given(self, expression: str):
        """The value of an expression: draw(*sizes) in it is a tensor, table(*sizes) one in the type of tables."""
        known = {"torch": torch, "namespace": types.SimpleNamespace, "draw": lambda *sizes: self.normal(sizes), "table": lambda *sizes: self.table(sizes)}
        return eval(expression, known)

    def frequencies(self, kind: str, shape):
        """Cosines and sines, angles, complex rotations, 2x2 matrices, or pairs in the last dimension."""
        if kind == "pair":
            return self.table(shape), self.table(shape)
        if kind == "angles":
            return self.table(shape)
        if kind == "complex":
            return torch.view_as_complex(self.normal((*shape, 2), torch.float32))
        return self.table((*shape, 2, 2) if kind == "matrices" else (*shape, 2))

    def mask(self, kind: str, shape) -> torch.Tensor:
        if kind == "float":
            return self.normal(shape)
        kept = torch.rand(shape, generator=self._generator) > 0.3
        kept[..., 0] = True  # every row has a key
        return kept

    def integers(self, name: str, length: int) -> torch.Tensor:
        """Positions, unless the name says what else it is."""
        if "timestep" in name:
            return torch.arange(1, names.BATCH + 1)
        if "cu_" in name:
            return torch.tensor([0, length // 2, length], dtype=torch.int32)
        return torch.arange(length).expand((names.BATCH, length)).contiguous()

    def arguments(self, signature: Signature, trial: Trial):
        """(args, kwargs) of one call. Raises objects.CannotMake."""
        args, kwargs = [], {}
        for parameter in signature.parameters:
            value = self._value(parameter, signature, trial)
            if value is _EMPTY:
                continue
            if parameter.kind is inspect.Parameter.POSITIONAL_ONLY:
                args.append(value)
            else:
                kwargs[parameter.name] = value
        return tuple(args), kwargs

    def _value(self, parameter, signature: Signature, trial: Trial):
        what, default = signature.roles[parameter.name], parameter.default
        if what == "given":
            return self.given(signature.given[parameter.name])
        layout = shapes.layout_of(signature.ranks.get(parameter.name, -1), trial.layout)
        shape, position = shapes.LAYOUTS[layout]
        shape = tuple(size or trial.width for size in shape)
        length = shape[position]
        if what == "mask":
            if trial.mask is None:
                return _EMPTY if default is not _EMPTY else None
            return self.mask(trial.mask, (shape[0], 1, length, length))
        if what == "flag" and default is not _EMPTY:
            return (not default) if trial.flipped and isinstance(default, bool) else _EMPTY
        if what in ("table", "frequencies"):
            wanted = trial.table is not None and (default is _EMPTY or default is None)
        else:
            wanted = default is _EMPTY or parameter.name in trial.optional
        if not wanted:
            return _EMPTY
        if what == "tensor":
            return self.normal(shape)
        if what == "table":
            return self.table(trial.table)
        if what == "frequencies":
            return self.frequencies(trial.kind, trial.table)
        if what == "integers":
            return self.integers(parameter.name.lower(), length)
        if what == "embedding":
            ranks = {"last": (), "batch": (1,), "position": (length,)}[trial.vector]
            return self.normal((names.BATCH, *ranks, trial.width or names.CHANNELS))
        if what == "vector":
            last = shape[-1]
            return self.table(
                {"last": (last,), "batch": (shape[0], last), "position": (shape[0], 1, last)}[trial.vector]
            )
        if default is None:
            return _EMPTY
        if what == "flag":
            return trial.flag
        return objects.value_of(parameter, signature.scope, owner=signature.function)
