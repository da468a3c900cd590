"""Several instances of one model on one device, which share their weights. Entry point: ``Instances``."""

import os
import threading
import weakref

import torch

from ..utils import ModelInitError, ParametersInvalid
from ._requests import Arguments, Closed, Request, Results
from ._sharing import Weights, check, class_name, unwritten_buffers
from ._tensors import modules_of
from ._workers import Workers, streams_for


def _whole(name, value, least=1):
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ParametersInvalid(f"{name} must be a whole number from {least} on, but {value!r} is given.")
    return value


def _device(device):
    if device is None:
        device = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(device)
    except (RuntimeError, TypeError) as error:
        raise ParametersInvalid(f"device must be a device of torch, but {device!r} is given.") from error
    if device.type not in ("cpu", "cuda"):
        raise ParametersInvalid(f"device must be a CPU or CUDA device, but {str(device)!r} is given.")
    if device.type == "cuda":
        if not torch.cuda.is_available():
            raise ParametersInvalid(f"device is {str(device)!r}, but torch finds no CUDA device.")
        if device.index is None:
            device = torch.device("cuda", torch.cuda.current_device())
    return device


def _to(model, device):
    for module in modules_of(model).values():
        module.to(device)


def build(make, count, device):
    """``count`` models that share the parameters of the first, on the device; and their ``Weights``.

    Raises:
        ModelInitError: ``make`` gives something that cannot be called, the same model twice, or models that differ.
    """
    if not callable(make):
        raise ParametersInvalid(f"make must be a function that builds a model, but {make!r} is given.")
    models, weights = [], None
    for number in range(1, count + 1):
        model = make()
        if not callable(model):
            raise ModelInitError(f"make must build a model, which can be called, but it gave {type(model).__name__}.")
        if any(model is earlier for earlier in models):
            raise ModelInitError("make has to build a new model each time, but it gave the same one again.")
        if models and class_name(model) != class_name(models[0]):
            raise ModelInitError(
                f"make has to build the same model each time, but it gave {type(model).__name__} after "
                f"{type(models[0]).__name__}."
            )
        check(model)
        if weights is None:
            _to(model, device)
            weights = Weights(model)
        else:
            weights.join(model, number)
            _to(model, device)
        models.append(model)
    return models, weights


def call_each(models, streams, weights, example):
    """Calls the models on the example, one after the other, each in a thread and on the stream that will run it, and
    shares the buffers that the call of the first leaves as they were. Errors are the caller's."""
    args, kwargs = (example.args, example.kwargs) if isinstance(example, Arguments) else ((example,), {})
    unwritten = set()

    def first(*args, **kwargs):
        unwritten.update(unwritten_buffers(models[0], lambda: models[0](*args, **kwargs)))

    for number, (model, stream) in enumerate(zip(models, streams, strict=True)):
        trial = Workers([first if number == 0 else model], [stream], 1)
        try:
            device = torch.device("cpu") if stream is None else stream.device
            request = Request(args, kwargs, device)
            trial.queue.put(request, None)
            request.future.result()
        finally:
            trial.close()
    weights.share_buffers(unwritten)


class Instances:
    """Several instances of one model that share their weights, each in its own thread and, on a CUDA device, on its
    own stream, so that one computes where another leaves the device idle.

    Calls are made without gradients, under the autocast and inference mode of the thread that makes the request.
    On a CUDA device arguments may come from the work of any stream that was current there, and a result is complete
    when it is given. An error is raised for the request that it happened in; the others go on.

    Parameters have one storage. Buffers are each instance's own, with the values of the first, for calls may write
    them; with ``example`` the first instance is called on it, and the buffers that this leaves as they were have one
    storage as well. ``sharing`` says which. A request must not depend on an earlier one, since any instance may get it.

    Args:
        make: builds a model, or another callable that holds modules; called ``count`` times in this thread. It must
            build every module anew, of one structure. Values of weights may differ: the first model's count.
        count: how many instances.
        device: a CPU or CUDA device, to which the modules are moved; None for the current CUDA device, or the CPU
            where there is none.
        example: ``Arguments`` or one argument on which every instance is called once, one after the other, before the
            first request, so that what a first call builds is there. None makes no such call.
        waiting: how many requests may wait for an instance, by default two for each. Who submits more waits.
        timeout: seconds to wait for room, then ``TimeoutError``; None waits as long as it takes.

    Raises:
        ParametersInvalid: an argument cannot be used.
        ModelInitError: what ``make`` builds differs from call to call, or its weights cannot be shared.
    """

    def __init__(self, make, count, device=None, *, example=None, waiting=None, timeout=None):
        count = _whole("count", count)
        waiting = 2 * count if waiting is None else _whole("waiting", waiting)
        if timeout is not None and not (isinstance(timeout, (int, float)) and timeout >= 0):
            raise ParametersInvalid(f"timeout must be seconds from 0 on, or None, but {timeout!r} is given.")
        self.device, self._timeout, self._process = _device(device), timeout, os.getpid()
        models, weights = build(make, count, self.device)
        self.sharing, self.models = weights.report, tuple(models)
        self._ahead, streams = count + waiting, streams_for(count, self.device)
        if example is not None:
            call_each(models, streams, weights, example)
        self._workers = Workers(models, streams, waiting)
        # Runs when nobody holds the instances any more, and at the latest before the interpreter ends.
        self._end = weakref.finalize(self, Workers.close, self._workers, cancel=True)

    def submit(self, /, *args, **kwargs):
        """Hands a call to the instance that is free first; gives a ``concurrent.futures.Future``. Waits while
        ``waiting`` requests wait already.

        Raises:
            TimeoutError: there was no room in ``timeout`` seconds.
            RuntimeError: the instances are closed, this process is a fork of the one that made them, an instance
                itself calls, or a CUDA graph is being captured.
        """
        if os.getpid() != self._process:
            raise RuntimeError("these instances belong to the parent process, whose threads a fork does not have.")
        if self._workers.own(threading.current_thread()):
            raise RuntimeError("an instance must not wait for an instance: call the model itself.")
        if self.device.type == "cuda" and torch.cuda.is_current_stream_capturing():
            raise RuntimeError("instances compute on streams of their own, which a CUDA graph does not capture.")
        request = Request(args, kwargs, self.device)
        try:
            self._workers.queue.put(request, self._timeout)
        except Closed:
            raise RuntimeError("these instances are closed; they take no more requests.") from None
        return request.future

    def map(self, inputs, *, timeout=None, return_errors=False):
        """The results for ``inputs`` in their order, as an iterator that keeps as many requests under way as there is
        room for and reads the inputs no further ahead.

        Args:
            inputs: each the one argument of a call, or ``Arguments``.
            timeout: seconds from now, after which asking for a result that is not there raises ``TimeoutError``.
            return_errors: gives the error of a request in place of its result. Otherwise it is raised there, and
                the iterator goes on behind it when asked again.
        """
        return Results(self.submit, inputs, self._ahead, timeout, return_errors)

    def close(self, *, cancel=False):
        """Takes no more requests and waits until those that wait are answered; with ``cancel`` those that no
        instance has begun are cancelled."""
        if os.getpid() == self._process:
            self._end.detach()
            self._workers.close(cancel)

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        self.close(cancel=kind is not None)

    def __len__(self):
        return len(self.models)

    def __repr__(self):
        return f"Instances(of {type(self.models[0]).__name__}, {len(self)} on {self.device})"
