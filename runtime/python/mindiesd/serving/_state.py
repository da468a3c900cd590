"""What the Python code of a module keeps between calls, to find calls that a CUDA graph does not repeat. Entry points:
``State`` and ``Weights``."""

import collections
import types

import torch

from ._signature import Unfit
from ._tensors import modules_of

_CONTAINERS = (list, tuple, set, frozenset, collections.deque)
_OPAQUE = (torch.nn.Module, torch.Tensor, type, types.ModuleType, types.FunctionType, types.MethodType)
_MOST = 200_000


def _inside(value):
    """(name, value) of what a container or an object holds."""
    if isinstance(value, dict):
        return value.items()
    if isinstance(value, _CONTAINERS):
        return enumerate(value)
    return () if isinstance(value, _OPAQUE) else getattr(value, "__dict__", {}).items()


def _entries(modules):
    """(path, value) of everything that modules hold, in attributes, containers and attributes of objects."""
    seen, count = {}, 0
    for prefix, root in modules.items():
        for name, module in root.named_modules(prefix=prefix):
            waiting = [((name, key), value) for key, value in vars(module).items()]
            while waiting:
                path, value = waiting.pop()
                yield path, value
                count += 1
                if count > _MOST:
                    raise Unfit(f"the modules hold more than {_MOST} objects, too many to see what a call changes")
                if id(value) not in seen:
                    seen[id(value)] = value
                    waiting += [((*path, part), inner) for part, inner in _inside(value)]


class State:
    """What modules hold at one moment: which objects, and the versions of tensors outside the device, whose values
    a graph keeps."""

    def __init__(self, function, device_type):
        self._function, self._device_type = function, device_type
        self._values = self._now()

    def _now(self):
        values = {}
        for path, value in _entries(modules_of(self._function)):
            version = None
            if isinstance(value, torch.Tensor) and value.device.type != self._device_type and not value.is_inference():
                version = value._version
            values[path] = (value, version)
        return values

    def changed(self):
        """The name of something that has changed since, None if nothing has."""
        now = self._now()
        for path in [*self._values, *(path for path in now if path not in self._values)]:
            if not _same(self._values.get(path), now.get(path)):
                hidden = ("_parameters", "_buffers", "_modules")
                return ".".join(str(part) for part in path if part not in hidden).lstrip(".")
        return None


def _same(before, after):
    if before is None or after is None or before[1] != after[1]:
        return False
    one, two = before[0], after[0]
    return one is two or (type(one) is type(two) and isinstance(one, (int, str, float)) and one == two)


class Weights:
    """Where the parameters and buffers of modules lie, which modules there are, whether they train and what hooks they
    have. A graph reads addresses and repeats kernels, so it is right as long as these are the same."""

    def __init__(self, function):
        self._function = function
        self._roots = list(modules_of(function).values())
        self._modules = list({id(m): m for root in self._roots for m in root.modules()}.values())
        tensors = [t for m in self._modules for t in (*m._parameters.values(), *m._buffers.values()) if t is not None]
        self._devices = {t.device for t in tensors}
        self._derivative = any(t.requires_grad for t in tensors)
        self.storages = {address[0] for address in map(_address, tensors) if address}
        self._before = self._now()

    def _now(self):
        now = list(modules_of(self._function).values())
        for m in self._modules:
            now.append((m.training, len(m._forward_hooks), len(m._forward_pre_hooks), *m._modules.values()))
            for tensors in (m._parameters, m._buffers):
                for tensor in tensors.values():
                    now.append(None if tensor is None else (id(tensor), tensor.requires_grad, _address(tensor)))
        return now

    def moved(self):
        """Whether any of that has changed."""
        return self._now() != self._before

    def obstacle(self, device):
        """Why a call with these weights cannot be a graph on the device, None where it can."""
        if others := self._devices - {device}:
            return f"a parameter or buffer is on {others.pop()}, not on {device}"
        if self._derivative and torch.is_grad_enabled():
            return "parameters require grad while gradients are recorded"
        return None


def _address(tensor):
    if tensor is None or tensor.layout is not torch.strided:
        return None
    try:
        return tensor.untyped_storage().data_ptr(), tensor.data_ptr()
    except RuntimeError:  # of a class of tensors without a storage
        return None
