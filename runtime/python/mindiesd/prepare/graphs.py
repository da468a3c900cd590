"""``cuda-graphs``: the model's calls by ``mindiesd.graphed``, a CUDA graph for each signature of arguments.

The step runs only where it is named: a graph repeats what the device did, and what a call reads beside arguments,
parameters and attributes of modules is the user's to know.
"""

import types

import torch

from ..serving import graphed
from .alone import ADAPTERS
from .step import Step
from .takeover import Forward, obstacle, take_over, taken

_MOST, _WARMUP = 8, 2


class GraphedForward(Forward):
    __slots__ = ()

    def made(self, module, base):
        return graphed(types.MethodType(base.forward, module), _MOST, warmup=_WARMUP)

    @property
    def graphs(self):
        return self.function

    def __call__(self, *args, **kwargs):
        return self.function(*args, **kwargs)


class CudaGraphs(Step):
    name = "cuda-graphs"
    speed = "exact"
    needs_examples = True
    only_named = True

    def tolerance(self, profile, dtype, *, cuda):
        return 0.0

    def apply(self, work):
        if why := obstacle(work.model) or self._obstacle(work):
            work.leave(None, why)
            return
        take_over(work, GraphedForward, f"makes its calls by CUDA graphs, of which it keeps {_MOST}")
        graphs = taken(work.model).function
        for _ in range(_WARMUP + 1):
            work.examples.run(work.model)
        reasons = "; ".join(graphs.reasons)
        if not graphs.graphs:
            work.undo()
            work.leave(None, f"no call of the examples becomes a graph: {reasons}")
        elif reasons:
            work.notes.append(f"cuda-graphs: calls of the examples that were made without a graph: {reasons}")

    @staticmethod
    def _obstacle(work):
        for name, module in work.names.modules.items():
            if any(key in module._modules for key in ADAPTERS):
                return f"{name or 'the model'} is an adapter, whose settings a graph does not see"
            for key, tensor in (*module._parameters.items(), *module._buffers.items()):
                if tensor is not None and (type(tensor) not in (torch.nn.Parameter, torch.Tensor) or tensor.is_meta):
                    return f"{name}.{key}".lstrip(".") + " may be sharded, quantised or not there yet"
        return None
