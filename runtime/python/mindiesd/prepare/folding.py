"""Two modules computed as one, by weights that are made of theirs. Entry points: ``Folding``, ``PairedSequential`` and
``pair_neighbours``.

Whenever anything is not as it was, both modules compute as before: training, gradients of weights, hooks, another
forward, autocast, tracing, and torch.compile, which fuses by itself.
"""

import types

import torch
from torch import nn

from .alone import has_hooks, listened_to
from .guard import ordinary


class Folding:
    """A module and the one behind it, as one. ``tensors`` and ``fold`` are a subclass's own, and so is ``run``.

    Folded weights are computed anew whenever a tensor that they are made of is another or has been changed. What
    threads share is replaced whole.
    """

    def __init__(self, first, second):
        self.first, self.second = first, second
        self.types = type(first), type(second)
        tensors = self.tensors()
        self.folded = (tensors, self.state(tensors), self.fold(tensors), _storages(tensors))

    def __getstate__(self):
        return {**self.__dict__, "folded": None}

    def tensors(self):
        """What the folded weights are made of, the first module's weight first; None for what is not there. They are
        read where modules keep them, for ``module.weight`` is slow."""
        raise NotImplementedError

    def fold(self, tensors):
        """The folded weights, or None where they cannot be had."""
        raise NotImplementedError

    def state(self, tensors):
        """What is another where the folded weights have to be computed anew, besides the tensors themselves."""
        return [None if t is None else (t.data_ptr(), t._version, t.stride()) for t in tensors]

    def run(self, x, weights):
        raise NotImplementedError

    def compute(self, x):
        """The result of both modules, or None where they must compute as they are."""
        if not ordinary(x) or x.numel() == 0 or listened_to() or not self._untouched():
            return None
        weights = self._weights(x)
        return None if weights is None else self.run(x, weights)

    def forget(self):
        """Has the folded weights computed anew."""
        self.folded = None

    def _mindiesd_stale(self):
        """Whether the folded weights would be computed anew; who repeats kernels without this code has to ask."""
        if (folded := self.folded) is None:
            return False
        tensors = self.tensors()
        return not _same(tensors, folded[0]) or folded[1] != self.state(tensors)

    def _untouched(self):
        for module, kind in zip((self.first, self.second), self.types, strict=True):
            if type(module) is not kind or module.training or "forward" in module.__dict__:
                return False
            if has_hooks(module) or module._compiled_call_impl is not None:
                return False
        return True

    def _weights(self, x):
        tensors, folded = self.tensors(), self.folded
        weight = tensors[0]
        if weight is None or x.dtype != weight.dtype or x.device != weight.device:
            return None
        if torch.is_grad_enabled() and any(t is not None and t.requires_grad for t in tensors):
            return None
        same = folded is not None and _same(tensors, folded[0])
        if not same and not all(t is None or _owned(t) for t in tensors):
            return None
        key = self.state(tensors)
        if not same or folded[1] != key:
            self.folded = folded = (tensors, key, self.fold(tensors), _storages(tensors))
        return folded[2]


def _same(now, then):
    for one, other in zip(now, then, strict=True):  # a loop, for it runs in every call
        if one is not other:
            return False
    return True


def _storages(tensors):
    """The memory of tensors, which nothing else gets at the same address while this is kept."""
    return [None if t is None else t.untyped_storage() for t in tensors]


def _owned(tensor):
    """Whether these are values of their own, whose changes are counted."""
    return type(tensor) in (nn.Parameter, torch.Tensor) and not tensor.is_inference()


def alike(tensors):
    """Whether all that are there have one type, a floating one, and one device."""
    kinds = {(t.dtype, t.device) for t in tensors if t is not None}
    return len(kinds) == 1 and next(iter(kinds))[0] in (torch.float64, torch.float32, torch.float16, torch.bfloat16)


def wide(tensors):
    """The values in float32 at least, without their history."""
    return [None if t is None else t.detach().to(torch.promote_types(t.dtype, torch.float32)) for t in tensors]


def finite(*tensors):
    return all(tensor.isfinite().all().item() for tensor in tensors)


class PairedSequential(nn.Sequential):
    """Computes pairs of neighbours as one; ``_mindiesd_pairs`` has them by the index of the first. Each module that is
    called by itself computes what it did."""

    _mindiesd_pairs = types.MappingProxyType({})  # those of a slice, which torch makes of the same class

    def forward(self, input):  # noqa: A002 - the name that torch's has
        modules = list(self._modules.values())
        at = 0
        while at < len(modules):
            pair, result = self._mindiesd_pairs.get(at), None
            if pair is not None and modules[at] is pair.first and modules[at + 1 : at + 2] == [pair.second]:
                result = pair.compute(input)
            input = modules[at](input) if result is None else result  # noqa: A001
            at += 1 if result is None else 2
        return input

    def train(self, mode=True):
        for pair in self._mindiesd_pairs.values():
            pair.forget()
        return super().train(mode)

    def _apply(self, fn, recurse=True):
        for pair in self._mindiesd_pairs.values():
            pair.forget()
        return super()._apply(fn, recurse)


class MorePairs:
    """The sequence had these pairs."""

    def __init__(self, pairs):
        self.pairs = pairs

    def undo(self, module):
        module._mindiesd_pairs = self.pairs


def sequences(work):
    """The sequences whose neighbours may be paired, with their children."""
    for module in list(work.names.modules.values()):
        if type(module) in (nn.Sequential, PairedSequential) and "forward" not in module.__dict__:
            yield module, list(module._modules.values())


def pair_neighbours(work, sequence, pairs):
    """Has a sequence compute pairs, given by the index of the first, as one."""
    text = f"computes {', '.join(f'{at} with {at + 1}' for at in pairs)} as one"
    if type(sequence) is nn.Sequential:
        work.swap(sequence, PairedSequential, text, _mindiesd_pairs=pairs)
    else:
        before = sequence._mindiesd_pairs
        work.record(sequence, MorePairs(before), text)
        sequence._mindiesd_pairs = {**before, **pairs}
