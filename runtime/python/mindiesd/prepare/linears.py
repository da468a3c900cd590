"""``merge-linears``: linears of one input, as query, key and value or gate and up, computed by one matrix product.

The weights become neighbouring rows of one buffer, of which each parameter is a view: loading, ``state_dict`` and
changes in place work as before, and no memory is added. The first linear of a group computes all results and leaves the
others' at its input, where each takes its own, once. A linear that finds none computes by itself: where the input is
another tensor or has been changed, in another thread or stream, when gradients are wanted, and under torch.compile.
Linears that compute few rows by int8 weights have one int8 weight for all.
"""

import threading

import torch
from torch import nn

from ..ext.int8 import int8_linear
from .guard import ordinary, version
from .int8_rows import FewRowsLinear, JoinedInt8Weight, few_rows, served
from .step import Step
from .trace import Trace

_PARTS = "_mindiesd_parts"


class Group:
    """Linears that are called one after the other with one input.

    modules: the linears, in the order of their calls. shapes: which dimensions of the example inputs were longer than
    one. Results are slices of one tensor: a view that their users took in the examples may be had of no input with more
    such dimensions.
    """

    def __init__(self, modules, shapes):
        self.modules, self.shapes = tuple(modules), frozenset(shapes)
        self.widths = tuple(module.out_features for module in modules)
        self.weights = self.biases = self.weight = self.bias = None
        self.places = ()
        self.gather()

    def __getstate__(self):
        return {**self.__dict__, "weight": None, "bias": None, "places": ()}

    def __setstate__(self, state):
        self.__dict__.update(state)
        self._tie()

    def gather(self):
        """Makes the linears' present parameters views of one buffer, where they are alike and are not that already."""
        weights = tuple(module._parameters.get("weight") for module in self.modules)
        biases = tuple(module._parameters.get("bias") for module in self.modules)
        if self.weights is None or not self._same(weights, self.weights) or not self._same(biases, self.biases):
            self.weights, self.biases, self.places = weights, biases, ()
        self._tie()

    @staticmethod
    def _same(now, then):
        return all(one is other for one, other in zip(now, then, strict=True))

    def _tie(self):
        weights, biases = self.weights, [bias for bias in self.biases if bias is not None]
        if self.places and self._tied():
            return
        self.places = ()
        tensors = [*weights, *biases]
        if not all(_movable(tensor) for tensor in tensors):
            return
        if len({(t.dtype, t.device) for t in tensors}) > 1 or len(biases) not in (0, len(weights)):
            return
        shapes = [(width, weights[0].shape[-1]) for width in self.widths]
        if [tuple(weight.shape) for weight in weights] != shapes or any(bias.dim() != 1 for bias in biases):
            return
        with torch.inference_mode(False), torch.no_grad():
            self.weight = _joined(weights)
            self.bias = _joined(biases) if biases else None
        self.places = tuple(zip(self.modules, weights, self.biases, *self._now(), strict=True))

    def _now(self):
        """Where the parameters lie."""
        return [w.data_ptr() for w in self.weights], [0 if b is None else b.data_ptr() for b in self.biases]

    def _tied(self):
        """Whether the parameters still lie where they were put."""
        return [tuple(place[3:]) for place in self.places] == list(zip(*self._now(), strict=True))

    def _ready(self, x):
        """Whether the joined weight is that of all linears, and this input one for which results may be slices."""
        differentiating = torch.is_grad_enabled()
        if not self.places or (differentiating and x.requires_grad):
            return False
        for width, (module, weight, bias, at, bias_at) in zip(self.widths, self.places, strict=True):
            own = module._parameters
            if own.get("weight") is not weight or weight.data_ptr() != at or own.get("bias") is not bias:
                return False
            if len(weight) != width or not weight.is_contiguous():  # a view of what it was
                return False
            if bias is not None and (bias.data_ptr() != bias_at or (differentiating and bias.requires_grad)):
                return False
            if differentiating and weight.requires_grad:
                return False
        if x.dtype != self.weight.dtype or x.device != self.weight.device or x.numel() == 0 or x.dim() == 0:
            return False
        longer = tuple([size != 1 for size in x.shape[:-1]])
        return longer in self.shapes or any(_within(longer, seen) for seen in self.shapes)

    def first(self, x):
        """The result of the first linear, with those of the others left at x; None where it must compute by itself."""
        if not ordinary(x) or not self._ready(x):
            return None
        merged = self._product(x)
        if merged is None:
            return None
        # Tensors of their own to autograd: a change in place of one is none of the others.
        first, *others = merged.unsafe_split_with_sizes(self.widths, -1)
        versions = [(weight._version, 0 if bias is None else bias._version) for _, weight, bias, _, _ in self.places]
        setattr(x, _PARTS, (self, _moment(x), versions, dict(enumerate(others, 1))))
        return first

    def _product(self, x):
        """The results side by side, or None where each linear must compute by itself."""
        return nn.functional.linear(x, self.weight, self.bias)

    def other(self, index, x):
        """The result of linear number ``index`` that was left at x, or None."""
        kept = None if torch.compiler.is_compiling() else getattr(x, _PARTS, None)
        if kept is None or kept[0] is not self:
            return None
        _, moment, versions, parts = kept
        part = parts.pop(index, None)
        if not parts:
            x.__dict__.pop(_PARTS, None)  # another thread may have been first
        if not self.places or moment != _moment(x) or not ordinary(x):
            return None
        module, weight, bias, at, bias_at = self.places[index]
        own = module._parameters
        if own.get("weight") is not weight or own.get("bias") is not bias or weight.data_ptr() != at:
            return None
        if (weight._version, 0 if bias is None else bias._version) != versions[index]:
            return None
        if bias is not None and bias.data_ptr() != bias_at:
            return None
        if torch.is_grad_enabled() and any(t is not None and t.requires_grad for t in (x, weight, bias)):
            return None
        return part


class Int8Group(Group):
    """Linears that compute few rows by int8 weights: one product for all of them."""

    def __init__(self, modules, shapes):
        self.int8 = JoinedInt8Weight()
        super().__init__(modules, shapes)

    def _product(self, x):
        for module in self.modules:  # a loop, for it runs in every call
            if module.training:
                return None
        if not few_rows(x, self.weight.shape[1]) or not served(self.weight):
            return super()._product(x)
        quantised = self.int8.of(self.weight, self.weights)
        return None if quantised is None else int8_linear(x, *quantised, self.bias)


def _moment(x):
    """What must be the same when a result is taken: the input's values, the thread and the stream."""
    stream = torch._C._cuda_getCurrentRawStream(x.device.index) if x.is_cuda else 0
    return version(x), threading.get_ident(), stream


def _movable(tensor):
    """Whether a parameter is one whose values may be put elsewhere."""
    return (
        type(tensor) is nn.Parameter
        and tensor.layout == torch.strided
        and not tensor.is_meta
        and not tensor.is_inference()
    )


def _within(longer, seen):
    return len(longer) == len(seen) and all(there or not here for here, there in zip(longer, seen, strict=True))


def _joined(parameters):
    """The rows of parameters in one tensor, of which they become views; as they lie where they are neighbours already,
    as instances of a model are given those of the first."""
    if _neighbours(parameters):
        first = parameters[0].data
        return first.as_strided((sum(map(len, parameters)), *first.shape[1:]), first.stride())
    joined = torch.cat([parameter.data for parameter in parameters])
    for parameter, part in zip(parameters, joined.split([len(p) for p in parameters]), strict=True):
        parameter.data = part
    return joined


def _neighbours(parameters):
    """Whether the parameters follow each other in one storage."""
    if len({p.untyped_storage().data_ptr() for p in parameters}) > 1 or not all(p.is_contiguous() for p in parameters):
        return False
    pairs = zip(parameters, parameters[1:], strict=False)
    return all(one.data_ptr() + one.nbytes == other.data_ptr() for one, other in pairs)


class MergedLinear(nn.Linear):
    """A linear of a group."""

    def forward(self, input):  # noqa: A002 - the name that torch's has
        group = self._mindiesd_group
        at = self._mindiesd_index
        part = None
        if group.modules[at] is self:
            part = group.other(at, input) if at else group.first(input)
        return super().forward(input) if part is None else part

    def _apply(self, fn, recurse=True):
        super()._apply(fn, recurse)
        self._mindiesd_group.gather()
        return self

    def _load_from_state_dict(self, *args, **kwargs):
        super()._load_from_state_dict(*args, **kwargs)
        self._mindiesd_group.gather()


class MergedFewRowsLinear(MergedLinear, FewRowsLinear):
    """A linear of a group that computes few rows by an int8 weight."""

    def forward(self, input):  # noqa: A002 - the name that torch's has
        return FewRowsLinear.forward(self, input) if self.training else super().forward(input)

    def train(self, mode=True):
        self._mindiesd_group.int8.forget()
        return super().train(mode)

    def _apply(self, fn, recurse=True):
        self._mindiesd_group.int8.forget()
        return super()._apply(fn, recurse)


class OwnMemory:
    """The parameters have memory of their own again."""

    def undo(self, module):
        for parameter in module._parameters.values():
            if type(parameter) is nn.Parameter and parameter.layout == torch.strided and not parameter.is_meta:
                if parameter.untyped_storage().nbytes() != parameter.nbytes:
                    parameter.data = parameter.data.clone()


class MergeLinears(Step):
    name = "merge-linears"
    speed = "close"
    needs_examples = True

    def apply(self, work):
        linears = [m for m in work.names.modules.values() if isinstance(m, nn.Linear)]
        trace = Trace(work.model, work.examples, linears, values=True)
        calls = {}
        for call in trace.calls:
            calls.setdefault(call.module, []).append(call)
        groups = {}
        for module, own in calls.items():
            if all(call.plain for call in own):
                holder, _ = work.names.parent(module)
                inputs = tuple((call.input, call.edition) for call in own)
                groups.setdefault((holder, inputs), []).append(module)
        for members in groups.values():
            if len(members) > 1:
                for alike in self._alike(work, members):
                    self._merge(work, alike, calls)

    def _alike(self, work, members):
        kinds = {}
        for module in members:
            if not work.usable(module, {nn.Linear, FewRowsLinear}):
                continue
            if not work.named and module.weight.device.type == "cpu":
                work.leave(module, "on the CPU one product takes as long as several; a step that is named does it")
            elif not module.weight.is_contiguous():
                work.leave(module, "the rows of its weight do not lie one after the other")
            else:
                tensors = [module.weight] if module.bias is None else [module.weight, module.bias]
                types = ((t.dtype, t.device) for t in tensors)
                kind = type(module), module.in_features, module.bias is None, *types
                kinds.setdefault(kind, []).append(module)
        return [alike for alike in kinds.values() if len(alike) > 1]

    def _merge(self, work, members, calls):
        members = sorted(members, key=lambda module: calls[module][0].order)
        for turn in zip(*(calls[module] for module in members), strict=True):
            orders = [call.order for call in turn]
            if orders != sorted(orders):
                work.leave(members[0], "the linears of its input are called in another order from time to time")
                return
        shapes = {tuple(size != 1 for size in call.shape[:-1]) for call in calls[members[0]]}
        for module in members:
            work.record(module, OwnMemory())
        int8 = type(members[0]) is FewRowsLinear
        group = Int8Group(members, shapes) if int8 else Group(members, shapes)
        names = ", ".join(work.names.name[id(module)].rpartition(".")[2] for module in members[1:])
        for at, module in enumerate(members):
            text = f"computes {names} as well" if at == 0 else None
            kind = MergedFewRowsLinear if int8 else MergedLinear
            work.swap(module, kind, text, _mindiesd_group=group, _mindiesd_index=at)
            if int8:
                module._mindiesd_int8.forget()  # the group has its own, and one by itself is made where it is needed
