"""Runs a model on example inputs and compares results. Entry points: ``Examples`` and ``difference``."""

import copy
import math
from collections.abc import Mapping

import torch
from torch.utils._pytree import tree_map_only

from ..utils import ParametersInvalid

_MOST_VALUES = 100_000


class Examples:
    """Calls of the model: each a tuple of positional and a dict of keyword arguments."""

    def __init__(self, given):
        self.calls = [_call(one) for one in (given if isinstance(given, list) else [given])]
        if not self.calls:
            raise ParametersInvalid("example_inputs must hold at least one call, but the list is empty.")

    def run(self, model):
        """The values that the calls return, flat. The calls get copies of the inputs, and the same random numbers each
        time."""
        devices = sorted({p.device.index for p in model.parameters() if p.device.type == "cuda"})
        values = []
        with torch.no_grad(), torch.random.fork_rng(devices=devices):
            for args, kwargs in self.calls:
                torch.manual_seed(0)
                values.append(flatten(model(*copy.deepcopy(args), **copy.deepcopy(kwargs))))
        return values


def _call(given):
    if isinstance(given, torch.Tensor):
        return (given.detach(),), {}
    if isinstance(given, tuple):
        return tree_map_only(torch.Tensor, torch.Tensor.detach, tuple(given)), {}
    if isinstance(given, Mapping):
        return (), tree_map_only(torch.Tensor, torch.Tensor.detach, dict(given))
    raise ParametersInvalid(
        "example_inputs must be a tensor, a tuple of positional arguments, a dict of keyword arguments, or a list of "
        f"such, one a call, but a {type(given).__name__} is given."
    )


def flatten(result):
    """The tensors, numbers and texts in a result, in order. Objects count by their attributes."""
    values, seen, stack = [], set(), [result]
    while stack:
        value = stack.pop()
        if value is None or isinstance(value, (torch.Tensor, bool, int, float, complex, str, bytes)):
            values.append(value)
        elif id(value) not in seen:
            seen.add(id(value))
            if isinstance(value, Mapping):
                stack.extend(reversed(list(value.values())))
            elif isinstance(value, (list, tuple)):
                stack.extend(reversed(value))
            elif hasattr(value, "__dict__") and not isinstance(value, (type, torch.nn.Module)) and not callable(value):
                stack.extend(reversed([vars(value)[key] for key in sorted(vars(value))]))
        if len(values) > _MOST_VALUES:
            raise ParametersInvalid(f"the model returns more than {_MOST_VALUES} values; no results are compared.")
    return values


def difference(before, after):
    """By how much two lists of values of calls differ, of the largest element of each tensor; infinite where types,
    shapes, counts, whole numbers or places of NaN and infinities differ."""
    if [len(call) for call in before] != [len(call) for call in after]:
        return math.inf
    pairs = (pair for one, other in zip(before, after, strict=True) for pair in zip(one, other, strict=True))
    return max((_one(*pair) for pair in pairs), default=0.0)


def _one(before, after):
    if not isinstance(before, torch.Tensor) or not isinstance(after, torch.Tensor):
        same = type(before) is type(after) and (before == after or before != before)
        return 0.0 if same else math.inf
    if before.is_nested or after.is_nested:
        return math.inf
    if before.dtype != after.dtype or before.shape != after.shape or before.device != after.device:
        return math.inf
    if before.layout != after.layout:
        return math.inf
    if before.layout != torch.strided:
        before, after = before.to_dense(), after.to_dense()
    if before.numel() == 0:
        return 0.0
    if before.is_complex():
        before, after = torch.view_as_real(before), torch.view_as_real(after)
    if not before.is_floating_point():
        return 0.0 if torch.equal(before, after) else math.inf
    before, after = before.double(), after.double()
    finite = before.isfinite()
    if not torch.equal(finite, after.isfinite()) or not torch.equal(
        before[~finite].nan_to_num(nan=0.0), after[~finite].nan_to_num(nan=0.0)
    ):
        return math.inf
    if not finite.any():
        return 0.0
    off = (before[finite] - after[finite]).abs().max().item()
    return 0.0 if off == 0.0 else off / max(before[finite].abs().max().item(), torch.finfo(torch.float64).tiny)


def narrowest(values):
    """The narrowest floating type among the results, by which tolerances go."""
    types = {v.dtype for call in values for v in call if isinstance(v, torch.Tensor) and v.is_floating_point()}
    return max(types, key=lambda dtype: torch.finfo(dtype).eps, default=torch.float32)
