"""``compile``: the model's forward by ``torch.compile`` with torch's own settings. The step runs only where it is named:
the first call of each kind takes long, and what becomes of a later one is torch's to decide."""

import time

import torch

from .step import Step
from .takeover import Forward, obstacle, take_over


class CompiledForward(Forward):
    __slots__ = ()

    def made(self, module, base):
        return torch.compile(base.forward)

    def __call__(self, *args, **kwargs):
        return self.function(self.module, *args, **kwargs)


class Compile(Step):
    name = "compile"
    speed = "close"
    needs_examples = True
    only_named = True

    def apply(self, work):
        if why := obstacle(work.model):
            work.leave(None, why)
            return
        take_over(work, CompiledForward, "computes its forward by torch.compile")
        begin = time.perf_counter()
        work.examples.run(work.model)
        seconds = time.perf_counter() - begin
        work.notes.append(f"compile: the first calls of the examples took {seconds:.1f} s, and others may take as long")
