"""What stands in for CUDA graphs where there is no GPU: a tape of the kernels that torch's dispatcher runs, which
repeats those alone, without the Python code, on the tensors of the recording. As a capture does, it leaves no result
behind before the first replay. Entry points: ``Tape``, ``TapeRecorder``, ``graphed`` and ``same``."""

import types

import mindiesd
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class Tape(TorchDispatchMode):
    """The kernels of a call, with the tensors that they read and write."""

    def __init__(self):
        super().__init__()
        self.steps, self.undo = [], []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if function is torch.ops.aten._local_scalar_dense.default:
            raise RuntimeError("operation not permitted when stream is capturing")
        written = [a for a in tree_leaves((args, kwargs)) if isinstance(a, torch.Tensor)]
        before = [(a, a.detach().clone()) for a in written] if function._schema.is_mutable else []
        result = function(*args, **kwargs)
        self.undo += before
        self.steps.append((function, args, kwargs, result))
        return result

    def replay(self):
        for function, args, kwargs, result in self.steps:
            anew = function(*args, **kwargs)
            if function._schema.is_mutable or function.is_view:
                continue
            for old, new in zip(tree_leaves(result), tree_leaves(anew), strict=True):
                if isinstance(old, torch.Tensor):
                    old.copy_(new)


class TapeRecorder:
    """A recorder for the CPU, with a count of what it was asked for."""

    def __init__(self):
        self.records = self.replays = 0
        self._active = False

    def device(self):
        return torch.device("cpu")

    def capturing(self):
        return self._active

    def record(self, function, others):
        self._active, tape = True, Tape()
        try:
            with tape:
                result = function()
        finally:
            self._active = False
            for tensor, before in reversed(tape.undo):
                tensor.copy_(before)
        for leaf in tree_leaves(result):
            fresh = [r for *_, r in tape.steps if r is leaf]
            if isinstance(leaf, torch.Tensor) and fresh and not leaf._is_view() and leaf.is_floating_point():
                leaf.fill_(torch.nan)
        self.records += 1

        def replay():
            self.replays += 1
            tape.replay()

        return types.SimpleNamespace(result=result, replay=replay, graph=None)

    def begin(self):
        pass

    def end(self):
        pass

    def wait(self):
        pass


def graphed(function, max_graphs=8, **options):
    return mindiesd.graphed(function, max_graphs, recorder=TapeRecorder(), **options)


def same(found, expected):
    torch.testing.assert_close(found, expected, rtol=0, atol=0)
