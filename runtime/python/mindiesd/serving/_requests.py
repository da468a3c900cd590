"""Requests to instances: what a caller hands over, the future that it gets, and the bounded queue between the threads.
Entry points: ``Arguments``, ``Request`` and ``Queue``."""

import collections
import concurrent.futures
import contextlib
import threading
import time

import torch

from ._tensors import used_on


class Arguments:
    """The arguments of one call, for ``Instances.map``: ``Arguments(latent, timestep=t)``."""

    def __init__(self, /, *args, **kwargs):
        self.args, self.kwargs = args, kwargs


class Future(concurrent.futures.Future):
    """A future whose result may be used on the CUDA stream that is current where ``result`` is called, and on the one
    that was current where the request was made. The result is complete: no stream has to wait for it."""

    def result(self, timeout=None):
        value = super().result(timeout)
        if torch.cuda.is_available() and torch.cuda.is_initialized():
            for device in {t.device for t in self._tensors if t.is_cuda}:
                used_on(torch.cuda.current_stream(device), self._tensors)
        return value

    _tensors = ()  # those of the result


class Ambience:
    """Settings that torch keeps for each thread, taken from the thread that makes a request: autocast, inference mode
    and the default device. Gradients are never recorded."""

    def __init__(self):
        self._inference = torch.is_inference_mode_enabled()
        self._device = torch.get_default_device()
        self._cache = torch.is_autocast_cache_enabled()
        self._autocast = [
            (kind, torch.get_autocast_dtype(kind)) for kind in ("cpu", "cuda") if torch.is_autocast_enabled(kind)
        ]

    @contextlib.contextmanager
    def __call__(self):
        with contextlib.ExitStack() as stack:
            stack.enter_context(torch.inference_mode() if self._inference else torch.no_grad())
            for kind, dtype in self._autocast:
                stack.enter_context(torch.autocast(kind, dtype=dtype, cache_enabled=self._cache))
            if self._device.type != "cpu":
                stack.enter_context(self._device)
            yield


class Request:
    """One call that waits for an instance."""

    def __init__(self, args, kwargs, device):
        self.args, self.kwargs, self.future, self.ambience = args, kwargs, Future(), Ambience()
        self.produced = self.caller = None
        if device.type == "cuda":
            self.caller = torch.cuda.current_stream(device)
            self.produced = torch.cuda.Event()
            self.produced.record(self.caller)


class Closed(Exception):
    """The queue takes nothing more."""


class Queue:
    """A queue of requests with room for ``most``. ``put`` waits for room; after ``close`` it raises ``Closed``, and
    ``get`` gives what is left, then None."""

    def __init__(self, most):
        self._most, self._waiting, self._closed = most, collections.deque(), False
        self._changed = threading.Condition()  # re-entrant: a collected Instances closes its queue in any thread

    def put(self, request, timeout):
        end = None if timeout is None else time.monotonic() + timeout
        with self._changed:
            while not self._closed and len(self._waiting) >= self._most:
                left = None if end is None else end - time.monotonic()
                if left is not None and left <= 0:
                    raise TimeoutError(
                        f"{len(self._waiting)} requests wait and none was taken in {timeout} s; ask for fewer at a "
                        "time, or give Instances a longer timeout or more room by waiting=."
                    )
                self._changed.wait(left)
            if self._closed:
                raise Closed
            self._waiting.append(request)
            self._changed.notify_all()

    def get(self):
        with self._changed:
            while not self._waiting and not self._closed:
                self._changed.wait()
            try:
                request = self._waiting.popleft()
            except IndexError:
                return None
            self._changed.notify_all()
            return request

    def close(self, cancel):
        """Takes nothing more; with ``cancel`` what waits is cancelled."""
        with self._changed:
            self._closed = True
            cancelled = list(self._waiting) if cancel else []
            if cancel:
                self._waiting.clear()
            self._changed.notify_all()
        for request in cancelled:
            request.future.cancel()
            request.future.set_running_or_notify_cancel()  # wakes those who wait in as_completed


class Results:
    """The results of requests in their order, made as they are asked for. The error of a request is raised where its
    result would be given; the results behind it can still be asked for. Requests that no instance has begun when
    nobody holds this object any more are cancelled."""

    def __init__(self, submit, inputs, ahead, timeout, return_errors):
        self._futures, self._last_error = collections.deque(), None
        self._submit, self._ahead, self._errors, self._more = submit, ahead, return_errors, True
        self._end = None if timeout is None else time.monotonic() + timeout
        self._inputs = iter(inputs)
        self._fill()

    def _fill(self):
        while self._more and len(self._futures) < self._ahead:
            try:
                one = next(self._inputs)
            except StopIteration:
                self._more = False
                return
            except Exception as error:
                self._more, self._last_error = False, error  # raised behind the results of the inputs before it
                return
            args, kwargs = (one.args, one.kwargs) if isinstance(one, Arguments) else ((one,), {})
            try:
                future = self._submit(*args, **kwargs)
            except Exception as error:
                future = Future()
                future.set_exception(error)
            self._futures.append(future)

    def cancel(self):
        """Ends the iteration and cancels the requests that no instance has begun."""
        self._more = False
        while self._futures:
            self._futures.popleft().cancel()

    def __del__(self):
        self.cancel()

    def __iter__(self):
        return self

    def __next__(self):
        self._fill()
        if not self._futures:
            error, self._last_error = self._last_error, None
            raise error if error is not None else StopIteration
        future = self._futures[0]
        left = None if self._end is None else max(self._end - time.monotonic(), 0)
        if not concurrent.futures.wait([future], left).done:
            raise TimeoutError("the next result is not there in time; it can be asked for again.")
        self._futures.popleft()
        error = concurrent.futures.CancelledError() if future.cancelled() else future.exception()
        if error is None:
            return future.result()
        if not self._errors:
            raise error
        return error
