"""The threads that run instances, each with its own model and, on a CUDA device, its own stream. Entry points:
``Workers`` and ``streams_for``."""

import threading

import torch

from ._requests import Queue
from ._tensors import tensors_in, used_on


class Worker:
    """One model in one thread. A request is complete when the device has computed it."""

    def __init__(self, model, stream, queue, number):
        self._model, self._stream, self._queue = model, stream, queue
        # A daemon: the interpreter ends without waiting for it, and Instances ends it before that.
        self.thread = threading.Thread(target=self._run, name=f"mindiesd instance {number}", daemon=True)

    def _run(self):
        if self._stream is not None:
            torch.cuda.set_device(self._stream.device)
            torch.cuda.set_stream(self._stream)
        while (request := self._queue.get()) is not None:
            if request.future.set_running_or_notify_cancel():
                self._answer(request)
            del request  # arguments and result belong to the caller alone while this thread waits

    def _answer(self, request):
        try:
            with request.ambience():
                value = self._call(request)
        except BaseException as error:  # this request's alone; the thread goes on with the next
            request.future.set_exception(error)
        else:
            request.future.set_result(value)

    def _call(self, request):
        if self._stream is None:
            return self._model(*request.args, **request.kwargs)
        try:
            self._stream.wait_event(request.produced)
            used_on(self._stream, request.args, request.kwargs)
            value = self._model(*request.args, **request.kwargs)
            used_on(request.caller, value)
            request.future._tensors = tensors_in(value)
        finally:
            done = torch.cuda.Event(blocking=True)
            done.record(self._stream)
            done.synchronize()
        return value


def streams_for(count, device):
    """A CUDA stream for each of ``count`` threads, or None on the CPU."""
    return [torch.cuda.Stream(device) if device.type == "cuda" else None for _ in range(count)]


class Workers:
    """Threads that answer the requests of one queue, which has room for ``waiting`` of them.

    Args:
        models: those to run, each in a thread.
        streams: the CUDA stream of each, or None on the CPU.
        waiting: how many requests may wait.
    """

    def __init__(self, models, streams, waiting):
        self.queue = Queue(waiting)
        self._workers = [Worker(m, s, self.queue, i) for i, (m, s) in enumerate(zip(models, streams, strict=True))]
        for worker in self._workers:
            worker.thread.start()

    def own(self, thread):
        return any(worker.thread is thread for worker in self._workers)

    def close(self, cancel=False, wait=True):
        self.queue.close(cancel)
        for worker in self._workers if wait else ():
            if worker.thread is not threading.current_thread():
                worker.thread.join()
