"""Several models that use the weights of the first. Entry points: ``check``, ``Weights`` and
``unwritten_buffers``.

Parameters get the storage of the first model's. Buffers may be written by a forward, as caches, counters and the
statistics of BatchNorm are, so each model keeps its own with the values of the first, except for those that a call on
an example is seen to leave as they were. Tensors that modules hold in plain attributes, alone or in lists, tuples and
dictionaries, stay each model's own as well. Values are copied into the tensors that ``make`` built, so that views of
them stay views of them.
"""

import dataclasses

import torch
from torch.nn.parameter import UninitializedTensorMixin

from ..utils import ModelInitError
from ._tensors import OF_MODULES, modules_of


@dataclasses.dataclass
class Sharing:
    """What instances have in common: names of parameters and buffers, and bytes."""

    shared: list = dataclasses.field(default_factory=list)  # names of tensors that have one storage
    own: dict = dataclasses.field(default_factory=dict)  # name -> why each instance has its own
    shared_bytes: int = 0
    own_bytes: int = 0  # of one instance

    def __str__(self):
        lines = [
            f"{len(self.shared)} tensors are shared ({self.shared_bytes / 2**20:.1f} MiB), "
            f"{len(self.own)} are each instance's own ({self.own_bytes / 2**20:.1f} MiB)"
        ]
        return "\n".join(lines + [f"  {name}: {reason}" for name, reason in self.own.items()])


def _inside(modules):
    """(name, module) of the modules and all modules in them."""
    for prefix, root in modules.items():
        for name, module in root.named_modules(prefix=prefix):
            yield name, module


def _containers(value):
    """The tensors in a plain attribute."""
    found, seen, waiting = [], {}, [value]
    while waiting:
        value = waiting.pop()
        if isinstance(value, torch.Tensor):
            found.append(value)
        elif isinstance(value, (list, tuple, dict)) and id(value) not in seen:
            seen[id(value)] = value
            waiting += value.values() if isinstance(value, dict) else value
    return found


def _attributes(name, module):
    """(name, tensor) of the plain attributes of one module."""
    for key, value in vars(module).items():
        if key not in OF_MODULES:
            for tensor in _containers(value):
                yield f"{name}.{key}".lstrip("."), tensor


def _named(name, tensors):
    return {f"{name}.{key}".lstrip("."): tensor for key, tensor in tensors.items() if tensor is not None}


def _described(tensor):
    return f"{str(tensor.dtype).removeprefix('torch.')} of shape {list(tensor.shape)}"


def check(model):
    """Refuses models whose weights are not there, or not there to stay.

    Raises:
        ModelInitError: weights on the meta device or not yet made, weights that accelerate moves, sharded weights.
    """
    for name, module in _inside(modules_of(model)):
        label = name or "the model"
        if getattr(module, "_hf_hook", None) is not None:
            raise ModelInitError(
                f"{label} has a hook of accelerate, which moves weights at each call; "
                "load the model whole onto the device."
            )
        for key, tensor in {**module._parameters, **module._buffers}.items():
            full = f"{name}.{key}".lstrip(".")
            if tensor is None:
                continue
            if isinstance(tensor, UninitializedTensorMixin):
                raise ModelInitError(f"{full} is not made before the first call; call the model once in make.")
            if tensor.device.type == "meta":
                raise ModelInitError(f"{full} is on the meta device, which holds no values; load the weights in make.")
            if hasattr(tensor, "device_mesh"):
                raise ModelInitError(f"{full} is sharded over processes; instances need whole weights.")


def class_name(value):
    """The name of a value's class. Parametrised modules, for one, are each of a class made for them alone."""
    return f"{type(value).__module__}.{type(value).__qualname__}"


def _pairs(first, other, number):
    """The modules of two models, side by side, where both are built alike.

    Raises:
        ModelInitError: modules, parameters or buffers differ, or both models hold the same module.
    """
    mine, theirs = list(_inside(first)), list(_inside(other))
    shapes = [[(name, class_name(module)) for name, module in side] for side in (mine, theirs)]
    if shapes[0] != shapes[1]:
        names = [{name: kind.rpartition(".")[2] for name, kind in side} for side in shapes]
        different = sorted(n for n in {*names[0], *names[1]} if names[0].get(n) != names[1].get(n))
        raise ModelInitError(
            f"make has to build the same modules each time, but model {number} differs from the first: "
            + "; ".join(
                f"{n or 'the model'} is {names[1].get(n, 'not there')}, before {names[0].get(n, 'not there')}"
                for n in different[:3]
            )
        )
    twins, firsts, pairs = {}, {}, []
    for (name, one), (_, two) in zip(mine, theirs, strict=True):
        tensors = {**_named(name, one._parameters), **_named(name, one._buffers)}
        others = {**_named(name, two._parameters), **_named(name, two._buffers)}
        if one is two and (tensors or not name):
            raise ModelInitError(
                f"make has to build every module anew, but {name or 'the model'} of model {number} is the first "
                "model's; two threads would run one module."
            )
        if tensors.keys() != others.keys():
            different = sorted(tensors.keys() ^ others.keys())
            raise ModelInitError(f"model {number} and the first do not both have {', '.join(different[:3])}.")
        for full, tensor in tensors.items():
            twin = others[full]
            if (tensor.shape, tensor.dtype, tensor.layout) != (twin.shape, twin.dtype, twin.layout):
                raise ModelInitError(
                    f"{full} of model {number} is {_described(twin)}, but the first model's is {_described(tensor)}."
                )
            if twins.setdefault(id(tensor), twin) is not twin or firsts.setdefault(id(twin), tensor) is not tensor:
                raise ModelInitError(
                    f"{full} is tied to another tensor in one of the first model and model {number}, not in both."
                )
        pairs.append((name, one, two))
    return pairs


def _share_storage(module, key, tensor, twin):
    """Has ``module.key``, which is ``twin``, use the storage of ``tensor``. The object stays where torch lets it,
    since modules such as the recurrent ones hold their parameters in lists as well."""
    try:
        twin.data = tensor.data
    except RuntimeError:  # of another class of tensors, or made in inference mode
        setattr(module, key, tensor)


def _copy_values(full, tensor, twin, number):
    """Gives a tensor that stays model ``number``'s own the values of the first model's."""
    if twin is tensor or (twin.device == tensor.device and twin.data_ptr() == tensor.data_ptr()):
        return
    if (tensor.shape, tensor.dtype) != (twin.shape, twin.dtype):
        raise ModelInitError(
            f"{full} of model {number} is {_described(twin)}, but the first model's is {_described(tensor)}."
        )
    if tensor.device.type == "meta" or twin.device.type == "meta":
        raise ModelInitError(f"{full} is on the meta device, which holds no values; load the weights in make.")
    try:
        twin.copy_(tensor)
    except RuntimeError as error:  # one element at several places, as expand gives
        if not torch.equal(twin, tensor.to(twin.device)):
            raise ModelInitError(
                f"{full} of model {number} has other values than the first model's and cannot be written ({error})."
            ) from error


def buffers_of(model):
    """The buffers of a model, by name."""
    return {full: b for name, m in _inside(modules_of(model)) for full, b in _named(name, m._buffers).items()}


def _parameters_of(model):
    return {full: p for name, m in _inside(modules_of(model)) for full, p in _named(name, m._parameters).items()}


def _bits(tensor):
    """A copy of a tensor's values, where they can be compared."""
    return tensor.detach().clone() if tensor.layout is torch.strided else None


def _version(tensor):
    return None if tensor.is_inference() else tensor._version


def unwritten_buffers(model, call):
    """Runs ``call`` and gives the names of the model's buffers that it left as they were: the same object, the same
    values, not written in place.

    Raises:
        ModelInitError: the call wrote a parameter in place.
    """
    buffers, parameters = buffers_of(model), _parameters_of(model)
    before = {name: (b, _version(b), _bits(b)) for name, b in buffers.items()}
    versions = {name: (p, _version(p)) for name, p in parameters.items()}
    call()
    for name, (parameter, version) in versions.items():
        if _version(parameter) != version:
            raise ModelInitError(f"a call writes the parameter {name}, which instances share; make it a buffer.")
    after, left = buffers_of(model), set()
    for name, (buffer, version, bits) in before.items():
        same = after.get(name) is buffer and _version(buffer) == version and bits is not None
        if same and torch.equal(_raw(buffer), _raw(bits)):
            left.add(name)
    return left


def _raw(tensor):
    """The bits of a tensor, so that NaN equals itself and 0.0 is not -0.0."""
    return tensor.detach().contiguous().reshape(-1).view(torch.uint8)


class Weights:
    """The parameters and buffers of a first model, for others that are built as it is."""

    def __init__(self, model):
        self._first, self._others, self.report = modules_of(model), [], Sharing()
        seen = set()
        for name, module in _inside(self._first):
            for kind, tensors in (("parameter", module._parameters), ("buffer", module._buffers)):
                for full, tensor in _named(name, tensors).items():
                    size = 0 if id(tensor) in seen else tensor.numel() * tensor.element_size()
                    seen.add(id(tensor))
                    if isinstance(module, torch.jit.ScriptModule):
                        self.report.own[full] = "a module of TorchScript holds it"
                    elif kind == "buffer":
                        self.report.own[full] = "calls may write it"
                    else:
                        self.report.shared.append(full)
                        self.report.shared_bytes += size
                        continue
                    self.report.own_bytes += size

    @torch.no_grad()
    def join(self, model, number):
        """Has ``model``, the model of this number, use the parameters of the first, and gives the rest of its tensors
        the values of the first's.

        Raises:
            ModelInitError: the model is not built as the first one is.
        """
        other = modules_of(model)
        if self._first.keys() != other.keys():
            raise ModelInitError(
                f"model {number} holds the modules {sorted(other)}, but the first one holds {sorted(self._first)}."
            )
        pairs = _pairs(self._first, other, number)
        shared = set(self.report.shared)
        for full, tensor, module, key in self._tensors(pairs):
            twin = getattr(module, key)
            if full in shared:
                _share_storage(module, key, tensor, twin)
            else:
                _copy_values(full, tensor, twin, number)
        for name, one, two in pairs:
            mine, theirs = list(_attributes(name, one)), list(_attributes(name, two))
            if [full for full, _ in mine] != [full for full, _ in theirs]:
                different = sorted({full for full, _ in mine} ^ {full for full, _ in theirs}) or [name or "the model"]
                raise ModelInitError(f"model {number} and the first do not hold the same tensors in {different[0]}.")
            for (full, tensor), (_, twin) in zip(mine, theirs, strict=True):
                _copy_values(full, tensor, twin, number)
        self._others.append(pairs)

    @torch.no_grad()
    def share_buffers(self, names):
        """Has all models that have joined use the buffers of the first that are in ``names``, which calls do not
        write; the rest is reported as written."""
        buffers = {full: b for name, m in _inside(self._first) for full, b in _named(name, m._buffers).items()}
        for full in list(self.report.own):
            if full in names and not self.report.own[full].startswith("a module"):
                del self.report.own[full]
                self.report.shared.append(full)
                size = buffers[full].numel() * buffers[full].element_size()
                self.report.shared_bytes += size
                self.report.own_bytes -= size
            elif full in buffers:
                self.report.own[full] = "the call on the example wrote it"
        for pairs in self._others:
            for full, tensor, module, key in self._tensors(pairs):
                if full in buffers and full in self.report.shared:
                    _share_storage(module, key, tensor, getattr(module, key))

    @staticmethod
    def _tensors(pairs):
        """(name, tensor of the first model, module of the other, key in it), where the two are two tensors."""
        for name, one, two in pairs:
            for key, tensor in {**one._parameters, **one._buffers}.items():
                if tensor is not None and getattr(two, key) is not tensor:
                    yield f"{name}.{key}".lstrip("."), tensor, two, key
