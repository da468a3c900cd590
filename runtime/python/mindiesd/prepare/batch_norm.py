"""``fold-batch-norm``: a batch norm that follows a convolution or a linear becomes part of its weights.

Two neighbours in an ``nn.Sequential`` are computed as one by that Sequential; each by itself computes what it did. Any
other pair is found by a trace: the norm's input was the convolution's result in all calls, and nobody else read it. There the
convolution marks what it normalised already, and its norm lets what is marked pass. Whenever anything is not as it was,
both compute as before: training, gradients of weights, hooks, autocast, tracing and torch.compile, which fuses norms itself.
"""

import torch
from torch import nn

from ..utils import ModelExecError
from .alone import has_hooks, listened_to
from .guard import ordinary, version
from .step import Step
from .trace import Trace

_MARK = "_mindiesd_normalised"
_CONVOLUTIONS = {nn.Conv1d: 3, nn.Conv2d: 4, nn.Conv3d: 5, nn.Linear: 2}
_NORMS = {nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d}
_DIMENSIONS = {nn.BatchNorm1d: (2, 3), nn.BatchNorm2d: (4,), nn.BatchNorm3d: (5,)}
_DTYPES = (torch.float64, torch.float32, torch.float16, torch.bfloat16)


def _tensors(conv, norm):
    """What the folded weights are made of; the count of batches tells that running statistics were updated."""
    return (
        conv.weight, conv.bias, norm.weight, norm.bias, norm.running_mean, norm.running_var, norm.num_batches_tracked,
    )  # fmt: skip


def _key(tensors):
    return tuple(None if t is None else (t.data_ptr(), t._version, t.dtype, t.device) for t in tensors)


class Pair:
    """A convolution or linear and the norm behind it, as one.

    Folded weights are computed where they are first wanted, and again whenever a parameter or a statistic changes.
    holder, key: where the norm is found, None in a Sequential. Other threads may compute at the same time: what they
    share is replaced whole.
    """

    def __init__(self, conv, norm, holder=None, key=""):
        self.conv, self.norm, self.holder, self.key = conv, norm, holder, key
        self.norm_type = type(norm)
        self.conv_type = type(conv)
        self.dimensions = _CONVOLUTIONS[type(conv)]
        tensors = _tensors(conv, norm)
        self.folded = (tensors, _key(tensors), _fold(tensors, norm.eps))

    def __getstate__(self):
        return {**self.__dict__, "folded": None}

    def compute(self, x):
        """The normalised result, or None where both modules must compute as they are."""
        weights = self._weights(x)
        if weights is None:
            return None
        if self.dimensions == 2:
            return nn.functional.linear(x, *weights)
        return self.conv._conv_forward(x, *weights)

    def _weights(self, x):
        conv, norm = self.conv, self.norm
        if (
            not ordinary(x)
            or type(conv) is not self.conv_type
            or type(norm) is not self.norm_type
            or x.dim() != self.dimensions
            or x.numel() == 0
            or norm.training
            or conv.training
            or has_hooks(norm)
            or has_hooks(conv)
            or listened_to()
            or "forward" in conv.__dict__
            or "forward" in norm.__dict__
            or norm._compiled_call_impl is not None
            or conv._compiled_call_impl is not None
            or (self.holder is not None and self.holder._modules.get(self.key) is not norm)
        ):
            return None
        tensors, folded = _tensors(conv, norm), self.folded
        if torch.is_grad_enabled() and any(t is not None and t.requires_grad for t in tensors):
            return None
        same = folded is not None and all(now is then for now, then in zip(tensors, folded[0], strict=True))
        if not same and not all(t is None or _owned(t) for t in tensors):
            return None
        if x.dtype != tensors[0].dtype or x.device != tensors[0].device:
            return None
        key = _key(tensors)
        if not same or folded[1] != key:
            self.folded = folded = (tensors, key, _fold(tensors, norm.eps))
        return folded[2]


def _owned(tensor):
    """Whether these are values of their own, whose changes are counted."""
    return type(tensor) in (nn.Parameter, torch.Tensor) and not tensor.is_inference()


def _fold(tensors, eps):
    """weight * s and (bias - mean) * s + shift with s = scale / sqrt(variance + eps), in float32 at least and rounded
    once; None where a half type does not hold the products, or types and devices are not the same."""
    if len({(t.dtype, t.device) for t in tensors[:6] if t is not None}) > 1:
        return None
    with torch.inference_mode(False), torch.no_grad():
        weight, bias, scale, shift, mean, variance = (
            None if t is None else t.detach().to(torch.promote_types(t.dtype, torch.float32)) for t in tensors[:6]
        )
        bias = torch.zeros_like(mean) if bias is None else bias
        factor = torch.rsqrt(variance + eps)
        factor = factor if scale is None else factor * scale
        bias = (bias - mean) * factor
        bias = bias if shift is None else bias + shift
        weight = weight * factor.reshape(-1, *[1] * (weight.dim() - 1))
        folded = weight.to(tensors[0].dtype), bias.to(tensors[0].dtype)
        return folded if all(t.isfinite().all().item() for t in folded) else None


class FoldedSequential(nn.Sequential):
    """Computes pairs of neighbours as one; ``_mindiesd_pairs`` has them by the index of the first."""

    def forward(self, input):  # noqa: A002 - the name that torch's has
        modules = list(self._modules.values())
        at = 0
        while at < len(modules):
            pair = self._mindiesd_pairs.get(at)
            if pair is not None and at + 1 < len(modules) and modules[at] is pair.conv and modules[at + 1] is pair.norm:
                result = pair.compute(input)
                if result is not None:
                    input = result  # noqa: A001
                    at += 2
                    continue
            input = modules[at](input)  # noqa: A001
            at += 1
        return input


class _Folded:
    """Normalises as its norm does and marks the result."""

    def forward(self, input):  # noqa: A002
        pair = self._mindiesd_pair
        result = pair.compute(input) if pair.conv is self else None
        if result is None:
            return super().forward(input)
        setattr(result, _MARK, (pair, version(result)))
        return result


class _Passed:
    """Lets pass what its convolution has marked."""

    def forward(self, input):  # noqa: A002
        mark = getattr(input, _MARK, None)
        if mark is None or mark[0] is not self._mindiesd_pair:
            return super().forward(input)
        if torch.compiler.is_compiling():  # the convolution was not compiled, but this is
            return input.view_as(input)
        if mark[1] != version(input):
            raise ModelExecError(
                "prepare folded a batch norm into what is before it, as the example inputs allowed, but here the result is "
                "changed in place between the two; call mindiesd.restore(model), or give an example of such a call."
            )
        delattr(input, _MARK)
        return input


class FoldedConv1d(_Folded, nn.Conv1d):
    pass


class FoldedConv2d(_Folded, nn.Conv2d):
    pass


class FoldedConv3d(_Folded, nn.Conv3d):
    pass


class FoldedLinear(_Folded, nn.Linear):
    pass


class PassedBatchNorm1d(_Passed, nn.BatchNorm1d):
    pass


class PassedBatchNorm2d(_Passed, nn.BatchNorm2d):
    pass


class PassedBatchNorm3d(_Passed, nn.BatchNorm3d):
    pass


_PREPARED = {
    nn.Conv1d: FoldedConv1d,
    nn.Conv2d: FoldedConv2d,
    nn.Conv3d: FoldedConv3d,
    nn.Linear: FoldedLinear,
    nn.BatchNorm1d: PassedBatchNorm1d,
    nn.BatchNorm2d: PassedBatchNorm2d,
    nn.BatchNorm3d: PassedBatchNorm3d,
}


def _mismatch(conv, norm):
    """Why these two cannot be one, or None."""
    if norm.running_mean is None or norm.running_var is None:
        return "it has no running statistics, so that it normalises by each batch"
    rows = conv.weight.shape[0]
    if norm.num_features != rows:
        return f"it normalises {norm.num_features} channels, but what is before it has {rows}"
    if _CONVOLUTIONS[type(conv)] not in _DIMENSIONS[type(norm)]:
        return f"a {type(norm).__name__} behind a {type(conv).__name__} normalises another dimension"
    tensors = [t for t in _tensors(conv, norm)[:6] if t is not None]
    if len({(t.dtype, t.device) for t in tensors}) > 1 or tensors[0].dtype not in _DTYPES:
        return "its parameters are of another type or device than those before it"
    if _fold(_tensors(conv, norm), norm.eps) is None:
        return "the folded weights are not finite"
    return None


class FoldBatchNorm(Step):
    name = "fold-batch-norm"
    speed = "close"

    def apply(self, work):
        norms = [m for m in work.names.modules.values() if isinstance(m, nn.modules.batchnorm._NormBase)]
        norms = [m for m in norms if not isinstance(m, nn.modules.instancenorm._InstanceNorm)]
        norms = [m for m in norms if work.usable(m, _NORMS)]
        paired = self._in_sequences(work, set(norms))
        rest = [m for m in norms if m not in paired]
        if work.examples is None:
            for norm in rest:
                work.leave(norm, "only example_inputs would show what it normalises")
        elif rest:
            self._traced(work, rest)

    def _in_sequences(self, work, norms):
        paired = set()
        for sequence in list(work.names.modules.values()):
            if type(sequence) is not nn.Sequential or "forward" in sequence.__dict__:
                continue
            children, pairs = list(sequence), {}
            for at, (conv, norm) in enumerate(zip(children, children[1:], strict=False)):
                if norm in norms and norm not in paired and isinstance(conv, tuple(_CONVOLUTIONS)):
                    if work.usable(conv, _CONVOLUTIONS):
                        if why := _mismatch(conv, norm):
                            work.leave(norm, why)
                        else:
                            pairs[at] = Pair(conv, norm)
                    paired.add(norm)
            if pairs:
                first = ", ".join(f"{at} with {at + 1}" for at in pairs)
                work.swap(sequence, FoldedSequential, f"computes {first} as one", _mindiesd_pairs=pairs)
        return paired

    def _traced(self, work, norms):
        convs = {m for m in work.names.modules.values() if isinstance(m, tuple(_CONVOLUTIONS))}
        trace = Trace(work.model, work.examples, [*convs, *norms])
        produced = {call.output: call for call in trace.calls if call.module in convs and call.output >= 0}
        for norm in norms:
            calls = trace.of(norm)
            sources = [produced.get(call.input) for call in calls]
            if not calls:
                work.leave(norm, "the example calls do not use it")
            elif not all(call.plain for call in calls) or None in sources or len({s.module for s in sources}) > 1:
                work.leave(norm, "its input is not the result of one convolution or linear")
            else:
                self._pair(work, trace, sources, norm)

    def _pair(self, work, trace, sources, norm):
        conv = sources[0].module
        if not work.usable(conv, _CONVOLUTIONS):
            work.leave(norm, f"{work.names.name[id(conv)]}, which is before it, must stay")
            return
        name = work.names.name[id(conv)]
        alone = len({id(s) for s in sources}) == len(sources) == len(trace.of(conv))
        if not alone or any(s.kept or set(s.readers) != {norm} for s in sources):
            work.leave(norm, f"the result of {name} is read elsewhere as well")
            return
        if why := _mismatch(conv, norm):
            work.leave(norm, why)
            return
        holder, key = work.names.parent(norm)
        pair = Pair(conv, norm, holder, key)
        pair.conv_type, pair.norm_type = _PREPARED[type(conv)], _PREPARED[type(norm)]
        work.swap(conv, pair.conv_type, "computes the batch norm behind it as well", _mindiesd_pair=pair)
        work.swap(norm, pair.norm_type, _mindiesd_pair=pair)
