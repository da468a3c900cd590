"""Finds and loads libmindiesd, and calls its C interface through ctypes.

The library links neither torch nor Python, so one build serves every version of both. Entry points:
``library_path``, ``DTYPES``, and one function for each operation, named as in ``mindiesd_c.h``.
"""

import ctypes
import functools
import os
from pathlib import Path

import torch

from .utils import ModelExecError, ParametersInvalid

_ABI_VERSION = 2
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
}
# mindiesd_device_type, which are DLPack's
_DEVICE_TYPES = {"cpu": 1, "cuda": 2}

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


def _struct(*fields):
    """An argument struct: struct_size first, as mindiesd_c.h has them all."""
    return type(
        "_Args", (ctypes.Structure,), {"_fields_": [("struct_size", ctypes.c_size_t), *fields]}
    )


def _tensors(*names):
    return [(name, _TensorPointer) for name in names]


_i32, _i64, _f64, _pointer = ctypes.c_int32, ctypes.c_int64, ctypes.c_double, ctypes.c_void_p

_AttentionArgs = _struct(
    *_tensors("query", "key", "value", "output", "mask", "alibi_slopes"),
    ("scale", _f64), ("softcap", _f64), ("window_left", _i64), ("window_right", _i64),
    ("layout", _i32), ("causal", _i32), ("stream", _pointer),
)  # fmt: skip
_AttentionVarlenArgs = _struct(
    *_tensors("query", "key", "value", "output", "cu_seqlens_query", "cu_seqlens_key"),
    *_tensors("alibi_slopes"),
    ("scale", _f64), ("softcap", _f64), ("window_left", _i64), ("window_right", _i64),
    ("causal", _i32), ("reserved", _i32), ("stream", _pointer),
)  # fmt: skip
_RotaryArgs = _struct(
    *_tensors("input", "cos", "sin", "output"),
    ("rotation", _i32), ("reserved", _i32), ("stream", _pointer),
)  # fmt: skip
_RmsNormArgs = _struct(
    *_tensors("input", "weight", "bias", "output"),
    ("eps", _f64), ("normalized_dtype", _i32), ("product_dtype", _i32), ("stream", _pointer),
)  # fmt: skip
_SoftmaxArgs = _struct(
    *_tensors("input", "mask", "output"),
    ("mask_value", _f64), ("clamp_min", _f64), ("clamp_max", _f64),
    ("has_clamp_min", _i32), ("has_clamp_max", _i32), ("subtract", _i32), ("dim", _i32),
    ("stream", _pointer),
)  # fmt: skip


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


def _bind(name, restype, *argtypes):
    function = getattr(_library, name)
    function.restype = restype
    function.argtypes = argtypes
    return function


_last_error = _bind("mindiesd_last_error", ctypes.c_char_p)
_set_num_threads = _bind("mindiesd_set_num_threads", None, ctypes.c_int32)
cpu_isa = _bind("mindiesd_cpu_isa", ctypes.c_char_p)().decode()
_functions = {
    args: _bind(name, ctypes.c_int, ctypes.POINTER(args))
    for name, args in (
        ("mindiesd_attention", _AttentionArgs),
        ("mindiesd_attention_varlen", _AttentionVarlenArgs),
        ("mindiesd_rotary", _RotaryArgs),
        ("mindiesd_rms_norm", _RmsNormArgs),
        ("mindiesd_softmax", _SoftmaxArgs),
    )
}
_has_device = _bind("mindiesd_has_device", ctypes.c_int32, ctypes.c_int32)
DEVICES = frozenset(name for name, code in _DEVICE_TYPES.items() if _has_device(code))
"""Types of device for which the library has kernels."""


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
            _DEVICE_TYPES[device.type],
            device.index or 0,
        )
    )


_threads = 0


def _call(args_type, *values):
    """Fills the struct in its order and calls; failures become exceptions."""
    global _threads
    threads = torch.get_num_threads()
    if threads != _threads:  # torch.set_num_threads governs our kernels too
        _set_num_threads(threads)
        _threads = threads
    args = args_type(ctypes.sizeof(args_type), *values)
    status = _functions[args_type](ctypes.byref(args))
    if status == _OK:
        return
    text = _last_error().decode()
    if status in (_INVALID_ARGUMENT, _UNSUPPORTED):
        raise ParametersInvalid(text + ".")
    if status == _OUT_OF_MEMORY:
        raise MemoryError(f"mindiesd: {text}")
    raise ModelExecError(text + ".")


def attention(
    query, key, value, output, mask, slopes, scale, softcap, left, right, head_first, causal
):
    _call(
        _AttentionArgs,
        _view(query), _view(key), _view(value), _view(output), _view(mask), _view(slopes),
        scale, softcap, left, right, int(head_first), causal, None,
    )  # fmt: skip


def attention_varlen(
    query, key, value, output, cu_query, cu_key, slopes, scale, softcap, left, right, causal
):
    _call(
        _AttentionVarlenArgs,
        _view(query), _view(key), _view(value), _view(output), _view(cu_query), _view(cu_key),
        _view(slopes), scale, softcap, left, right, causal, 0, None,
    )  # fmt: skip


def rotary(x, cos, sin, output, interleaved):
    _call(_RotaryArgs, _view(x), _view(cos), _view(sin), _view(output), int(interleaved), 0, None)


def rms_norm(x, weight, bias, output, eps, normalized, product):
    _call(
        _RmsNormArgs,
        _view(x), _view(weight), _view(bias), _view(output),
        eps, DTYPES[normalized], DTYPES[product], None,
    )  # fmt: skip


def softmax(x, mask, output, mask_value, clamp_min, clamp_max, subtract, dim):
    _call(
        _SoftmaxArgs,
        _view(x), _view(mask), _view(output),
        mask_value, clamp_min or 0.0, clamp_max or 0.0,
        int(clamp_min is not None), int(clamp_max is not None), subtract, dim, None,
    )  # fmt: skip
