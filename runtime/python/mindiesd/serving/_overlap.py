"""Independent calls on CUDA streams of their own. Entry point: ``overlap``."""

import contextlib
import threading

import torch

from ..utils import ParametersInvalid
from ._tensors import used_on


class _Streams(threading.local):
    """The side streams of one thread, by the stream that they leave and come back to: memory freed on a side stream
    is used again by that side stream alone, which always waits for the same stream first."""

    def __init__(self):
        self._of = {}

    def get(self, current, count):
        """``count`` streams that are neither ``current`` nor each other."""
        streams = self._of.setdefault((current.device, current.cuda_stream), [])
        tried = 0
        while len(streams) < count and tried < 64:  # torch hands out the same few streams in turn
            stream, tried = torch.cuda.Stream(current.device), tried + 1
            if stream != current and stream not in streams:
                streams.append(stream)
        return streams[:count]


_streams = _Streams()


def _arguments(function):
    """The arguments that are known of a call: those of ``functools.partial``."""
    return getattr(function, "args", ()), getattr(function, "keywords", {})


def _side_by_side(functions, current):
    streams = _streams.get(current, len(functions))
    if len(streams) < len(functions):
        raise ParametersInvalid(f"{len(functions)} calls are given, but torch has streams for {len(streams)} only.")
    begin, results, used = torch.cuda.Event(), [], []
    begin.record(current)
    try:
        for function, stream in zip(functions, streams, strict=True):
            stream.wait_event(begin)
            used.append(stream)
            with torch.cuda.stream(stream):
                used_on(stream, *_arguments(function))
                results.append(function())
    finally:
        for stream in used:  # before an error is raised, too: what failed may have work under way
            end = torch.cuda.Event()
            end.record(stream)
            current.wait_event(end)
    used_on(current, results)
    return tuple(results)


def overlap(*functions, device=None):
    """Calls functions that do not depend on each other, each on a CUDA stream of its own, so that the device computes
    them at the same time; gives their results in a tuple.

    The functions are called in this thread, one after the other in the order given, as plain calls would be: effects
    and random numbers are the same. Only the device's work runs side by side, so this helps where a function has
    handed over its work long before the device has done it. What is queued on the current stream comes before the
    work of all of them, and what is queued on it later, behind it. Results may be used and freed as any tensors.

    No function may read what another one writes, in tensors. An error is raised when the streams are joined again;
    functions behind the one that failed are not called, as with plain calls. Calls may be nested, recorded for
    gradients, and captured in a CUDA graph.

    Without a CUDA device, before torch has used it, and in ``torch.compile``, it makes the plain calls.

    Args:
        functions: two or more, called without arguments.
        device: the CUDA device that they use; None for the current one.

    Raises:
        ParametersInvalid: fewer than two functions, something that cannot be called, or another kind of device.
    """
    if len(functions) < 2:
        raise ParametersInvalid(f"overlap takes two functions or more, but {len(functions)} is given.")
    for function in functions:
        if not callable(function):
            kind = type(function).__name__
            raise ParametersInvalid(f"overlap takes functions without arguments, but {kind} is given.")
    device = None if device is None else torch.device(device)
    if device is not None and device.type not in ("cpu", "cuda"):
        raise ParametersInvalid(f"device must be a CPU or CUDA device, but {str(device)!r} is given.")
    on_cpu = device is not None and device.type == "cpu"
    if on_cpu or torch.compiler.is_compiling() or not torch.cuda.is_available() or not torch.cuda.is_initialized():
        return tuple(function() for function in functions)
    with torch.cuda.device(device) if device is not None else contextlib.nullcontext():
        return _side_by_side(functions, torch.cuda.current_stream())
