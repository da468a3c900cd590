"""Whether a call is one that a prepared module may compute its own way. Entry point: ``ordinary``."""

import torch


def ordinary(x):
    """Whether x is a tensor with values, which no compiler, tracer, transform or autocast is to see another computation
    of: where one is at work, prepared modules compute what they did before."""
    return not (
        torch.compiler.is_compiling()
        or torch.jit.is_tracing()
        or type(x) is not torch.Tensor
        or torch._C._functorch.peek_interpreter_stack() is not None
        or torch._C._is_any_autocast_enabled()
    )


def version(tensor):
    """The count of changes in place; None for tensors of inference_mode, which count none."""
    return None if tensor.is_inference() else tensor._version
