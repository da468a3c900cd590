"""``fold-batch-norm``: a batch norm behind a convolution or a linear becomes part of its weights.

Two neighbours in an ``nn.Sequential`` are computed as one by that Sequential. Any other pair is found by a trace: in
all calls the norm's input was the convolution's result, and nobody else read it. There the convolution marks what it
normalised already, and its norm lets what is marked pass.
"""

import copy

import torch
from torch import nn

from ..utils import ModelExecError
from .folding import Folding, alike, finite, pair_neighbours, sequences, wide
from .guard import site, version
from .step import Step
from .straight import hands_on
from .trace import Trace

_MARK = "_mindiesd_normalised"
_TRANSPOSED = {
    nn.ConvTranspose1d: nn.functional.conv_transpose1d,
    nn.ConvTranspose2d: nn.functional.conv_transpose2d,
    nn.ConvTranspose3d: nn.functional.conv_transpose3d,
}
# Each with the dimensions of its input.
_CONVOLUTIONS = {
    nn.Conv1d: 3, nn.Conv2d: 4, nn.Conv3d: 5, nn.Linear: 2,
    nn.ConvTranspose1d: 3, nn.ConvTranspose2d: 4, nn.ConvTranspose3d: 5,
}  # fmt: skip
_NORMS = {nn.BatchNorm1d: (2, 3), nn.BatchNorm2d: (4,), nn.BatchNorm3d: (5,)}


class NormPair(Folding):
    """A convolution or linear and the norm behind it. In a Sequential the rest is None. holder, key: where the norm is
    found. sites: where the trace saw the convolution called; another caller may do something else with its result."""

    def __init__(self, conv, norm, holder=None, key="", sites=None):
        self.holder, self.key, self.sites = holder, key, sites
        self.dimensions = _CONVOLUTIONS[type(conv)]
        self.transposed = _TRANSPOSED.get(type(conv))
        super().__init__(conv, norm)

    def __deepcopy__(self, memo):
        """Where either module is copied without what holds both, the copies compute as they are."""
        other = memo[id(self)] = copy.copy(self)
        if self.holder is not None and id(self.holder) not in memo:
            other.first = other.second = other.holder = None
        other.__dict__.update(copy.deepcopy(other.__dict__, memo))
        return other

    def tensors(self):
        """The count of batches tells that running statistics were updated."""
        conv, norm, statistics = self.first._parameters, self.second._parameters, self.second._buffers
        return (
            conv.get("weight"), conv.get("bias"), norm.get("weight"), norm.get("bias"),
            statistics.get("running_mean"), statistics.get("running_var"), statistics.get("num_batches_tracked"),
        )  # fmt: skip

    def state(self, tensors):
        return [self.second.eps, *super().state(tensors)]

    def fold(self, tensors):
        """weight * s and (bias - mean) * s + shift with s = scale / sqrt(variance + eps), in float32 at least and
        rounded once."""
        if tensors[4] is None or tensors[5] is None or not alike(tensors[:6]):
            return None
        with torch.inference_mode(mode=False), torch.no_grad():
            weight, bias, scale, shift, mean, variance = wide(tensors[:6])
            bias = torch.zeros_like(mean) if bias is None else bias
            factor = torch.rsqrt(variance + self.second.eps)
            factor = factor if scale is None else factor * scale
            bias = (bias - mean) * factor
            bias = bias if shift is None else bias + shift
            if self.transposed is None:
                weight = weight * factor.reshape(-1, *[1] * (weight.dim() - 1))
            else:  # inputs by outputs of a group
                groups = weight.unflatten(0, (self.first.groups, -1))
                weight = groups * factor.reshape(self.first.groups, 1, -1, *[1] * (weight.dim() - 2))
                weight = weight.flatten(0, 1)
            weight, bias = weight.to(tensors[0].dtype), bias.to(tensors[0].dtype)
            return (weight, bias) if finite(weight, bias) else None

    def run(self, x, weights):
        if self.dimensions == 2:
            return nn.functional.linear(x, *weights)
        conv = self.first
        if self.transposed is None:
            return conv._conv_forward(x, *weights)
        return self.transposed(
            x, *weights, conv.stride, conv.padding, conv.output_padding, conv.groups, conv.dilation
        )

    def compute(self, x):
        if self.holder is not None and (self.holder.training or self.holder._modules.get(self.key) is not self.second):
            return None
        if type(x) is not torch.Tensor or x.dim() != self.dimensions:
            return None
        return super().compute(x)

    def _untouched(self):
        return super()._untouched() and (self.sites is None or site() in self.sites)


class _Folded:
    """Normalises as its norm does and marks the result."""

    def forward(self, input):  # noqa: A002
        pair = self._mindiesd_pair
        result = pair.compute(input) if pair.first is self else None
        if result is None:
            return super().forward(input)
        setattr(result, _MARK, (pair, version(result)))
        return result

    def train(self, mode=True):
        self._mindiesd_pair.forget()
        return super().train(mode)

    def _apply(self, fn, recurse=True):
        self._mindiesd_pair.forget()
        return super()._apply(fn, recurse)


class _Passed:
    """Lets pass what its convolution has marked."""

    def forward(self, input):  # noqa: A002
        mark = getattr(input, _MARK, None)
        if mark is None:
            return super().forward(input)
        if mark[0] is not self._mindiesd_pair:
            raise ModelExecError(
                "prepare folded a batch norm into what is before it, as the example inputs allowed, but here the "
                "normalised result comes to another batch norm; call mindiesd.restore(model), or give an example of "
                "such a call."
            )
        if torch.compiler.is_compiling():  # the convolution was not compiled, but this is
            return input.view_as(input)
        if mark[1] != version(input):
            raise ModelExecError(
                "prepare folded a batch norm into what is before it, as the example inputs allowed, but here the "
                "result is changed in place between the two; call mindiesd.restore(model), or give an example of such "
                "a call."
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


class _FoldedTransposed(_Folded):
    def forward(self, input, output_size=None):  # noqa: A002
        if output_size is not None:
            return super(_Folded, self).forward(input, output_size)
        return super().forward(input)


class FoldedConvTranspose1d(_FoldedTransposed, nn.ConvTranspose1d):
    pass


class FoldedConvTranspose2d(_FoldedTransposed, nn.ConvTranspose2d):
    pass


class FoldedConvTranspose3d(_FoldedTransposed, nn.ConvTranspose3d):
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
    nn.ConvTranspose1d: FoldedConvTranspose1d,
    nn.ConvTranspose2d: FoldedConvTranspose2d,
    nn.ConvTranspose3d: FoldedConvTranspose3d,
    nn.BatchNorm1d: PassedBatchNorm1d,
    nn.BatchNorm2d: PassedBatchNorm2d,
    nn.BatchNorm3d: PassedBatchNorm3d,
}


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
        """Pairs what can be; gives the norms that are looked at."""
        seen = set()
        for sequence, children in sequences(work):
            pairs = {}
            for at, (conv, norm) in enumerate(zip(children, children[1:], strict=False)):
                if norm not in norms or norm in seen or not isinstance(conv, tuple(_CONVOLUTIONS)):
                    continue
                seen.add(norm)
                if work.usable(conv, _CONVOLUTIONS) and (pair := self._pair(work, conv, norm)):
                    pairs[at] = pair
            if pairs:
                pair_neighbours(work, sequence, pairs)
        return seen

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
                self._fold_traced(work, trace, sources, norm)

    def _fold_traced(self, work, trace, sources, norm):
        conv = sources[0].module
        name = work.names.name[id(conv)]
        if not work.usable(conv, _CONVOLUTIONS):
            work.leave(norm, f"{name}, which is before it, must stay")
            return
        holder, _ = work.names.parent(norm)
        if holder is None or work.names.name[id(holder)] not in work.names.ancestors(conv):
            work.leave(norm, f"{name}, which is before it, lies in another module")
            return
        # A function that calls the convolution alone may be called by somebody who reads its result.
        for source, call in zip(sources, trace.of(norm), strict=True):
            if source.site[:2] != call.site[:2] or source.site == call.site:
                work.leave(norm, f"no function calls {name} and then it")
                return
        alone = len({id(source) for source in sources}) == len(sources) == len(trace.of(conv))
        if not alone or any(source.kept or set(source.readers) != {norm} for source in sources):
            work.leave(norm, f"the result of {name} is read elsewhere as well")
            return
        _, key = work.names.parent(norm)
        if not all(hands_on(s.place, c.place, key) for s, c in zip(sources, trace.of(norm), strict=True)):
            work.leave(norm, f"the code may read the result of {name} elsewhere, where no example goes")
            return
        pair = self._pair(work, conv, norm, *work.names.parent(norm), frozenset(source.site for source in sources))
        if pair is not None:
            pair.types = _PREPARED[type(conv)], _PREPARED[type(norm)]
            work.swap(conv, pair.types[0], "computes the batch norm behind it as well", _mindiesd_pair=pair)
            work.swap(norm, pair.types[1], _mindiesd_pair=pair)

    @staticmethod
    def _pair(work, conv, norm, *place):
        """The two as one, or None, which is said."""
        rows, why = conv.weight.shape[0], None
        if type(conv) in _TRANSPOSED:
            rows = conv.weight.shape[1] * conv.groups
        if norm.running_mean is None or norm.running_var is None:
            why = "it has no running statistics, so that it normalises by each batch"
        elif norm.num_features != rows:
            why = f"it normalises {norm.num_features} channels, but what is before it has {rows}"
        elif _CONVOLUTIONS[type(conv)] not in _NORMS[type(norm)]:
            why = f"a {type(norm).__name__} behind a {type(conv).__name__} normalises another dimension"
        else:
            pair = NormPair(conv, norm, *place)
            if pair.folded[2] is not None:
                return pair
            why = "the folded weights are not finite"
            if not alike(pair.tensors()[:6]):
                why = "its parameters are of another type or device than those before it"
        work.leave(norm, why)
        return None
