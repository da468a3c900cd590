"""What must be left alone: modules whose parameters or calls are not just their own. Entry points: ``whole_model``,
``reason`` and ``tensor_reason``, all of which give a text or None."""

import torch
from torch import nn

from .change import records

# Attributes by which adapters hold the module that they wrap, or their own small ones.
ADAPTERS = ("base_layer", "lora_A", "lora_B", "lora_down", "lora_up", "lora_layer")


def has_hooks(module):
    """Whether somebody listens to the calls of this module."""
    own = module.__dict__
    return bool(
        own["_forward_hooks"] or own["_forward_pre_hooks"] or own["_backward_hooks"] or own["_backward_pre_hooks"]
    )


def listened_to():
    """Whether somebody listens to the calls of every module."""
    state = torch.nn.modules.module
    return bool(state._global_forward_hooks or state._global_forward_pre_hooks or state._global_backward_hooks)


class Names:
    """The modules of a model by name, and what several of them share."""

    def __init__(self, model):
        self.model = model
        self.modules = dict(model.named_modules())
        self.name = {id(module): name for name, module in self.modules.items()}
        self._paths = {}
        for name, module in model.named_modules(remove_duplicate=False):
            self._paths.setdefault(id(module), []).append(name)
        self._users, ranges = {}, {}
        for name, module in self.modules.items():
            for key, tensor in (*module._parameters.items(), *module._buffers.items()):
                if tensor is not None:
                    own = f"{name}.{key}".lstrip(".")
                    self._users.setdefault(id(tensor), []).append(own)
                    if (found := _range(tensor)) is not None:
                        ranges[id(tensor)] = (*found, id(tensor), own)
        self._overlapping = _overlapping(ranges.values())

    def parent(self, module):
        """The module that holds this one, and under which name; None for the model itself."""
        name = self.name[id(module)]
        if not name:
            return None, ""
        above, _, key = name.rpartition(".")
        return self.modules[above], key

    def ancestors(self, module):
        """The names of the modules above this one, the model's own "" first."""
        parts = self.name[id(module)].split(".")
        return [".".join(parts[:end]) for end in range(len(parts))]

    def shared(self, module):
        """Why parameters or the module itself belong to more than one place, or None."""
        paths = self._paths[id(module)]
        if len(paths) > 1:
            return f"the module is shared: it is also {paths[1] if self.name[id(module)] == paths[0] else paths[0]}"
        for key, tensor in (*module._parameters.items(), *module._buffers.items()):
            if tensor is None:
                continue
            if len(users := self._users[id(tensor)]) > 1:
                other = next(user for user in users if user != f"{paths[0]}.{key}")
                return f"its {key} is tied to {other}"
            if other := self._overlapping.get(id(tensor)):
                return f"its {key} shares memory with {other}"
        return None


def _range(tensor):
    """The device and the first and last address of a tensor's elements, or None where it has none of its own."""
    try:
        size = tensor.element_size()
        last = sum((count - 1) * stride for count, stride in zip(tensor.shape, tensor.stride(), strict=True))
        start = tensor.data_ptr()
    except Exception:  # noqa: BLE001 - subclasses and tensors without values raise what they like
        return None
    return (str(tensor.device), start, start + last * size) if start and tensor.numel() else None


def _overlapping(ranges):
    """By tensor the name of one that has memory in common with it."""
    found, reach = {}, None
    for one in sorted(ranges):
        if reach is not None and reach[0] == one[0] and one[1] <= reach[2]:
            found.setdefault(one[3], reach[4])
            found.setdefault(reach[3], one[4])
        if reach is None or (one[0], one[2]) > (reach[0], reach[2]):
            reach = one
    return found


def whole_model(model):
    """Why no step may touch this model, or None."""
    if hasattr(model, "_orig_mod"):
        return "it is compiled already; prepare the model first and compile it then"
    if isinstance(model, torch.jit.ScriptModule):
        return "it is a TorchScript module, whose code is fixed"
    for name, module in model.named_modules():
        if module.training:
            return f"{name or 'the model'} is in training mode; call model.eval() first"
    return None


def tensor_reason(key, tensor):
    """Why a parameter or buffer is none whose values may be replaced, or None."""
    if type(tensor) not in (nn.Parameter, torch.Tensor):
        return f"its {key} is a {type(tensor).__name__}, which may be sharded, quantised or not there yet"
    if type(tensor.data) is not torch.Tensor:
        return f"its {key} holds a {type(tensor.data).__name__}"
    if tensor.is_meta:
        return f"its {key} is on the meta device: it has no values yet, or they are offloaded"
    if tensor.layout != torch.strided:
        return f"its {key} is sparse"
    if tensor.is_inference():
        return f"its {key} was made under inference_mode, so that changes of it would pass unseen"
    if tensor.device.type == "cpu" and tensor.is_shared():
        return f"its {key} is in shared memory, which other processes may write"
    return None


def reason(names, module, kinds):
    """Why this module must stay as it is, or None. kinds: the classes that a step knows; a subclass may compute
    otherwise."""
    if type(module) not in kinds:
        if records(module):
            return "an earlier step has changed it"
        if "parametrizations" in module._modules:
            return "its parameters are parametrised"
        return f"{type(module).__qualname__} is a subclass, which may compute otherwise"
    if "forward" in module.__dict__ or "_hf_hook" in module.__dict__:
        return "its forward is replaced, as offloading does"
    if has_hooks(module):
        return "it has hooks, which would see other values"
    if module._compiled_call_impl is not None:
        return "it is compiled already"
    for name in names.ancestors(module):
        above = names.modules[name]
        if any(key in above._modules for key in ADAPTERS):
            return f"it is part of an adapter, {name or 'the model'}"
        if "_orig_mod" in above._modules or above._compiled_call_impl is not None:
            return f"it is part of a compiled module, {name or 'the model'}"
    if own := [key for key in ("weight", "bias") if key in module.__dict__]:
        return f"its {own[0]} is no parameter of its own, as where it is sharded"
    for key, tensor in (*module._parameters.items(), *module._buffers.items()):
        if tensor is not None and (why := tensor_reason(key, tensor)):
            return why
    return names.shared(module)
