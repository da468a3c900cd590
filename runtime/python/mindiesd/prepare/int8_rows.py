"""``int8-linear``: linears that compute few rows, as decoders do token by token, by int8 weights with one scale for each
output. A product of few rows costs what reading its weight costs, and that is halved; calls of more rows compute as
they did. The weights themselves stay: memory grows by a half of theirs in half types.
"""

import math

import torch
from torch import nn

from .._block_ops import MOST_INT8_ROWS
from ..ext.int8 import int8_linear, quantize_int8
from ..utils import ParametersInvalid
from .guard import ordinary
from .step import Step
from .trace import Trace

_HALVES = (torch.float16, torch.bfloat16)
# Values of a weight from which the product is the faster one.
_SMALLEST = 2**18
# By how much results of a model may differ, of the largest element: each weight is off by up to a 254th of its row's
# largest.
_ALLOWED = 0.05


class Int8Weight:
    """What ``quantize_int8`` gives for a linear's weight, made anew where that is another or has been changed. What
    threads share is replaced whole."""

    def __init__(self, weight):
        self.kept = None
        self.of(weight)

    def forget(self):
        """Has the int8 weight made anew."""
        self.kept = None

    def __getstate__(self):
        return {"kept": None}

    def _mindiesd_stale(self):
        """Whether the weight has changed since; who repeats kernels without this code has to ask."""
        kept = self.kept
        return kept is not None and kept[1] != self._state(kept[0])

    @staticmethod
    def _state(weight):
        return weight.data_ptr(), weight._version, weight.stride()

    def of(self, weight):
        """(int8 weight, scales), or None where the weight is not finite."""
        kept, now = self.kept, self._state(weight)
        if kept is None or kept[0] is not weight or kept[1] != now:
            # With its memory, so that nothing else gets that at the same address.
            self.kept = kept = (weight, now, _quantised(weight), weight.untyped_storage())
        return kept[2]


class JoinedInt8Weight(Int8Weight):
    """The same of a tensor that consists of the rows of several parameters, whose changes count."""

    def __init__(self):
        self.kept = None

    @staticmethod
    def _state(parameters):
        return [(p.data_ptr(), p._version, p.stride()) for p in parameters]

    def of(self, joined, parameters):
        """(int8 weight, scales) of all rows, or None where a weight is not finite."""
        kept, now = self.kept, self._state(parameters)
        if kept is None or kept[0] is not parameters or kept[1] != now:
            self.kept = kept = (parameters, now, _quantised(joined), joined.untyped_storage())
        return kept[2]


def _quantised(weight):
    with torch.inference_mode(mode=False):
        try:
            return quantize_int8(weight)
        except ParametersInvalid:
            return None


class FewRowsLinear(nn.Linear):
    """Computes few rows by an int8 weight."""

    def forward(self, input):  # noqa: A002 - the name that torch's has
        quantised = None
        if self._few(input):
            quantised = self._mindiesd_int8.of(self.weight)
        if quantised is None:
            return super().forward(input)
        return int8_linear(input, *quantised, self.bias)

    def _few(self, x):
        if self.training or not ordinary(x) or not few_rows(x, self.in_features):
            return False
        weight, bias = self._parameters.get("weight"), self._parameters.get("bias")
        if type(weight) is not nn.Parameter or weight.is_inference():
            return False
        operands = [x, weight] if bias is None else [x, weight, bias]
        if any(t.dtype != weight.dtype or t.device != weight.device for t in operands):
            return False
        if not served(weight):
            return False
        return not (torch.is_grad_enabled() and any(t.requires_grad for t in operands))

    def train(self, mode=True):
        self._mindiesd_int8.forget()
        return super().train(mode)

    def _apply(self, fn, recurse=True):
        self._mindiesd_int8.forget()
        return super()._apply(fn, recurse)


def few_rows(x, width):
    """Whether an input of this width has so few rows that a product costs what reading its weight costs."""
    return x.dim() > 0 and x.shape[-1] == width and 0 < x.numel() <= MOST_INT8_ROWS * width


def served(weight):
    """Whether the kernels have a product with an int8 weight in place of this one."""
    if weight.device.type == "cuda":
        return weight.dtype in _HALVES and weight.shape[1] % 16 == 0
    return weight.device.type == "cpu" and weight.dtype in (torch.float32, *_HALVES)


class Int8Rows(Step):
    name = "int8-linear"
    speed = "fast"
    needs_examples = True

    def tolerance(self, profile, dtype, *, cuda):
        return _ALLOWED

    def apply(self, work):
        linears = [m for m in work.names.modules.values() if isinstance(m, nn.Linear)]
        calls = {}
        for call in Trace(work.model, work.examples, linears).calls:
            calls.setdefault(call.module, []).append(call)
        for module, own in calls.items():
            if not work.usable(module, {nn.Linear}):
                continue
            if not any(call.plain and math.prod(call.shape[:-1]) <= MOST_INT8_ROWS for call in own):
                work.leave(module, f"no example calls it with {MOST_INT8_ROWS} rows or fewer")
            elif not served(module.weight):
                work.leave(module, "the kernels have no product with int8 weights of its type, device or width")
            elif module.weight.numel() < _SMALLEST:
                work.leave(module, "its weight is too small for an int8 one to be faster")
            else:
                self._change(work, module)

    @staticmethod
    def _change(work, module):
        weight = Int8Weight(module.weight)
        if weight.kept[2] is None:
            work.leave(module, "its weight is not finite")
        else:
            text = f"computes up to {MOST_INT8_ROWS} rows by an int8 weight"
            work.swap(module, FewRowsLinear, text, _mindiesd_int8=weight)
