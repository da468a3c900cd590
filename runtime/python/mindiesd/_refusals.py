"""What torch's and Python's errors about arguments become: ParametersInvalid, and what they were as well.
Entry points: ``refusing``, a decorator of public functions, and ``refuse``."""

import functools
import inspect
import pathlib
import re

import torch
from torch.compiler import is_dynamo_compiling

from .utils import ParametersInvalid


class InvalidType(ParametersInvalid, TypeError):
    """ParametersInvalid that is a TypeError, for code that expects torch's own error."""


class InvalidValue(ParametersInvalid, ValueError):
    """ParametersInvalid that is a ValueError."""


class InvalidIndex(ParametersInvalid, IndexError):
    """ParametersInvalid that is an IndexError."""


class InvalidAttribute(ParametersInvalid, AttributeError):
    """ParametersInvalid that is an AttributeError."""


class InvalidNumber(ParametersInvalid, OverflowError):
    """ParametersInvalid that is an OverflowError."""


class InvalidDivisor(ParametersInvalid, ZeroDivisionError):
    """ParametersInvalid that is a ZeroDivisionError."""


class InvalidState(ParametersInvalid, AssertionError):
    """ParametersInvalid that is an AssertionError, as torch's attention modules raise."""


class NotComputed(ParametersInvalid, NotImplementedError):
    """ParametersInvalid that is a NotImplementedError."""


# By the class itself: what derives from one of these says more than that an argument is wrong, as torch's
# errors of memory and of devices do, and those with which torch.fx and torch.export steer.
_REFUSALS = {
    RuntimeError: ParametersInvalid,
    TypeError: InvalidType,
    ValueError: InvalidValue,
    IndexError: InvalidIndex,
    AttributeError: InvalidAttribute,
    OverflowError: InvalidNumber,
    ZeroDivisionError: InvalidDivisor,
    AssertionError: InvalidState,
    NotImplementedError: NotComputed,
}
ERRORS = tuple(_REFUSALS)
# torch's RuntimeErrors that are about the machine.
_MACHINE = re.compile(r"CUDA error|CUBLAS|cuBLAS|CUDNN_STATUS|out of memory|device-side|NCCL|Triton")
# The files whose errors are about arguments, by how their paths begin.
OWN_CODE = tuple(
    f"{pathlib.Path(file).resolve().parent}/" for file in (__file__, torch.__file__)
)


def _in_own_code(traceback):
    """Whether only this package and torch ran: an error of a model's module or hook is the model's."""
    while traceback is not None:
        if not traceback.tb_frame.f_code.co_filename.startswith(OWN_CODE):
            return False
        traceback = traceback.tb_next
    return True


def described(value):
    """A value as a message names it: the type and sizes of a tensor, else the kind of object."""
    if isinstance(value, torch.Tensor):
        dtype = str(value.dtype).removeprefix("torch.")
        return f"{dtype} tensor {list(value.shape)}" if not value.is_nested else f"nested {dtype} tensor"
    return type(value).__name__


def _fits(function, args, keywords):
    try:
        inspect.signature(function).bind(*args, **keywords)
    except TypeError:
        return False
    return True


def refuse(error, function, args, keywords):
    """Raises what stands for ``error``, which a call of ``function`` has raised and which is being handled:
    ParametersInvalid, or the error itself where it is one already or is about something else than the
    arguments. A call that does not fit the signature is a TypeError, as everywhere in Python."""
    kind = _REFUSALS.get(type(error))
    if kind is None or not _in_own_code(error.__traceback__):
        raise error
    if kind is ParametersInvalid and _MACHINE.search(str(error)):
        raise error
    if kind is InvalidType and not _fits(function, args, keywords):
        raise error
    given = [described(value) for value in args]
    given += [f"{name}={described(value)}" for name, value in keywords.items()]
    raise kind(
        f"{function.__qualname__} cannot compute with what is given ({', '.join(given)}): {error}"
    ) from error


def refusing(function):
    """``function``, whose arguments are refused by ParametersInvalid, also where torch notices."""

    @functools.wraps(function)
    def call(*args, **keywords):
        if is_dynamo_compiling():
            return function(*args, **keywords)
        try:
            return function(*args, **keywords)
        except ERRORS as error:
            refuse(error, function, args, keywords)

    return call
