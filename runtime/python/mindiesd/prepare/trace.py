"""Watches a model compute its example inputs: which module's result is which module's input, and who else reads it.
Entry point: ``Trace``.

Tensors get a number as an attribute, so that the trace keeps none of them alive; those that outlive it lose it. One
that Python forgets and C++ hands out anew has no number, and counts as another.
"""

import itertools
import weakref
from dataclasses import dataclass, field

import torch
from torch.overrides import TorchFunctionMode

from .guard import place

_NUMBER = "_mindiesd_number"
_VALUES = "_mindiesd_values"
# What asks a tensor for its form alone.
_OF_FORM = {
    torch.Tensor.shape.__get__, torch.Tensor.dtype.__get__, torch.Tensor.device.__get__, torch.Tensor.ndim.__get__,
    torch.Tensor.is_cuda.__get__, torch.Tensor.requires_grad.__get__, torch.Tensor.layout.__get__,
    torch.Tensor.size, torch.Tensor.dim, torch.Tensor.numel, torch.Tensor.is_floating_point, torch.is_floating_point,
    torch.Tensor.__hash__,
}  # fmt: skip


@dataclass(eq=False)
class Call:
    """One call of a watched module with one tensor as its only argument, or with others (``plain`` False).

    order: the count of calls before it. input: the number of its argument, edition: how often that argument had got
    other values, shape: its sizes. output: the number of its result. readers: what read the result: watched modules, or
    None for anything else. kept: whether the result was still there when the model had returned. place, site: where it is.
    """

    module: torch.nn.Module
    order: int
    plain: bool = False
    input: int = -1
    edition: int = 0
    shape: tuple = ()
    output: int = -1
    readers: list = field(default_factory=list)
    kept: bool = True
    place: tuple | None = None

    @property
    def site(self):
        """As ``guard.site`` gives it."""
        return None if self.place is None else (self.place[0].co_filename, self.place[0].co_firstlineno, self.place[1])


class _Reads(TorchFunctionMode):
    def __init__(self, trace):
        super().__init__()
        self.trace = trace

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func not in _OF_FORM:
            self.trace.read(itertools.chain(args, kwargs.values()))
        return func(*args, **kwargs)


def _edition(tensor):
    """How often these values have been others since they were first asked for. A copy of them lies at the tensor."""
    with torch._C.DisableTorchFunction():
        count, before = tensor.__dict__.get(_VALUES, (0, None))
        if before is None or not torch.equal(before, tensor):
            count += before is not None
            setattr(tensor, _VALUES, (count, tensor.detach().clone()))
        return count


class Trace:
    """The calls of ``watched`` modules while the model computes the examples.

    calls: all calls, in order. of(module): those of one module. With ``values`` an argument that another call had
    before is compared with what it was then: kernels that write in place need not count a tensor's version.
    """

    def __init__(self, model, examples, watched, *, values=False):
        self.values = values
        self.calls, self._by_output, self._inside = [], {}, []
        self._results, self._numbered = [], []
        self._numbers = itertools.count()
        self._watched = set(watched)
        handles = [torch.nn.modules.module.register_module_forward_pre_hook(self._other)]
        try:
            for module in watched:
                handles.append(module.register_forward_pre_hook(self._before, with_kwargs=True))
                handles.append(module.register_forward_hook(self._after, with_kwargs=True))
            with _Reads(self):
                self.results = examples.run(model)
        finally:
            for handle in handles:
                handle.remove()
            for tensor in (reference() for reference in self._numbered):
                if tensor is not None:
                    tensor.__dict__.pop(_NUMBER, None)
                    tensor.__dict__.pop(_VALUES, None)
        for call, result in self._results:
            call.kept = result() is not None

    def of(self, module):
        return [call for call in self.calls if call.module is module]

    def number(self, tensor):
        found = tensor.__dict__.get(_NUMBER)
        if found is None:
            found = next(self._numbers)
            setattr(tensor, _NUMBER, found)
            self._numbered.append(weakref.ref(tensor))
        return found

    def read(self, values):
        reader = self._inside[-1].module if self._inside else None
        stack = list(values)
        while stack:
            value = stack.pop()
            if isinstance(value, torch.Tensor):
                call = self._by_output.get(getattr(value, "__dict__", {}).get(_NUMBER))
                if call is not None:
                    call.readers.append(reader)
            elif isinstance(value, (list, tuple)):
                stack.extend(value)
            elif isinstance(value, dict):
                stack.extend(value.values())

    def _other(self, module, args):
        """A module reads what it is given, even where it hands it on as it is: it may not always."""
        if module not in self._watched:
            self.read(args)

    def _before(self, module, args, kwargs):
        call = Call(module, len(self.calls), place=place())
        if len(args) == 1 and not kwargs and type(args[0]) is torch.Tensor:
            call.plain, call.input, call.shape = True, self.number(args[0]), tuple(args[0].shape)
            if self.values:
                call.edition = _edition(args[0])
        self.calls.append(call)
        self._inside.append(call)

    def _after(self, module, args, kwargs, result):
        call = self._inside.pop()
        if type(result) is torch.Tensor:
            call.output = self.number(result)
            self._by_output[call.output] = call
            self._results.append((call, weakref.ref(result)))
        else:
            call.plain = False
