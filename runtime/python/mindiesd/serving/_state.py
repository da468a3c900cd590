"""What the Python code of a module keeps between calls, to find calls that a CUDA graph does not repeat. Entry points:
``State`` and ``Weights``."""

import collections
import operator
import types

import torch

from ._signature import Unfit
from ._tensors import OF_MODULES, Unreadable, modules_of, named_parts

_CONTAINERS = (list, tuple, set, frozenset, collections.deque)
_OPAQUE = (torch.nn.Module, torch.Tensor, type, types.ModuleType, types.FunctionType, types.MethodType)
_SETS = (set, frozenset)
_MOST = 200_000


def _modules_of(function):
    try:
        return modules_of(function)
    except Unreadable as error:
        raise Unfit(str(error)) from None


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
                if hasattr(type(value), "_mindiesd_stale"):  # made of weights, and asked for itself
                    continue
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
        for path, value in _entries(_modules_of(self._function)):
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


class _Names:
    """What a function refers to by names, read anew each time."""

    def __init__(self, function):
        self._function = function

    def __getitem__(self, name):
        return dict(named_parts(self._function))[name]


def _places(function):
    """(holder, key, value) of every tensor outside parameters and buffers that a callable reaches: the tensor itself,
    and what leads to it from an attribute of a module or a name of a function."""
    places, seen = {}, {}
    names = _Names(function)
    waiting = [((names, name, value),) for name, value in named_parts(function)]
    if isinstance(function, torch.nn.Module):
        waiting = []
    for root in _modules_of(function).values():
        for module in root.modules():
            ours = vars(module)
            waiting += [((ours, key, value),) for key, value in ours.items() if key not in OF_MODULES]
    while waiting:
        chain = waiting.pop()
        value = chain[-1][2]
        if isinstance(value, torch.Tensor):
            places.update({(id(holder), key): (holder, key, one) for holder, key, one in chain})
        elif id(value) not in seen and not isinstance(value, torch.nn.Module):
            seen[id(value)] = value
            holder = value if isinstance(value, (dict, *_CONTAINERS)) else getattr(value, "__dict__", {})
            inside = () if isinstance(value, _SETS) else _inside(value)
            waiting += [(*chain, (holder, key, inner)) for key, inner in inside]
            if len(seen) > _MOST:
                raise Unfit(f"the modules hold more than {_MOST} objects, too many to see whether one is replaced")
    return list(places.values())


class Weights:
    """Which tensors a callable reaches and where they lie, which modules there are, whether they train and what hooks
    they have. A graph reads addresses and repeats kernels, so it is right as long as these are the same. The tensors
    are kept, so that no graph reads memory that was freed."""

    def __init__(self, function):
        self._function, self._roots = function, list(_modules_of(function).values())
        modules = list({id(m): m for root in self._roots for m in root.modules()}.values())
        named = [(tensors, key) for m in modules for tensors in (m._parameters, m._buffers) for key in tensors]
        self._weights = [(tensors, key, tensors[key]) for tensors, key in named]
        tensors = [tensor for *_, tensor in self._weights if tensor is not None]
        self._devices = {t.device for t in tensors}
        self._places = [*self._weights, *_places(function)]
        held = [t for *_, t in self._places if isinstance(t, torch.Tensor)]
        self.storages = {address for address in map(_storage, held) if address}
        self._addresses = [(t, _address(t)) for *_, t in self._places if isinstance(t, torch.Tensor)]
        self._addresses = [(t, address) for t, address in self._addresses if address is not None]
        # What modules compute from their weights and keep, as prepared ones do, says when that is out of date. Where it
        # is so now, the calls do not use it; one that does makes it anew, which is another value in its place.
        derived = {id(value): value for *_, value in self._places if hasattr(type(value), "_mindiesd_stale")}
        self._derived = [one for one in derived.values() if not one._mindiesd_stale()]
        self._children = [(m._modules, tuple(m._modules.values())) for m in modules if m._modules]
        self._flags = [(m.__dict__, m.training, m.__dict__.get("forward")) for m in modules]
        self._own = [(m, type(m), m.__dict__, len(m.__dict__), *_attributes(m)) for m in modules]
        # Hooks have numbers that are not used again.
        self._hooks = [(hooks, list(hooks)) for m in modules for hooks in _hooks(m)]

    def moved(self):
        """Whether any of that has changed."""
        try:
            for holder, key, value in self._places:
                if holder[key] is not value:
                    return True
        except (KeyError, IndexError):
            return True
        for tensor, address in self._addresses:
            if tensor.data_ptr() != address:
                return True
        if any(one._mindiesd_stale() for one in self._derived):
            return True
        for held, training, forward in self._flags:
            if held.get("training", training) is not training or held.get("forward") is not forward:
                return True
        for hooks, numbers in self._hooks:
            if list(hooks) != numbers:
                return True
        for children, before in self._children:
            if tuple(children.values()) != before:
                return True
        return list(_modules_of(self._function).values()) != self._roots

    def altered(self):
        """Whether a module has got another class, or another value in an attribute. To be asked where a graph could
        answer: what calls without one leave in attributes is no reason to look at them anew."""
        try:
            for module, kind, held, count, read, before in self._own:
                if len(held) != count or type(module) is not kind or read(held) != before:
                    return True
        except Exception:  # noqa: BLE001 - an attribute is gone, or its values have no order of their own to compare by
            return True
        return False

    def obstacle(self, device):
        """Why a call with these weights cannot be a graph on the device, None where it can."""
        if others := self._devices - {device}:
            return f"a parameter or buffer is on {others.pop()}, not on {device}"
        if torch.is_grad_enabled() and any(t is not None and t.requires_grad for *_, t in self._weights):
            return "parameters require grad while gradients are recorded"
        return None


def _attributes(module):
    """What reads the values of a module's attributes that are none of torch's own, and no tensors; and these values."""
    held = module.__dict__
    names = [key for key, value in held.items() if key not in OF_MODULES and not isinstance(value, torch.Tensor)]
    if not names:
        return len, len(held)
    read = operator.itemgetter(*names)
    return read, read(held)


def _hooks(module):
    """The dictionaries of hooks that run in a forward."""
    return module._forward_hooks, module._forward_pre_hooks


def _address(tensor):
    if tensor.layout is not torch.strided:
        return None
    try:
        return tensor.data_ptr()
    except RuntimeError:  # of a class of tensors without a storage
        return None


def _storage(tensor):
    return tensor.untyped_storage().data_ptr() if _address(tensor) is not None else None
