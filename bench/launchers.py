"""The CUDA launchers of libmindiesd on torch tensors, without the interfaces above them.

Mirrors kernels/problem.h through the test library ``libmindiesd_launchers.so``. The benchmark of the
kernels uses it, and so do the tests in tests/kernels/gpu. Every function takes tensors of the shape
``[..., width]`` that broadcast against the first, and puts the work on torch's current stream.
"""

import ctypes
import os
from pathlib import Path

import torch

_RANK = 8
_TYPES = {torch.float32: 0, torch.float16: 1, torch.bfloat16: 2, torch.bool: 3, torch.float64: 6}
ACTIVATIONS = {"gelu": 0, "gelu-tanh": 1, "gelu-fast": 2, "silu": 3, "mish": 4, "relu": 5}
_UNSUPPORTED = 2  # LaunchStatus
SUBTRACT = {None: 0, "row": 1, "global": 2}

_i32, _i64, _f32, _bool, _pointer = (
    ctypes.c_int32, ctypes.c_int64, ctypes.c_float, ctypes.c_bool, ctypes.c_void_p,
)  # fmt: skip


def _struct(name, *fields):
    return type(name, (ctypes.Structure,), {"_fields_": list(fields)})


_Operand = _struct(
    "RowOperand", ("data", _pointer), ("type", _i32), ("strides", _i64 * _RANK), ("step", _i64)
)
_Space = _struct("RowSpace", ("rank", _i32), ("sizes", _i64 * _RANK))
_ROWS = (("rows", _Space), ("width", _i64))
_VECTORS = (
    ("weight", _pointer), ("weight_type", _i32), ("weight_step", _i64),
    ("bias", _pointer), ("bias_type", _i32), ("bias_step", _i64),
)  # fmt: skip
_FusedNorm = _struct(
    "FusedNorm", *_ROWS, ("kind", _i32), ("input", _Operand), ("output", _Operand),
    ("has_branch", _bool), ("has_gate", _bool), ("has_sum", _bool),
    ("branch", _Operand), ("gate", _Operand), ("sum", _Operand),
    ("has_scale", _bool), ("has_shift", _bool), ("scale", _Operand), ("shift", _Operand),
    *_VECTORS, ("eps", _f32), ("gate_tanh", _bool), ("branch_norm", _bool),
    ("branch_weight", _pointer), ("branch_weight_type", _i32), ("branch_weight_step", _i64),
    ("branch_eps", _f32),
)  # fmt: skip
_RmsNorm = _struct(
    "RmsNorm", *_ROWS, ("input", _Operand), ("output", _Operand), *_VECTORS,
    ("normalized", _i32), ("product", _i32), ("eps", _f32),
)  # fmt: skip
_Rotary = _struct(
    "Rotary", *_ROWS, ("input", _Operand), ("cos", _Operand), ("sin", _Operand),
    ("output", _Operand), ("interleaved", _bool), ("half_width_tables", _bool),
    ("has_matrix", _bool), ("matrix", _Operand), ("matrix_row", _i64), ("matrix_column", _i64),
)  # fmt: skip
_RotaryQk = _struct(
    "RotaryQk", ("count", _i32), ("operands", _Rotary * 2), ("norm", _i32),
    ("weight", _pointer * 2), ("weight_type", _i32 * 2), ("weight_step", _i64 * 2), ("eps", _f32),
)  # fmt: skip
_Stretch = _struct(
    "Stretch", ("rotary", _Rotary), ("rotates", _bool), ("norm", _i32), ("kind", _i32), *_VECTORS,
    ("eps", _f32),
)  # fmt: skip
_JointHeads = _struct("JointHeads", ("count", _i32), ("stretches", _Stretch * 6))
_Softmax = _struct(
    "Softmax", *_ROWS, ("input", _Operand), ("output", _Operand), ("scale", _f32),
    ("has_bias", _bool), ("bias", _Operand), ("has_mask", _bool), ("mask", _Operand),
    ("mask_value", _f32), ("subtract", _i32), ("has_clamp_min", _bool), ("has_clamp_max", _bool),
    ("clamp_min", _f32), ("clamp_max", _f32),
)  # fmt: skip
_Attention = _struct(
    "Attention", ("batch", _i64), ("query_heads", _i64), ("key_heads", _i64),
    ("query_length", _i64), ("key_length", _i64), ("head_dim", _i64), ("value_dim", _i64),
    ("type", _i32), ("query", _pointer), ("key", _pointer), ("value", _pointer),
    ("output", _pointer), ("query_strides", _i64 * 3), ("key_strides", _i64 * 3),
    ("value_strides", _i64 * 3), ("output_strides", _i64 * 3), ("lse", _pointer),
    ("lse_strides", _i64 * 3), ("mask", _pointer),
    ("mask_type", _i32), ("mask_strides", _i64 * 4), ("alibi_slopes", _pointer),
    ("alibi_strides", _i64 * 2), ("scale", _f32), ("softcap", _f32), ("causal", _i32),
    ("window_left", _i64), ("window_right", _i64),
)  # fmt: skip
_VarlenAttention = _struct(
    "VarlenAttention", ("problem", _Attention), ("sequences", _i64),
    ("cu_seqlens_query", _pointer), ("cu_seqlens_key", _pointer), ("cu_seqlens_type", _i32),
)  # fmt: skip
_Activate = _struct(
    "Activate", *_ROWS, ("input", _Operand), ("output", _Operand), ("has_gate", _bool),
    ("gate", _Operand), ("activation", _i32),
)  # fmt: skip
_GroupNorm = _struct(
    "GroupNorm", ("samples", _i64), ("groups", _i64), ("channels", _i64), ("positions", _i64),
    ("input", _pointer), ("output", _pointer), ("input_type", _i32), ("output_type", _i32),
    ("input_strides", _i64 * 3), ("output_strides", _i64 * 3), *_VECTORS, ("eps", _f32), ("silu", _bool),
)  # fmt: skip
MAX_TERMS = 8
_WeightedSum = _struct(
    "WeightedSum", ("count", _i64), ("term_count", _i32), ("type", _i32), ("terms", _pointer * MAX_TERMS),
    ("weights", _f32 * MAX_TERMS), ("scale", _f32), ("output", _pointer),
)  # fmt: skip
_Upsample = _struct(
    "Upsample", ("count", _i64), ("height", _i64), ("width", _i64), ("bytes", _i64), ("input", _pointer),
    ("output", _pointer),
)  # fmt: skip
_LinearActivation = _struct(
    "LinearActivation", ("rows", _i64), ("depth", _i64), ("width", _i64), ("type", _i32),
    ("input", _pointer), ("weight", _pointer), ("bias", _pointer), ("output", _pointer),
    ("input_stride", _i64), ("weight_stride", _i64), ("output_stride", _i64), ("activation", _i32),
)  # fmt: skip

_Int8Linear = _struct(
    "Int8Linear", ("rows", _i64), ("depth", _i64), ("width", _i64), ("type", _i32), ("input", _pointer),
    ("weight", _pointer), ("scales", _pointer), ("bias", _pointer), ("output", _pointer), ("input_stride", _i64),
    ("weight_stride", _i64), ("output_stride", _i64),
)  # fmt: skip


_PROBLEMS = (
    _FusedNorm, _RmsNorm, _RotaryQk, _Softmax, _Activate, _Attention, _VarlenAttention, _JointHeads,
    _GroupNorm, _WeightedSum, _Upsample, _LinearActivation, _Int8Linear,
)  # fmt: skip


def _load():
    root = Path(__file__).resolve().parents[1]
    name = "libmindiesd_launchers.so"
    # ./dev bench and ./dev test gpu build in different folders.
    built = [root / folder / "lib" / name for folder in ("build", "build-gpu")]
    path = os.environ.get("MINDIESD_LAUNCHERS") or next((p for p in built if p.is_file()), built[0])
    library = ctypes.CDLL(str(path))
    library.launch_error.restype = ctypes.c_char_p
    library.sizeof_problem.restype = ctypes.c_longlong
    for which, struct in enumerate(_PROBLEMS):
        expected, found = library.sizeof_problem(which), ctypes.sizeof(struct)
        if expected != found:
            raise ImportError(f"{struct.__name__} has {expected} bytes, its mirror here {found}")
    return library


_library = _load()


def _operand(tensor, shape):
    """A tensor that broadcasts to ``shape``, as rows along the last dimension."""
    if tensor is None:
        return _Operand()
    tensor = tensor.expand(shape)
    operand = _Operand(data=tensor.data_ptr(), type=_TYPES[tensor.dtype], step=tensor.stride(-1))
    operand.strides[: tensor.dim() - 1] = tensor.stride()[:-1]
    return operand


def _rows(shape):
    space = _Space(rank=len(shape) - 1)
    space.sizes[: len(shape) - 1] = tuple(shape)[:-1]
    return {"rows": space, "width": shape[-1]}


def _vector(name, tensor):
    if tensor is None:
        return {}
    return {
        name: tensor.data_ptr(),
        f"{name}_type": _TYPES[tensor.dtype],
        f"{name}_step": tensor.stride(0),
    }


class Unsupported(RuntimeError):
    """The kernel does not compute this problem."""


def _call(name, problem):
    stream = torch.cuda.current_stream().cuda_stream
    status = getattr(_library, f"launch_{name}")(ctypes.byref(problem), ctypes.c_void_p(stream))
    if status == _UNSUPPORTED:
        raise Unsupported(f"{name} does not compute this problem")
    if status != 0:
        raise RuntimeError(f"{name}: status {status}, {_library.launch_error().decode()}")


def fused_norm(
    x, output, *, kind="layer", branch=None, gate=None, sum=None, scale=None, shift=None,
    weight=None, bias=None, eps=1e-5, gate_tanh=False, branch_norm=False, branch_weight=None,
    branch_eps=1e-6,
):  # fmt: skip
    """Without an output (None) only the sum is computed."""
    shape = x.shape
    problem = _FusedNorm(
        **_rows(shape), kind=0 if kind == "layer" else 1, input=_operand(x, shape),
        output=_operand(output, shape), has_branch=branch is not None, has_gate=gate is not None,
        has_sum=sum is not None, branch=_operand(branch, shape), gate=_operand(gate, shape),
        sum=_operand(sum, shape), has_scale=scale is not None, has_shift=shift is not None,
        scale=_operand(scale, shape), shift=_operand(shift, shape), **_vector("weight", weight),
        **_vector("bias", bias), eps=eps, gate_tanh=gate_tanh, branch_norm=branch_norm,
        **_vector("branch_weight", branch_weight), branch_eps=branch_eps,
    )  # fmt: skip
    _call("fused_norm", problem)
    return output


def rms_norm(
    x, output, weight=None, *, bias=None, eps=1e-6, normalized=torch.float32,
    product=torch.float32,
):  # fmt: skip
    problem = _RmsNorm(
        **_rows(x.shape), input=_operand(x, x.shape), output=_operand(output, x.shape),
        **_vector("weight", weight), **_vector("bias", bias), normalized=_TYPES[normalized],
        product=_TYPES[product], eps=eps,
    )  # fmt: skip
    _call("rms_norm", problem)
    return output


def _rotation(x, output, cos, sin, interleaved):
    rotary = _Rotary(
        **_rows(x.shape), input=_operand(x, x.shape), output=_operand(output, x.shape),
        interleaved=interleaved, matrix_row=2, matrix_column=1,
    )  # fmt: skip
    lead = x.shape[:-1]
    half = x.shape[-1] // 2
    if sin is None and cos.is_complex():
        parts = torch.view_as_real(cos.expand(*lead, half))
        cos, sin = parts[..., 0], parts[..., 1]
        rotary.interleaved = True
    if sin is None:  # [..., width / 2, 2, 2]
        matrix = cos.expand(*lead, half, 2, 2)
        rotary.has_matrix = rotary.interleaved = True
        rotary.matrix = _Operand(
            data=matrix.data_ptr(), type=_TYPES[matrix.dtype], step=matrix.stride(-3)
        )
        rotary.matrix.strides[: len(lead)] = matrix.stride()[: len(lead)]
        rotary.matrix_row, rotary.matrix_column = matrix.stride()[-2:]
        return rotary
    rotary.half_width_tables = cos.shape[-1] == half
    table = (*lead, cos.shape[-1])
    rotary.cos, rotary.sin = _operand(cos, table), _operand(sin, table)
    return rotary


def rotary(
    inputs, outputs, cos, sin=None, *, interleaved=False, norm=None, weights=None, eps=1e-6
):
    """norm: None, "row" or "heads" (the last dimension before the width is the head)."""
    problem = _RotaryQk(
        count=len(inputs), norm={None: 0, "row": 1, "heads": 2}[norm], eps=eps
    )  # fmt: skip
    for i, (x, output) in enumerate(zip(inputs, outputs, strict=True)):
        problem.operands[i] = _rotation(x, output, cos, sin, interleaved)
        problem.weight_step[i] = 1
        weight = None if weights is None else weights[i]
        if weight is not None:
            problem.weight[i] = weight.data_ptr()
            problem.weight_type[i] = _TYPES[weight.dtype]
            problem.weight_step[i] = weight.stride(0)
    _call("rotary", problem)
    return outputs


def stretch(
    x, output, cos=None, sin=None, *, interleaved=False, norm=None, kind="rms", weight=None,
    bias=None, eps=1e-6,
):  # fmt: skip
    """One part of ``joint_heads``: copied, after a norm ("row" or "heads", the head being the last
    dimension before the width) of a kind ("rms" or "layer") and a rotation, where it has them."""
    if cos is None:
        rotary = _Rotary(
            **_rows(x.shape), input=_operand(x, x.shape), output=_operand(output, x.shape)
        )
    else:
        rotary = _rotation(x, output, cos, sin, interleaved)
    return _Stretch(
        rotary=rotary, rotates=cos is not None, norm={None: 0, "row": 1, "heads": 2}[norm],
        kind={"layer": 0, "rms": 1}[kind], **_vector("weight", weight), **_vector("bias", bias), eps=eps,
    )  # fmt: skip


def joint_heads(stretches):
    problem = _JointHeads(count=len(stretches))
    for i, one in enumerate(stretches):
        problem.stretches[i] = one
    _call("joint_heads", problem)


def softmax(
    x, output, *, scale=1.0, bias=None, mask=None, mask_value=float("-inf"), subtract=None,
    clamp_min=None, clamp_max=None,
):  # fmt: skip
    problem = _Softmax(
        **_rows(x.shape), input=_operand(x, x.shape), output=_operand(output, x.shape),
        scale=scale, has_bias=bias is not None, bias=_operand(bias, x.shape),
        has_mask=mask is not None, mask=_operand(mask, x.shape), mask_value=mask_value,
        subtract=SUBTRACT[subtract], has_clamp_min=clamp_min is not None,
        has_clamp_max=clamp_max is not None, clamp_min=clamp_min or 0.0, clamp_max=clamp_max or 0.0,
    )  # fmt: skip
    _call("softmax", problem)
    return output


def activation(x, output, kind, gate=None):
    """activation(x), or x * activation(gate)."""
    problem = _Activate(
        **_rows(x.shape), input=_operand(x, x.shape), output=_operand(output, x.shape),
        has_gate=gate is not None, gate=_operand(gate, x.shape), activation=ACTIVATIONS[kind],
    )  # fmt: skip
    _call("activation", problem)
    return output


def _positions(tensor):
    """Strides of [sample, channel, position]."""
    return tensor.flatten(2).stride() if tensor.dim() > 2 else (*tensor.stride(), 1)


def group_norm(x, output, groups, weight=None, bias=None, eps=1e-5, *, silu=False):
    """Of [N, C, ...], whose dimensions behind the channels merge where that is what ``flatten`` finds."""
    positions = x.shape[2:].numel()
    problem = _GroupNorm(
        samples=x.shape[0], groups=groups, channels=x.shape[1] // groups, positions=positions,
        input=x.data_ptr(), output=output.data_ptr(), input_type=_TYPES[x.dtype],
        output_type=_TYPES[output.dtype], **_vector("weight", weight), **_vector("bias", bias), eps=eps,
        silu=silu,
    )  # fmt: skip
    for name, tensor in (("input", x), ("output", output)):
        strides = _positions(tensor)
        if tensor.dim() > 2 and tensor.flatten(2).data_ptr() != tensor.data_ptr():
            raise Unsupported("group_norm computes positions with one stride")
        getattr(problem, f"{name}_strides")[:] = strides
    _call("group_norm", problem)
    return output


def upsample(x, output):
    """Of [N, C, H, W], both dense or both channels last."""
    samples, channels, height, width = x.shape
    planes = x.is_contiguous()
    problem = _Upsample(
        count=samples * (channels if planes else 1), height=height, width=width,
        bytes=x.element_size() * (1 if planes else channels), input=x.data_ptr(), output=output.data_ptr(),
    )  # fmt: skip
    _call("upsample", problem)
    return output


def weighted_sum(terms, weights, output, scale=1.0):
    """Of tensors that lie alike and without gaps."""
    problem = _WeightedSum(
        count=output.numel(), term_count=len(terms), type=_TYPES[output.dtype], scale=scale, output=output.data_ptr()
    )
    problem.terms[: len(terms)] = [x.data_ptr() for x in terms]
    problem.weights[: len(weights)] = weights
    _call("weighted_sum", problem)
    return output


def linear_activation(x, weight, bias, output, kind="gelu-tanh"):
    """Of matrices with dense rows."""
    problem = _LinearActivation(
        rows=x.shape[0], depth=x.shape[1], width=weight.shape[0], type=_TYPES[x.dtype], input=x.data_ptr(),
        weight=weight.data_ptr(), bias=bias.data_ptr(), output=output.data_ptr(), input_stride=x.stride(0),
        weight_stride=weight.stride(0), output_stride=output.stride(0), activation=ACTIVATIONS[kind],
    )  # fmt: skip
    _call("linear_activation", problem)
    return output


def int8_linear(x, weight, scales, output, bias=None):
    """Of matrices with dense rows; scales float32, bias of x's type."""
    problem = _Int8Linear(
        rows=x.shape[0], depth=x.shape[1], width=weight.shape[0], type=_TYPES[x.dtype], input=x.data_ptr(),
        weight=weight.data_ptr(), scales=scales.data_ptr(), bias=None if bias is None else bias.data_ptr(),
        output=output.data_ptr(), input_stride=x.stride(0), weight_stride=weight.stride(0),
        output_stride=output.stride(0),
    )  # fmt: skip
    _call("int8_linear", problem)
    return output


def _attention_problem(query, key, value, output, mask, slopes, options, lse=None):
    """Operands are [batch, heads, length, width], lse [batch, heads, length], mask broadcasts to the scores."""
    batch, heads, length, width = query.shape
    problem = _Attention(
        batch=batch, query_heads=heads, key_heads=key.shape[1], query_length=length,
        key_length=key.shape[2], head_dim=width, value_dim=value.shape[3],
        type=_TYPES[query.dtype], scale=width**-0.5, window_left=-1, window_right=-1,
    )  # fmt: skip
    for name, tensor in dict(query=query, key=key, value=value, output=output).items():
        setattr(problem, name, tensor.data_ptr())
        getattr(problem, f"{name}_strides")[:] = tensor.expand(batch, -1, -1, -1).stride()[:3]
    if mask is not None:
        mask = mask.expand(batch, heads, length, key.shape[2])
        problem.mask, problem.mask_type = mask.data_ptr(), _TYPES[mask.dtype]
        problem.mask_strides[:] = mask.stride()
    if slopes is not None:
        slopes = slopes.expand(-1 if slopes.dim() == 2 else batch, heads)
        problem.alibi_slopes = slopes.data_ptr()
        problem.alibi_strides[:] = slopes.stride()
    if lse is not None:
        problem.lse, problem.lse_strides[:] = lse.data_ptr(), lse.stride()
    for name, option in options.items():
        setattr(problem, name, option)
    return problem


def attention(backend, query, key, value, output, *, mask=None, slopes=None, lse=None, **options):
    """backend: "mma", "plain", "hopper" or "cudnn". options: scale, softcap, causal (0 no, 1 top-left, 2 bottom-right),
    window_left and window_right (negative: none)."""
    _call(
        f"attention_{backend}",
        _attention_problem(query, key, value, output, mask, slopes, options, lse),
    )
    return output


def attention_varlen(query, key, value, output, cu_query, cu_key, *, slopes=None, lse=None, **options):
    """Operands are [tokens, heads, width], lse [heads, tokens], cu_query and cu_key of one integer type."""
    packed = [t.transpose(0, 1)[None] for t in (query, key, value, output)]
    problem = _VarlenAttention(
        problem=_attention_problem(*packed, None, slopes, options, None if lse is None else lse[None]),
        sequences=len(cu_query) - 1,
        cu_seqlens_query=cu_query.data_ptr(), cu_seqlens_key=cu_key.data_ptr(),
        cu_seqlens_type={torch.int32: 4, torch.int64: 5}[cu_query.dtype],
    )  # fmt: skip
    _call("attention_varlen", problem)
    return output


def copy(source, target, nbytes):
    stream = torch.cuda.current_stream().cuda_stream
    status = _library.launch_copy(
        ctypes.c_void_p(source.data_ptr()), ctypes.c_void_p(target.data_ptr()),
        ctypes.c_longlong(nbytes), ctypes.c_void_p(stream),
    )  # fmt: skip
    if status != 0:
        raise RuntimeError(f"copy: status {status}, {_library.launch_error().decode()}")
