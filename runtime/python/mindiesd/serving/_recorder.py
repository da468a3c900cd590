"""How a call is captured in a CUDA graph and repeated. Entry point: ``CudaRecorder``, which a test may replace."""

import contextlib
import threading

import torch

_CAPTURES = threading.Lock()  # torch captures one graph at a time


class Recording:
    """A captured call: ``result`` is what it gave, whose tensors ``replay`` computes anew from the same arguments."""

    def __init__(self, graph, result):
        self.graph, self.result, self.replay = graph, result, graph.replay


@contextlib.contextmanager
def _own_workspaces():
    """Has a capture allocate workspaces for matrix products of its own, in the memory of its graph: torch keeps one for
    each thread and stream, hands out the same few streams again, and two graphs may be replayed at the same time."""
    clear = getattr(torch._C, "_cuda_clearCublasWorkspaces", lambda: None)  # a build for the CPU has none
    clear()
    try:
        yield
    finally:
        clear()


class CudaRecorder:
    """Captures calls on the current CUDA device. Recordings share memory, so the result of one is good until another
    one is replayed."""

    def __init__(self):
        self._last = self._done = None

    def device(self):
        """The device that calls are captured on, None where there is none."""
        if not torch.cuda.is_available():
            return None
        return torch.device("cuda", torch.cuda.current_device())

    def capturing(self):
        """Whether the call is part of a graph that somebody else captures."""
        return torch.cuda.is_current_stream_capturing()

    def record(self, function, others):
        """Captures a call without running it on the device, in the memory of the recordings ``others``.

        Raises:
            Exception: what the function raised, or what torch says of something that cannot be captured.
        """
        graph, stream, current = torch.cuda.CUDAGraph(), torch.cuda.Stream(), torch.cuda.current_stream()
        pool = others[0].graph.pool() if others else None
        cause = None
        torch.cuda.current_blas_handle()  # a thread's own, which cannot be made in a capture
        with _CAPTURES, _own_workspaces():
            try:
                with torch.cuda.graph(graph, pool=pool, stream=stream, capture_error_mode="thread_local"):
                    try:
                        result = function()
                    except Exception as error:
                        cause = error
                        raise
            except Exception as error:
                self._recover(stream, current)
                raise cause or error from None  # the end of the capture fails as well, and says less
        return Recording(graph, result)

    @staticmethod
    def _recover(stream, current):
        """Undoes what a capture whose end fails leaves behind: its stream is still the current one, and the random
        number generator still waits for the end, which that of a capture of one kernel brings."""
        torch.cuda.set_stream(current)
        with contextlib.suppress(RuntimeError):
            with torch.cuda.graph(torch.cuda.CUDAGraph(), stream=stream, capture_error_mode="thread_local"):
                torch.zeros(1, device=current.device)
        torch.cuda.set_stream(current)

    def begin(self):
        """Has the current stream wait for the last replay, if that was on another stream."""
        current = torch.cuda.current_stream()
        if self._last is not None and self._last != current:
            current.wait_event(self._done)

    def end(self):
        """Notes what is queued on the current stream as the last replay."""
        self._last = torch.cuda.current_stream()
        self._done = torch.cuda.Event()
        self._done.record(self._last)

    def wait(self):
        """Waits until the device has done the last replay, so that recordings may be dropped."""
        if self._done is not None:
            self._done.synchronize()
