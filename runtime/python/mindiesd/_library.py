"""Finds and loads libmindiesd, and calls its C interface through ctypes.

The library links neither torch nor Python, so one build serves every version of both. Entry points:
``library_path``, ``DTYPES``, and one ``Operation`` for each function of ``mindiesd_c.h``. Calls that
repeat go around this module (``_eager``), which only sees the first of each kind.
"""

import ctypes
import functools
import os
import threading
from pathlib import Path

import torch

from .utils import ModelExecError, ParametersInvalid

_ABI_VERSION = 5
_OK, _INVALID_ARGUMENT, _UNSUPPORTED, _OUT_OF_MEMORY = 0, 1, 2, 3
_NAME = "libmindiesd.so"

# mindiesd_dtype
DTYPES = {
    torch.float32: 0,
    torch.float16: 1,
    torch.bfloat16: 2,
    torch.bool: 3,
    torch.int32: 4,
    torch.int64: 5,
    torch.float64: 6,  # the tables of rotations alone
    torch.int8: 7,  # the weight of int8_linear alone
}
# mindiesd_device_type, which are DLPack's
DEVICE_TYPES = {"cpu": 1, "cuda": 2}

MAX_NDIM = 9


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("sizes", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("ndim", ctypes.c_int32),
        ("dtype", ctypes.c_int32),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
    ]


_TensorPointer = ctypes.POINTER(_Tensor)


def _candidates():
    """Where the library may lie, in order, each with what it is called in messages."""
    configured = os.environ.get("MINDIESD_LIBRARY")
    if configured:
        return [Path(configured)]
    package = Path(__file__).resolve().parent
    places = [package / "lib" / _NAME]
    # A checkout: <repository>/runtime/python/mindiesd beside <repository>/build.
    if len(package.parents) > 2 and (package.parents[1] / "include" / "mindiesd").is_dir():
        places.append(package.parents[2] / "build" / "lib" / _NAME)
    return places


def _load():
    candidates = _candidates()
    for path in candidates:
        if not path.is_file():
            continue
        try:
            library = ctypes.CDLL(str(path))
        except OSError as error:
            raise ImportError(f"mindiesd cannot load {path}: {error}") from error
        library.mindiesd_abi_version.restype = ctypes.c_int32
        found = library.mindiesd_abi_version()
        if found != _ABI_VERSION:
            raise ImportError(
                f"mindiesd needs {_NAME} with interface version {_ABI_VERSION}, but {path} has "
                f"version {found}; rebuild it or correct MINDIESD_LIBRARY"
            )
        return path, library
    looked = ", ".join(str(path) for path in candidates)
    raise ImportError(
        f"mindiesd found no {_NAME} (looked for {looked}); build it with './dev build', or set "
        "MINDIESD_LIBRARY to its path"
    )


library_path, _library = _load()


def bind(name, restype, *argtypes):
    function = getattr(_library, name)
    function.restype = restype
    function.argtypes = argtypes
    return function


def address(function):
    return ctypes.cast(function, ctypes.c_void_p).value


_last_error = bind("mindiesd_last_error", ctypes.c_char_p)
set_num_threads = bind("mindiesd_set_num_threads", None, ctypes.c_int32)
version = bind("mindiesd_version", ctypes.c_char_p)().decode()
cpu_isa = bind("mindiesd_cpu_isa", ctypes.c_char_p)().decode()
_has_device = bind("mindiesd_has_device", ctypes.c_int32, ctypes.c_int32)
DEVICES = frozenset(name for name, code in DEVICE_TYPES.items() if _has_device(code))
"""Types of device for which the library has kernels."""

_backend_name = bind(
    "mindiesd_attention_backend_name", ctypes.c_char_p, ctypes.c_int32, ctypes.c_int32
)


@functools.lru_cache
def attention_backends(device_type):
    """The names of the library's back ends for ``"cpu"`` or ``"cuda"``; number k is at k - 1."""
    names = []
    while (name := _backend_name(DEVICE_TYPES[device_type], len(names) + 1)) is not None:
        names.append(name.decode())
    return tuple(names)


@functools.lru_cache(maxsize=8192)
def _int64_array(values):
    return (ctypes.c_int64 * len(values))(*values)


def _view(tensor):
    if tensor is None:
        return None
    device = tensor.device
    return ctypes.pointer(
        _Tensor(
            tensor.data_ptr(),
            _int64_array(tuple(tensor.shape)),
            _int64_array(tensor.stride()),
            tensor.dim(),
            DTYPES[tensor.dtype],
            DEVICE_TYPES[device.type],
            device.index or 0,
        )
    )


class Recorder(threading.local):
    """What the calls of this thread hand to the library, while somebody listens (``_eager``)."""

    launches = None
    lasting = True  # False: the same call may be launched otherwise next time
    failure = None  # a copy of the error that an operator's implementation raised


recorder = Recorder()
_i32, _i64, _f64, _pointer = ctypes.c_int32, ctypes.c_int64, ctypes.c_double, ctypes.c_void_p


class Operation:
    """A function of the C interface that takes an argument struct.

    fields: "name:type name:type …" in the struct's order, without struct_size; types are t (tensor),
    f (double), q (int64), i (int32), s (the stream). outputs: the tensors that it writes.
    """

    _TYPES = {"t": _TensorPointer, "f": _f64, "q": _i64, "i": _i32, "s": _pointer}

    def __init__(self, name, outputs, fields):
        kinds = [field.split(":") for field in fields.split()]
        layout = [("struct_size", ctypes.c_size_t)] + [(n, self._TYPES[k]) for n, k in kinds]
        self.name = name
        self.args_type = type("_Args", (ctypes.Structure,), {"_fields_": layout})
        self.function = bind(name, ctypes.c_int, ctypes.POINTER(self.args_type))
        self.outputs = frozenset(outputs.split())
        self.tensors = tuple(n for n, kind in kinds if kind == "t")
        self.offsets = {n: getattr(self.args_type, n).offset for n, _ in kinds}

    def pack(self, tensors, scalars):
        views = {name: _view(tensor) for name, tensor in tensors.items()}
        return self.args_type(struct_size=ctypes.sizeof(self.args_type), **views, **scalars)

    def __call__(self, tensors, **scalars):
        """Computes; False where the library has no kernel for these operands.

        Raises ParametersInvalid, MemoryError or ModelExecError.
        """
        args = self.pack(tensors, scalars)
        first = tensors[self.tensors[0]]
        if first.is_cuda:
            args.stream = torch._C._cuda_getCurrentRawStream(first.device.index)
        else:
            # torch.set_num_threads governs our kernels too; calls that are repeated from C set it
            # as well, so what it was set to here says nothing.
            set_num_threads(torch.get_num_threads())
        status = self.function(ctypes.byref(args))
        if status == _OK:
            if recorder.launches is not None:
                recorder.launches.append((self, dict(tensors), bytes(args)))
            return True
        if status == _UNSUPPORTED:
            return False
        text = _last_error().decode()
        if status == _INVALID_ARGUMENT:
            raise ParametersInvalid(text + ".")
        if status == _OUT_OF_MEMORY:
            raise MemoryError(f"mindiesd: {text}")
        raise ModelExecError(text + ".")


attention = Operation(
    "mindiesd_attention", "output lse",
    "query:t key:t value:t output:t mask:t alibi_slopes:t scale:f softcap:f window_left:q "
    "window_right:q layout:i causal:i stream:s backend:i reserved:i lse:t",
)  # fmt: skip
attention_varlen = Operation(
    "mindiesd_attention_varlen", "output lse",
    "query:t key:t value:t output:t cu_seqlens_query:t cu_seqlens_key:t alibi_slopes:t scale:f "
    "softcap:f window_left:q window_right:q causal:i reserved:i stream:s lse:t",
)  # fmt: skip
rotary = Operation(
    "mindiesd_rotary", "output",
    "input:t cos:t sin:t output:t rotation:i reserved:i stream:s",
)  # fmt: skip
rotary_qk = Operation(
    "mindiesd_rotary_qk", "query_output key_output",
    "query:t key:t query_weight:t key_weight:t cos:t sin:t query_output:t key_output:t eps:f "
    "rotation:i norm:i head_dimension:i reserved:i stream:s",
)  # fmt: skip
joint_heads = Operation(
    "mindiesd_joint_heads", "query_output key_output value_output",
    "query:t key:t value:t other_query:t other_key:t other_value:t query_weight:t key_weight:t "
    "other_query_weight:t other_key_weight:t query_bias:t key_bias:t other_query_bias:t "
    "other_key_bias:t cos:t other_cos:t sin:t other_sin:t query_output:t key_output:t "
    "value_output:t query_eps:f key_eps:f other_query_eps:f other_key_eps:f query_norm:i key_norm:i "
    "other_query_norm:i other_key_norm:i kind:i rotation:i sequence_dimension:i head_dimension:i "
    "stream:s",
)  # fmt: skip
rotary_grid = Operation(
    "mindiesd_rotary_grid", "output",
    "input:t table:t grid_sizes:t output:t frame_pairs:q row_pairs:q stream:s",
)  # fmt: skip
rms_norm = Operation(
    "mindiesd_rms_norm", "output",
    "input:t weight:t bias:t output:t eps:f normalized_dtype:i product_dtype:i stream:s",
)  # fmt: skip
fused_norm = Operation(
    "mindiesd_fused_norm", "sum output",
    "input:t branch:t gate:t weight:t bias:t scale:t shift:t sum:t output:t eps:f kind:i "
    "reserved:i stream:s branch_weight:t branch_eps:f branch_norm:i gate_function:i",
)  # fmt: skip
softmax = Operation(
    "mindiesd_softmax", "output",
    "input:t mask:t output:t mask_value:f clamp_min:f clamp_max:f has_clamp_min:i has_clamp_max:i "
    "subtract:i dim:i stream:s scale:f bias:t",
)  # fmt: skip
activation = Operation(
    "mindiesd_activation", "output",
    "input:t gate:t output:t activation:i reserved:i stream:s",
)  # fmt: skip
group_norm = Operation(
    "mindiesd_group_norm", "output",
    "input:t weight:t bias:t output:t eps:f groups:q activation:i reserved:i stream:s",
)  # fmt: skip
weighted_sum = Operation(
    "mindiesd_weighted_sum", "output",
    "term0:t term1:t term2:t term3:t term4:t term5:t term6:t term7:t output:t weight0:f weight1:f weight2:f weight3:f "
    "weight4:f weight5:f weight6:f weight7:f scale:f stream:s",
)  # fmt: skip
upsample_nearest2x = Operation("mindiesd_upsample_nearest2x", "output", "input:t output:t stream:s")
linear_activation = Operation(
    "mindiesd_linear_activation", "output",
    "input:t weight:t bias:t output:t activation:i reserved:i stream:s",
)  # fmt: skip

int8_linear = Operation(
    "mindiesd_int8_linear", "output",
    "input:t weight:t scales:t bias:t output:t stream:s",
)  # fmt: skip

_attention_supported = bind(
    "mindiesd_attention_supported", ctypes.c_int32, ctypes.POINTER(attention.args_type)
)


def attention_supported(tensors, **scalars):
    """Whether back end number ``backend`` computes this problem."""
    return _attention_supported(ctypes.byref(attention.pack(tensors, scalars))) == 1
