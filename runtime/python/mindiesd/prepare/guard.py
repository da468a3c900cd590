"""Whether a call is one that a prepared module may compute its own way. Entry points: ``ordinary``, ``traced``,
``version``, ``place`` and ``site``."""

import sys
from pathlib import Path

import torch
import torch.fx

_OWN = str(Path(__file__).parent)
_CALLS = torch.nn.modules.module.__file__


def ordinary(x):
    """Whether x is a tensor with values, which no compiler, tracer, transform or autocast is to see another computation
    of: where one is at work, prepared modules compute what they did before."""
    return not (
        torch.compiler.is_compiling()
        or torch.jit.is_tracing()
        or type(x) is not torch.Tensor
        or x.layout is not torch.strided
        or x.is_nested
        or torch._C._functorch.peek_interpreter_stack() is not None
        or torch._C._is_any_autocast_enabled()
    )


def traced(args, kwargs):
    """Whether a compiler or a tracer is to see what a call of the model with these arguments computes."""
    return (
        torch.compiler.is_compiling()
        or torch.jit.is_tracing()
        or any(isinstance(value, torch.fx.Proxy) for value in (*args, *kwargs.values()))
        or torch._C._functorch.peek_interpreter_stack() is not None
    )


def version(tensor):
    """The count of changes in place; None for tensors of inference_mode, which count none."""
    return None if tensor.is_inference() else tensor._version


def place():
    """The code that calls the module that computes, and the place in its bytecode; None where there is none."""
    frame = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if code.co_filename != _CALLS and not code.co_filename.startswith(_OWN):
            return code, frame.f_lasti
        frame = frame.f_back
    return None


def site():
    """Where the module that computes is called: a file, the first line of a function, and the place in its bytecode."""
    found = place()
    return None if found is None else (found[0].co_filename, found[0].co_firstlineno, found[1])
