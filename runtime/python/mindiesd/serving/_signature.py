"""What a CUDA graph depends on besides the values of tensors: the arguments' structure, layouts and plain values, and
torch's settings. Entry points: ``Call``, ``Unfit``, ``settings`` and ``like``."""

import enum

import torch

from .. import _forms

# Values that cannot change, so that one that was seen once says all of later ones that are equal.
_PLAIN = (type(None), bool, int, str, bytes, torch.Size, torch.dtype, torch.device, torch.layout,
          torch.memory_format)  # fmt: skip


class Unfit(Exception):
    """Why a call is not made by a graph."""


def plain(value):
    """A value that a key can hold in place of a plain one; floats that differ in bits differ."""
    if isinstance(value, enum.Enum):
        return type(value), value.name
    if isinstance(value, float):
        return type(value), value.hex()
    if isinstance(value, complex):
        return type(value), value.real.hex(), value.imag.hex()
    if type(value) in _PLAIN:
        return type(value), value
    raise Unfit


def _dense(tensor):
    """The part of a tensor without repeated elements, as expand makes them, if that part has no other overlap."""
    for dim, (size, stride) in enumerate(zip(tensor.shape, tensor.stride(), strict=True)):
        if stride == 0 and size > 1:
            tensor = tensor.narrow(dim, 0, 1)
    end = 1
    for stride, size in sorted((st, sz) for st, sz in zip(tensor.stride(), tensor.shape, strict=True) if sz > 1):
        if stride < end:
            return None
        end = stride * size
    return tensor


def like(tensor):
    """A new tensor of the same sizes, strides, type and device; None where elements overlap in a way that ``expand``
    does not make."""
    dense = _dense(tensor)
    if dense is None:
        return None
    base = torch.empty_strided(dense.shape, dense.stride(), dtype=tensor.dtype, device=tensor.device)
    return base.expand(tensor.shape)


def copy(target, source):
    """Writes the values of ``source`` into ``target``, which has its layout."""
    _dense(target).copy_(_dense(source))


class Call:
    """The arguments of one call: ``tensors`` in the order of the walk, and ``key``, which is equal for calls that one
    graph can answer. Containers are tuples, lists and dictionaries; everything else must be a tensor on ``device`` or
    a plain value.

    Raises:
        Unfit: with the argument that a graph cannot take.
    """

    def __init__(self, args, kwargs, device):
        self.tensors, self._device, key = [], device, []
        self._spec = self._walk((args, kwargs), "argument", key)
        self.key = tuple(key)

    def _walk(self, value, place, key):
        """The structure of a value, with numbers in place of tensors; adds to the key."""
        if isinstance(value, torch.Tensor):
            key.append(self._layout(value, place))
            return _Slot(key[-1][1])
        if type(value) in (tuple, list):
            key.append((type(value), len(value)))
            return type(value)([self._walk(v, f"{place}[{i}]", key) for i, v in enumerate(value)])
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            key.append((type(value), len(value)))
            return type(value)(*[self._walk(v, f"{place}.{n}", key) for n, v in zip(value._fields, value)])
        if type(value) is dict:
            key.append((dict, len(value)))
            result = {}
            for name, v in value.items():
                try:
                    key.append(plain(name))
                except Unfit:
                    raise Unfit(f"{place} has a key of type {type(name).__name__}") from None
                result[name] = self._walk(v, f"{place}[{name!r}]", key)
            return result
        try:
            key.append(plain(value))
        except Unfit:
            raise Unfit(f"{place} is of type {type(value).__name__}, whose value may change") from None
        return value

    def _layout(self, tensor, place):
        if type(tensor) not in (torch.Tensor, torch.nn.Parameter):
            raise Unfit(f"{place} is a {type(tensor).__name__}, a class of tensors of its own")
        if tensor.layout is not torch.strided or tensor.is_nested:
            raise Unfit(f"{place} is sparse or nested")
        if tensor.device != self._device:
            raise Unfit(f"{place} is on {tensor.device}, not on {self._device}: a graph would keep its values")
        if tensor.is_conj() or tensor.is_neg() or tensor.is_quantized:
            raise Unfit(f"{place} is a lazy conjugate or negation, or quantised")
        if torch.is_grad_enabled() and tensor.requires_grad:
            raise Unfit(f"{place} requires grad while gradients are recorded")
        if _dense(tensor) is None:
            raise Unfit(f"{place} has elements that overlap")
        layout = (tensor.shape, tensor.stride(), tensor.dtype, tensor.device)
        for number, earlier in enumerate(self.tensors):
            if tensor.numel() == 0 or earlier.numel() == 0:
                continue
            if tensor.untyped_storage().data_ptr() != earlier.untyped_storage().data_ptr():
                continue
            same = (earlier.shape, earlier.stride(), earlier.dtype, earlier.device) == layout
            if same and earlier.data_ptr() == tensor.data_ptr():
                return ("same", number, *layout)
            if _overlap(earlier, tensor):
                raise Unfit(f"{place} overlaps another argument")
        self.tensors.append(tensor)
        return ("tensor", len(self.tensors) - 1, *layout, tensor.is_inference())

    def filled(self, tensors):
        """The arguments, with other tensors in place of those of the call."""
        return _fill(self._spec, tensors)


class _Slot:
    """The place of a tensor in the structure of a call."""

    def __init__(self, number):
        self.number = number


def _fill(spec, tensors):
    if isinstance(spec, _Slot):
        return tensors[spec.number]
    if isinstance(spec, tuple) and hasattr(spec, "_fields"):
        return type(spec)(*[_fill(s, tensors) for s in spec])
    if type(spec) in (tuple, list):
        return type(spec)([_fill(s, tensors) for s in spec])
    if type(spec) is dict:
        return {name: _fill(s, tensors) for name, s in spec.items()}
    return spec


def _overlap(one, two):
    """Whether the ranges of two tensors of one storage meet."""
    (a, b), (c, d) = (
        (t.data_ptr(), t.data_ptr() + t.element_size() * (1 + sum((n - 1) * s for n, s in zip(t.shape, t.stride()))))
        for t in (one, two)
    )
    return a < d and c < b


def settings(device_type):
    """Torch's settings that decide which kernels a call launches.

    Raises:
        Unfit: the call is watched or transformed, so that it must be seen as it is.
    """
    if torch.jit.is_tracing():
        raise Unfit("torch.jit traces the call")
    modes = torch._C._len_torch_function_stack() + torch._C._len_torch_dispatch_stack()
    if modes or torch._C._functorch.peek_interpreter_stack() is not None:
        raise Unfit("a dispatch mode, a function mode or a transform of torch.func is active")
    if torch.nn.modules.module._has_any_global_hook():
        raise Unfit("a hook of all modules is registered")
    cuda, cudnn = torch.backends.cuda, torch.backends.cudnn
    return (
        torch.is_grad_enabled(), torch.is_inference_mode_enabled(), torch.get_default_dtype(),
        torch.is_autocast_enabled(device_type), torch.get_autocast_dtype(device_type),
        torch.are_deterministic_algorithms_enabled(), torch.get_float32_matmul_precision(),
        cuda.matmul.allow_fp16_reduced_precision_reduction, cuda.matmul.allow_bf16_reduced_precision_reduction,
        cudnn.enabled, cudnn.benchmark, cudnn.deterministic, cudnn.allow_tf32, cuda.flash_sdp_enabled(),
        cuda.mem_efficient_sdp_enabled(), cuda.math_sdp_enabled(),
        getattr(cuda, "cudnn_sdp_enabled", lambda: None)(), _forms._disabled,
    )  # fmt: skip
