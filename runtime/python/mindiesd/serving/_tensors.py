"""The tensors that values hold and the modules that callables hold, and what the caching allocator of CUDA has to be
told of tensors that two streams use. Entry points: ``tensors_in``, ``modules_of`` and ``used_on``."""

import functools
import types

import torch

# Values that hold no tensors of an argument or a result: their attributes are not looked into.
_OPAQUE = (torch.nn.Module, type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType, str, bytes, int,
           float, complex, torch.dtype, torch.device, torch.Generator)  # fmt: skip


_LEAVES = (torch.Tensor, type, types.ModuleType, types.BuiltinFunctionType, str, bytes, int, float, complex)
_DEPTH, _MOST = 5, 2000


class Unreadable(RuntimeError):
    """A callable whose modules are not found."""


# Attributes in which torch keeps what a module consists of.
OF_MODULES = {name for name in vars(torch.nn.Module()) if name.startswith("_")}


def _parts(value):
    """What a container or an object holds directly."""
    if value is None or isinstance(value, _OPAQUE):
        return []
    if isinstance(value, functools.partial):
        return [value.func, *value.args, *value.keywords.values()]
    parts = []
    if isinstance(value, (list, tuple, set, frozenset)):
        parts += list(value)
    elif isinstance(value, dict):
        parts += list(value.values())
    parts += list(getattr(value, "__dict__", {}).values())
    for kind in type(value).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name not in ("__dict__", "__weakref__") and hasattr(value, name):
                parts.append(getattr(value, name))
    return parts


def tensors_in(*values):
    """The tensors that values hold, in containers and in attributes of objects, each once. Modules and functions are
    not looked into, except for the arguments of ``functools.partial``."""
    found, seen, waiting = [], {}, list(reversed(values))
    while waiting:
        value = waiting.pop()
        if id(value) in seen:
            continue
        seen[id(value)] = value  # kept, so that no other object gets this id
        if isinstance(value, torch.Tensor):
            found.append(value)
        else:
            waiting += reversed(_parts(value))
    return found


def _with_storage(tensor):
    """The plain tensors that a tensor consists of: those of a nested, sparse or other subclass are several."""
    if tensor.layout in (torch.sparse_coo,):
        return [tensor._indices(), tensor._values()]
    if tensor.layout in (torch.sparse_csr, torch.sparse_bsr):
        return [tensor.crow_indices(), tensor.col_indices(), tensor.values()]
    if tensor.layout in (torch.sparse_csc, torch.sparse_bsc):
        return [tensor.ccol_indices(), tensor.row_indices(), tensor.values()]
    if hasattr(tensor, "__tensor_flatten__"):
        names, _ = tensor.__tensor_flatten__()
        return [part for name in names for part in _with_storage(getattr(tensor, name))]
    return [tensor]


def used_on(stream, *values):
    """Tells the allocator that a CUDA stream uses the tensors of ``values``: memory that is freed on the stream that
    it was allocated for is then not used again before ``stream`` has done what it was given until then."""
    for tensor in tensors_in(*values):
        for part in _with_storage(tensor) if tensor.is_cuda else ():
            if part.device == stream.device:
                part.record_stream(stream)


def _global_names(code):
    """The names that a function looks up in its module, or as attributes, those of functions inside it included."""
    names, waiting = {}, [code]
    while waiting:
        one = waiting.pop()
        names.update(dict.fromkeys(one.co_names))
        waiting += [constant for constant in one.co_consts if isinstance(constant, types.CodeType)]
    return names


def named_parts(function):
    """(name, value) of what a callable, a container or an object refers to directly."""
    if isinstance(function, functools.partial):
        numbered = [(str(i), argument) for i, argument in enumerate(function.args)]
        return [("func", function.func), *numbered, *function.keywords.items()]
    if isinstance(function, types.MethodType):
        return [("self", function.__self__)]
    if isinstance(function, dict):
        return [(str(key), value) for key, value in function.items()]
    if isinstance(function, (list, tuple)):
        return [(str(i), value) for i, value in enumerate(function)]
    if hasattr(type(function), "named_parts"):  # a callable of this package says what it calls
        return function.named_parts()
    if not isinstance(function, types.FunctionType):
        return list(getattr(function, "__dict__", {}).items())
    code, world, named = function.__code__, function.__globals__, []
    for name in _global_names(code):
        value = world.get(name)
        own = isinstance(value, types.FunctionType) and value.__globals__ is world
        if own or isinstance(value, (torch.nn.Module, torch.Tensor)):
            named.append((name, value))
    positional = code.co_varnames[: code.co_argcount]
    named += zip(reversed(positional), reversed(function.__defaults__ or ()), strict=False)
    named += (function.__kwdefaults__ or {}).items()
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        try:
            named.append((name, cell.cell_contents))
        except ValueError:  # assigned only later
            pass
    return named


def modules_of(function):
    """The outermost modules that a callable holds, by name: itself, the object that a method is bound to, arguments
    of ``functools.partial``, defaults of a function's parameters, variables that it closes over, global ones that it
    names, what the functions of its file hold that it names, attributes of an object such as a pipeline; and in turn
    of what these hold, five levels deep.

    Raises:
        Unreadable: these are too many objects.
    """
    if isinstance(function, torch.nn.Module):
        return {"": function}
    found, seen, waiting = {}, {id(function): function}, [("", function, 0)]
    while waiting:
        prefix, holder, depth = waiting.pop()
        for name, value in named_parts(holder):
            name = f"{prefix}.{name}".lstrip(".")
            if isinstance(value, torch.nn.Module):
                found[name] = value
            elif not isinstance(value, _LEAVES) and depth < _DEPTH and id(value) not in seen:
                seen[id(value)] = value
                waiting.append((name, value, depth + 1))
                if len(seen) > _MOST:
                    raise Unreadable(
                        f"{type(function).__name__} reaches more than {_MOST} objects, too many to look for modules in; "
                        "give the module itself, or a function of the modules alone."
                    )
    return found
