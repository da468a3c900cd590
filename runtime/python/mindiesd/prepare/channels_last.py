"""``channels-last``: weights of two-dimensional convolutions with the channels innermost, so that torch computes them,
and what is between them, in that layout. Results of the model keep theirs."""

import torch
from torch import nn
from torch.utils._pytree import tree_flatten, tree_unflatten

from .batch_norm import FoldedConv2d, FoldedConvTranspose2d
from .change import Hook
from .step import Step

_FOLDED = (FoldedConv2d, FoldedConvTranspose2d)


class Strides:
    """The weight had these sizes and strides."""

    def __init__(self, weight):
        self.shape, self.strides = tuple(weight.shape), weight.stride()

    def undo(self, module):
        weight = module._parameters.get("weight")
        if type(weight) is nn.Parameter and tuple(weight.shape) == self.shape and not weight.is_meta:
            before = torch.empty_strided(self.shape, self.strides, dtype=weight.dtype, device=weight.device)
            weight.data = before.copy_(weight.data)


class PlainResults:
    """A hook that gives results of a model, which its layers made with the channels innermost, the usual strides. An
    input with the channels innermost has results like it, as before."""

    def __call__(self, module, args, kwargs, result):
        if any(_innermost(value) for value in tree_flatten((args, kwargs))[0]):
            return None
        leaves, form = tree_flatten(result)
        if not any(_innermost(leaf) for leaf in leaves):
            return None
        plain = {id(leaf): leaf.contiguous() for leaf in leaves if _innermost(leaf)}  # by id: one that is there twice
        return tree_unflatten([plain.get(id(leaf), leaf) for leaf in leaves], form)


def _innermost(value):
    """Whether a value has its channels innermost, and not the usual strides."""
    return (
        isinstance(value, torch.Tensor)
        and value.dim() == 4
        and not value.is_contiguous()
        and value.is_contiguous(memory_format=torch.channels_last)
    )


class ChannelsLast(Step):
    name = "channels-last"
    speed = "close"
    needs_examples = True

    def apply(self, work):
        convs = [m for m in work.names.modules.values() if isinstance(m, (nn.Conv2d, nn.ConvTranspose2d))]
        convs = [m for m in convs if self._fits(work, m)]
        convs = [m for m in convs if not m.weight.is_contiguous(memory_format=torch.channels_last)]
        if not convs:
            work.leave(None, "there is no two-dimensional convolution that it can change")
            return
        before = self._strides(work)
        for module in convs:
            work.record(module, Strides(module.weight), "has its weight with the channels innermost")
            module.weight.data = module.weight.data.contiguous(memory_format=torch.channels_last)
        if self._strides(work) != before:
            handle = work.model.register_forward_hook(PlainResults(), with_kwargs=True)
            work.record(work.model, Hook(handle), "gives its results the strides that they had")
            if self._strides(work) != before:
                raise ValueError("the results of the model would have other strides than they had")

    def _fits(self, work, module):
        if type(module) in _FOLDED:
            return True  # was found usable by the step that changed it
        return work.usable(module, {nn.Conv2d, nn.ConvTranspose2d})

    @staticmethod
    def _strides(work):
        tensors = (v for call in work.examples.run(work.model) for v in call if isinstance(v, torch.Tensor))
        return [tensor.stride() for tensor in tensors]
