"""``half-precision``: parameters of float32 as bfloat16 or float16. Arguments of the model are cast at its door and
results given back in float32, so that who calls it needs no change. The step runs only where it is named.

What needs more digits keeps them where the model runs so: modules that the model or the user names, buffers of modules
without parameters, as tables of frequencies, and arguments, as time steps. The first values lie in the host's memory
for ``restore``, which brings back those of which the half ones have not changed.
"""

import copy
import inspect

import torch
from torch.utils._pytree import tree_map_only

from ..utils import ParametersInvalid
from .alone import tensor_reason
from .change import Hook, records
from .compare import flatten
from .step import Step, allowed

HALVES = (torch.bfloat16, torch.float16)
_WIDE = torch.float32
# Attributes by which models of transformers and diffusers name what stays wide.
_NAMED = ("_keep_in_fp32_modules", "_keep_in_fp32_modules_strict")


class WideValues:
    """The module had a tensor with these values, under a key of one of its dictionaries, and it was cast to ``half``."""

    def __init__(self, half, kind, key, tensor):
        self.half, self.kind, self.key = half, kind, key
        self.first = tensor.detach().to("cpu", copy=True)

    def undo(self, module):
        tensor = getattr(module, self.kind).get(self.key)
        if tensor is None or tensor.is_meta or not tensor.is_floating_point():
            return
        made = self.first.to(self.half).to(tensor.dtype)
        same = tensor.shape == made.shape and torch.equal(_bits(made), _bits(tensor.detach().cpu()))
        to = _WIDE if tensor.dtype in HALVES else tensor.dtype
        grad, tensor.grad = tensor.grad, None
        with torch.inference_mode(False):
            tensor.data = (self.first if same else tensor.detach()).to(tensor.device, to, copy=True)
        tensor.grad = None if grad is None else grad.to(to)


def _bits(tensor):
    return tensor.contiguous().reshape(-1).view(torch.uint8)


def computed_in(model):
    """The half type to which a preparation cast this model, or None."""
    kinds = (r.half for m in model.modules() for r in records(m) if isinstance(r, WideValues))
    return next(kinds, None)


class Cast:
    """A hook that casts tensors from float32 to the model's half type, or the other way.

    holder, key: where a tensor is that was cast: once it has another type, as after ``model.float()``, nothing is cast.
    """

    def __init__(self, holder, key, to_half):
        self.holder, self.key, self.to_half = holder, key, to_half

    def of(self, value):
        """A value of tensors in tuples, lists and dictionaries, with those tensors cast."""
        half = self.holder[self.key].dtype
        return tree_map_only(torch.Tensor, lambda x: self._one(x, half), value) if half in HALVES else value

    def _one(self, x, half):
        if not self.to_half:
            return x.to(_WIDE) if x.dtype == half else x
        return _saturated(x, half) if x.dtype == _WIDE else x


def _saturated(x, half):
    """The values in a half type; finite ones beyond its range become its largest, as in masks of float32's lowest."""
    largest = torch.finfo(half).max
    return torch.where(x.isinf(), x, x.clamp(-largest, largest)).to(half)


class Arguments(Cast):
    """Casts arguments, by their names in ``chosen`` or all where that is None; ``names`` has those of positions, of
    which the last may stand for all that follow (``rest``)."""

    names, rest, chosen = (), False, None

    def __call__(self, module, args, kwargs):
        args = tuple(self._chosen(self.name(at), arg) for at, arg in enumerate(args))
        return args, {name: self._chosen(name, arg) for name, arg in kwargs.items()}

    def name(self, at):
        if at >= len(self.names) and self.rest:
            return self.names[-1]
        return self.names[at] if at < len(self.names) else str(at)

    def _chosen(self, name, value):
        return self.of(value) if self.chosen is None or name in self.chosen else value


class Results(Cast):
    """Casts results, where it is on."""

    on = True

    def __call__(self, module, args, kwargs, result):
        return self.of(result) if self.on else None


class HalfPrecision(Step):
    name = "half-precision"
    speed = "fast"
    needs_examples = True
    only_named = True

    def __init__(self, half=torch.bfloat16, keep=()):
        self.half, self.keep = half, tuple(keep)

    def of(self, model, half, keep):
        """The step for this type and these names and classes of modules that stay wide.

        Raises:
            ParametersInvalid: they are none of these, or no module is meant.
        """
        if half is not None and half not in HALVES:
            raise ParametersInvalid(f"dtype must be torch.bfloat16 or torch.float16, but {half!r} is given.")
        if isinstance(keep, (str, type)) or not all(isinstance(one, (str, type)) for one in keep):
            raise ParametersInvalid(f"keep must be a list of names and classes of modules, but {keep!r} is given.")
        step = HalfPrecision(half or torch.bfloat16, keep)
        for one in step.keep:
            if not any(_meant(one, name, module) for name, module in model.named_modules()):
                raise ParametersInvalid(f"keep must be names and classes of modules, but none is meant by {one!r}.")
        return step

    def tolerance(self, profile, dtype, *, cuda):
        return allowed("close", self.half, cuda=cuda)

    def results(self, before, after):
        """Results in other objects than containers, as caches of keys and values, are half ones."""
        if [len(call) for call in before] != [len(call) for call in after]:
            return after
        return [[self._widened(*pair) for pair in zip(*calls, strict=True)] for calls in zip(before, after, strict=True)]

    def _widened(self, before, after):
        both = isinstance(before, torch.Tensor) and isinstance(after, torch.Tensor)
        return after.to(_WIDE) if both and (before.dtype, after.dtype) == (_WIDE, self.half) else after

    def apply(self, work):
        if why := self._obstacle(work) or self._writing(work):
            work.leave(None, why)
            return
        kept = {n for n, m in work.names.modules.items() if any(_meant(one, n, m) for one in self.keep)}
        tensors, tables = self._chosen(work, kept)
        if not tensors:
            work.leave(None, "no parameter is of float32, or all of them are kept so")
            return
        for module, kind, key in tensors:
            self._cast(work, module, kind, key)
        module, kind, key = tensors[0]
        where = getattr(module, kind), key
        arguments = Arguments(*where, True)
        arguments.names, arguments.rest = _names_of_arguments(work.model)
        results = [self._keep(work, work.names.modules[name], where) for name in _outermost(kept)]
        self._run(work, arguments, results, where, tables)
        count = sum(kind == "_parameters" for _, kind, _ in tensors)
        size = sum(getattr(module, kind)[key].nbytes for module, kind, key in tensors) * 2 // 2**20
        text = f"has {count} parameters as {str(self.half).removeprefix('torch.')}, and takes and gives float32"
        work.record(work.model, Nothing(), text)
        work.notes.append(f"half-precision: the first values, {size} MiB, lie in the host's memory until restore")

    def _run(self, work, arguments, results, where, tables):
        """Finds with which tables, results of kept modules and arguments wide the model computes its examples."""
        model = work.model
        work.record(model, Hook(model.register_forward_pre_hook(arguments, with_kwargs=True)))
        results_hook = model.register_forward_hook(Results(*where, False), with_kwargs=True, prepend=True)
        work.record(model, Hook(results_hook))
        attempts = [(wide, on) for wide in (True, False)[: 1 + bool(tables)] for on in (False, True)[: 1 + bool(results)]]
        for number, (wide, on) in enumerate(attempts):
            if not wide:
                while tables:
                    self._cast(work, *tables.pop())
            for result in results:
                result.on = on
            try:
                work.examples.run(model)
                break
            except Exception:
                if number == len(attempts) - 1:
                    raise
        arguments.chosen = self._arguments_of(work, arguments)
        for name in sorted(arguments.chosen):
            arguments.chosen.remove(name)
            try:
                work.examples.run(model)
            except Exception:  # noqa: BLE001 - whatever the model raises, it needs the argument in its own type
                arguments.chosen.add(name)

    def _arguments_of(self, work, arguments):
        """The names of the examples' arguments that hold tensors of float32."""
        names = set()
        for args, kwargs in work.examples.calls:
            for name, arg in (*((arguments.name(at), arg) for at, arg in enumerate(args)), *kwargs.items()):
                found = []
                tree_map_only(torch.Tensor, lambda x, found=found: found.append(x.dtype), arg)
                if _WIDE in found:
                    names.add(name)
        return names

    def _chosen(self, work, kept):
        """(module, dictionary, key) of each tensor to cast, and the same of buffers of modules without parameters."""
        tensors, tables, seen = [], [], set()
        for name, module in work.names.modules.items():
            own = any(p is not None and p.is_floating_point() for p in module._parameters.values())
            for kind in ("_parameters", "_buffers"):
                for key, tensor in getattr(module, kind).items():
                    if tensor is None or tensor.dtype != _WIDE or id(tensor) in seen:
                        continue
                    seen.add(id(tensor))
                    path = f"{name}.{key}".lstrip(".")
                    if any(path.startswith(f"{one}.") or one == "" for one in kept):
                        work.leave(module, f"its {key} stays float32, as keep says")
                    elif self._named(work, path):
                        work.leave(module, f"its {key} stays float32, as the model says")
                    else:
                        (tensors if own or kind == "_parameters" else tables).append((module, kind, key))
        return tensors, tables

    @staticmethod
    def _named(work, path):
        """Whether a module above says that this tensor stays wide."""
        above = ""
        for part in ("", *path.split(".")[:-1]):
            above = f"{above}.{part}".lstrip(".")
            inside = f".{path[len(above) :]}.".replace("..", ".")
            for attribute in _NAMED:
                if any(f".{one}." in inside for one in getattr(work.names.modules[above], attribute, None) or ()):
                    return True
        return False

    def _cast(self, work, module, kind, key):
        tensor = getattr(module, kind)[key]
        work.record(module, WideValues(self.half, kind, key, tensor))
        with torch.inference_mode(False):
            tensor.data = tensor.data.to(self.half)

    @staticmethod
    def _keep(work, module, where):
        """Has a kept module take float32; gives the hook that has it give the half type."""
        work.record(module, Hook(module.register_forward_pre_hook(Arguments(*where, False), with_kwargs=True)))
        result = Results(*where, True)
        work.record(module, Hook(module.register_forward_hook(result, with_kwargs=True, prepend=True)))
        return result

    @staticmethod
    def _obstacle(work):
        for name, module in work.names.modules.items():
            shown = name or "the model"
            if records(module):
                return f"{shown} has been prepared already: restore it and name all steps in one call"
            if "_hf_hook" in module.__dict__:
                return f"{shown} is offloaded"
            if isinstance(module, torch.jit.ScriptModule):
                return f"{shown} is a TorchScript module"
            for key, tensor in (*module._parameters.items(), *module._buffers.items()):
                if tensor is None:
                    continue
                if why := tensor_reason(key, tensor):
                    return f"{shown}: {why}"
                if tensor.grad is not None:
                    return f"{shown}: its {key} has a gradient, which would have another type"
        return None

    @staticmethod
    def _writing(work):
        """Why arguments cannot be replaced by others, or None."""
        for args, kwargs in work.examples.calls:
            mine = copy.deepcopy((args, kwargs))
            with torch.no_grad(), torch.random.fork_rng():
                work.model(*mine[0], **mine[1])
            for one, two in zip(flatten(mine), flatten((args, kwargs)), strict=False):
                if isinstance(one, torch.Tensor) and one.dtype == _WIDE and not torch.equal(_bits(one), _bits(two)):
                    return "a call writes to its arguments, of which casts are copies"
        return None


class Nothing:
    """What says in the report what other records take back."""

    def undo(self, module):
        pass


def _meant(one, name, module):
    """Whether a name, or a part of it between dots, or a class means a module."""
    return isinstance(module, one) if isinstance(one, type) else f".{one}." in f".{name}."


def _outermost(names):
    """The names of modules in no other one of these."""
    return [name for name in sorted(names) if not any(name.startswith(f"{one}.") or one == "" for one in names - {name})]


def _names_of_arguments(model):
    """The names of the forward's positional arguments, and whether the last takes all that follow."""
    parameters = inspect.signature(model.forward).parameters.values()
    rest = inspect.Parameter.VAR_POSITIONAL
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD, rest)
    found = [p for p in parameters if p.kind in kinds]
    return tuple(p.name for p in found), any(p.kind == rest for p in found)
