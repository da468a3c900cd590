"""Modules that compute as one of torch's, but in float32, and give the type of what they were given, as DiT
code has them. ``merely_casts`` tells such subclasses of ``torch.nn.LayerNorm`` by their ``forward``, and
``is_wide_silu`` such modules of SiLU."""

import builtins
import dis
import weakref

import mindiesd
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.modules.normalization import LayerNorm


class _Known(LayerNorm):
    """``forward`` in the words of model code; each method is one of them."""

    def by_type_as(self, x):
        return super().forward(x.float()).type_as(x)

    def by_type(self, x):
        return super().forward(x.float()).type(x.dtype)

    def by_to(self, x):
        return super().forward(x.float()).to(x.dtype)

    def by_to_dtype(self, x):
        return super().forward(x.float()).to(dtype=x.dtype)

    def to_and_to(self, x):
        return super().forward(x.to(torch.float32)).to(x.dtype)

    def with_its_type_first(self, x):
        dtype = x.dtype
        return super().forward(x.float()).to(dtype)

    def in_three_lines(self, x):
        dtype = x.dtype
        out = super().forward(x.type(torch.float32))
        return out.type(dtype)

    def over_its_operand(self, x):
        dtype = x.dtype
        x = super().forward(x.to(torch.float32))
        return x.to(dtype)

    def by_the_function(self, x):
        dtype = x.dtype
        return F.layer_norm(
            x.float(),
            self.normalized_shape,
            self.weight.float() if self.weight is not None else None,
            self.bias.float() if self.bias is not None else None,
            self.eps,
        ).to(dtype)

    def by_the_function_alone(self, x):
        return F.layer_norm(x.float(), self.normalized_shape, self.weight, self.bias, self.eps).to(
            x.dtype
        )

    def by_the_function_of_nn(self, x):
        out = nn.functional.layer_norm(
            x.float(),
            self.normalized_shape,
            self.weight.float() if self.weight is not None else None,
            self.bias.float() if self.bias is not None else None,
            self.eps,
        )
        return out.type_as(x)


class _KnownSilu:
    """The same of a module of SiLU; the last is what the first becomes by migration."""

    def by_to(self, inputs):
        return F.silu(inputs.float(), inplace=False).to(inputs.dtype)

    def by_to_alone(self, x):
        return F.silu(x.float()).to(x.dtype)

    def by_type_as(self, x):
        return F.silu(x.float()).type_as(x)

    def of_nn(self, x):
        return nn.functional.silu(x.float()).to(x.dtype)

    def migrated(self, x):
        return mindiesd.ext.silu(x, result_type="input")


def _instructions(function):
    """The function's instructions with its local names as numbers; None for one that has more than
    plain parameters."""
    code = function.__code__
    if code.co_flags & 0x0C or code.co_kwonlyargcount or function.__defaults__:  # *args, **kwargs
        return None
    numbers = {name: index for index, name in enumerate(code.co_varnames)}

    def meant(instruction):
        value = instruction.argval
        if "FAST" in instruction.opname:
            names = value if isinstance(value, tuple) else (value,)
            return tuple(numbers.get(name, name) for name in names)
        if instruction.opname.startswith(("JUMP", "POP_JUMP")):
            return instruction.arg  # a distance
        return value

    return tuple((i.opname, meant(i)) for i in dis.get_instructions(code))


def _globals_of(function):
    """What the names of modules and built-in functions that it reads stand for."""
    names = [i.argval for i in dis.get_instructions(function.__code__) if i.opname == "LOAD_GLOBAL"]
    return [function.__globals__.get(n, getattr(builtins, n, None)) for n in names]


def _known(words):
    return {
        _instructions(method): _globals_of(method)
        for name, method in vars(words).items()
        if name[0] != "_"
    }


_KNOWN, _KNOWN_SILU = _known(_Known), _known(_KnownSilu)
_told = weakref.WeakKeyDictionary()  # by class: the ``forward`` that was looked at, and the answer


def merely_casts(kind):
    """Whether objects of a class compute ``torch.nn.LayerNorm`` in float32 and give their operand's
    type: the class's ``forward`` is, instruction for instruction, a known one, and the names in it
    mean what they mean there."""
    return _answer(kind, _looked_at)


def is_wide_silu(kind):
    """Whether objects of a class compute SiLU in float32 and give their operand's type, told likewise."""
    return _answer(kind, _looked_at_silu)


def _answer(kind, look):
    if torch.compiler.is_compiling():
        return False
    forward = getattr(kind, "forward", None)
    if forward is None:  # of a traced module
        return False
    known = _told.get(kind)
    if known is None or known[0] is not forward:
        known = _told[kind] = forward, {}
    if look not in known[1]:
        known[1][look] = look(kind, forward)
    return known[1][look]


def _looked_at_silu(kind, forward):
    if not hasattr(forward, "__code__") or forward.__code__.co_freevars:
        return False
    expected = _KNOWN_SILU.get(_instructions(forward))
    return expected is not None and _globals_of(forward) == expected


def _looked_at(kind, forward):
    owner = next((base for base in kind.__mro__ if "forward" in vars(base)), None)
    if owner is None or not hasattr(forward, "__code__"):
        return False
    above = kind.__mro__[kind.__mro__.index(owner) + 1 :]
    follows = next((base for base in above if "forward" in vars(base)), None)
    if follows is not LayerNorm:
        return False
    free = dict(zip(forward.__code__.co_freevars, forward.__closure__ or (), strict=True))
    if any(name != "__class__" or cell.cell_contents is not owner for name, cell in free.items()):
        return False
    expected = _KNOWN.get(_instructions(forward))
    return expected is not None and _globals_of(forward) == expected
