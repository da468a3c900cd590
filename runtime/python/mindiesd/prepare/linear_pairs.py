"""``linear-pairs``: two linears in a row, with nothing between, multiplied out where one matrix has fewer elements than
the two. Only neighbours in an ``nn.Sequential`` are such for certain."""

import torch
from torch import nn

from .folding import Folding, alike, finite, pair_neighbours, sequences, wide
from .step import Step


class LinearPair(Folding):
    """The second linear of the first."""

    def tensors(self):
        first, second = self.first._parameters, self.second._parameters
        return first.get("weight"), first.get("bias"), second.get("weight"), second.get("bias")

    def fold(self, tensors):
        """The product of the weights and ``second.weight @ first.bias + second.bias``, in float64, rounded once."""
        if not alike(tensors):
            return None
        with torch.inference_mode(mode=False), torch.no_grad():
            first, inner, second, outer = (None if t is None else t.double() for t in wide(tensors))
            bias = None if inner is None else second @ inner
            if outer is not None:
                bias = outer if bias is None else bias + outer
            folded = [(second @ first).to(tensors[0].dtype), None if bias is None else bias.to(tensors[0].dtype)]
            return folded if finite(*(t for t in folded if t is not None)) else None

    def run(self, x, weights):
        return nn.functional.linear(x, *weights)


class LinearPairs(Step):
    name = "linear-pairs"
    speed = "fast"

    def apply(self, work):
        for sequence, children in sequences(work):
            pairs, before = {}, getattr(sequence, "_mindiesd_pairs", {})
            for at, (first, second) in enumerate(zip(children, children[1:], strict=False)):
                if not isinstance(first, nn.Linear) or not isinstance(second, nn.Linear):
                    continue
                if at - 1 in pairs or any(near in before for near in (at - 1, at, at + 1)):
                    continue
                if work.usable(first, {nn.Linear}) and work.usable(second, {nn.Linear}):
                    if pair := self._pair(work, first, second):
                        pairs[at] = pair
            if pairs:
                pair_neighbours(work, sequence, pairs)

    @staticmethod
    def _pair(work, first, second):
        outer, middle, inner = second.weight.shape[0], *first.weight.shape
        if second.weight.shape[1] != middle:
            work.leave(second, f"it takes {second.weight.shape[1]} features, but what is before it gives {middle}")
        elif outer * inner >= middle * (outer + inner):
            work.leave(second, "one matrix would have no fewer elements than the two")
        else:
            pair = LinearPair(first, second)
            if pair.folded[2] is not None:
                return pair
            work.leave(second, "the product is not finite, or its factors are of different types or devices")
        return None
