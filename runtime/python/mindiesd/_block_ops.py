"""The torch operators that stand in transformer blocks beside those of ``_ops``, which registers them: schemas,
implementations and shape functions. Entry points: ``OPERATORS``, ``joint_parts``."""

import torch
import torch.nn.functional as F

from . import _library, _math
from ._attention_ops import dense_last
from ._served import backend, rotation_backend

_STREAMS = ("", "other_")
_NORMED = [f"{stream}{part}" for stream in _STREAMS for part in ("query", "key")]


def _joint_outputs(inputs, head_first, dtypes):
    """Dense, as torch.cat gives them."""
    sequence = 2 if head_first else 1
    outputs = []
    for x, other, dtype in zip(inputs[:3], inputs[3:], dtypes):
        shape = list(x.shape)
        shape[sequence] = shape[sequence] + other.shape[sequence]
        outputs.append(x.new_empty(shape, dtype=dtype))
    return tuple(outputs)


def joint_parts(arguments):
    """What ``joint_heads`` is called with, by kind."""
    inputs, weights, biases = arguments[:6], arguments[6:10], arguments[10:14]
    tables, eps, options = arguments[14:18], arguments[18:22], arguments[22:26]
    return inputs, weights, biases, tables, eps, options, arguments[26:]


def _joint_heads(*arguments):
    inputs, weights, biases, tables, eps, options, dtypes = joint_parts(arguments)
    across_heads, kind, interleaved, head_first = options
    outputs = _joint_outputs(inputs, head_first, dtypes)
    tensors = {
        f"{stream}{part}": x
        for (stream, part), x in zip(
            ((s, p) for s in _STREAMS for p in ("query", "key", "value")), inputs
        )
    }
    tensors.update(zip((f"{name}_weight" for name in _NORMED), weights))
    tensors.update(zip((f"{name}_bias" for name in _NORMED), biases))
    tensors.update(query_output=outputs[0], key_output=outputs[1], value_output=outputs[2])
    served = rotation_backend(tables, *tensors.values()) == "kernels"
    tensors.update(zip(("cos", "sin", "other_cos", "other_sin"), tables))
    span = 2 if across_heads else 1
    scalars = {f"{name}_eps": value or 0.0 for name, value in zip(_NORMED, eps)}
    scalars |= {f"{name}_norm": 0 if value is None else span for name, value in zip(_NORMED, eps)}
    if served and _library.joint_heads(
        tensors, **scalars, kind=kind, rotation=int(interleaved),
        sequence_dimension=-2 if head_first else -3, head_dimension=-3 if head_first else -2,
    ):  # fmt: skip
        return outputs
    exact = _math.joint_heads(inputs, weights, biases, tables, eps, *options, dtypes)
    for output, result in zip(outputs, exact):
        output.copy_(result)
    return outputs


def _joint_heads_fake(*arguments):
    inputs, *_, options, dtypes = joint_parts(arguments)
    return _joint_outputs(inputs, options[-1], dtypes)


_JOINT = ", ".join(
    (
        *(f"Tensor {stream}{part}" for stream in _STREAMS for part in ("query", "key", "value")),
        *(f"Tensor? {name}_weight" for name in _NORMED),
        *(f"Tensor? {name}_bias" for name in _NORMED),
        *(f"Tensor? {stream}{table}" for stream in _STREAMS for table in ("cos", "sin")),
        *(f"float? {name}_eps" for name in _NORMED),
        "bool across_heads, int kind, bool interleaved, bool head_first, ScalarType query_dtype",
        "ScalarType key_dtype, ScalarType value_dtype",
    )
)


def _grid_output(x, table, grid_sizes, frame_pairs, row_pairs):
    return x.new_empty(x.shape, dtype=torch.float32)


def _rotary_grid(x, table, grid_sizes, frame_pairs, row_pairs):
    output = _grid_output(x, table, grid_sizes, frame_pairs, row_pairs)
    # Their values are read by the host, from where they lie when the call is made.
    sizes = grid_sizes.to("cpu", torch.int64).contiguous()
    if rotation_backend((table,), x, output) == "kernels" and _library.rotary_grid(
        dict(input=dense_last(x), table=table, grid_sizes=sizes, output=output),
        frame_pairs=frame_pairs, row_pairs=row_pairs,
    ):  # fmt: skip
        return output
    return output.copy_(_math.rotary_grid(x, table, sizes, frame_pairs, row_pairs))


_LAST = {4: torch.channels_last, 5: torch.channels_last_3d}


def group_format(x, channels_last):
    """The memory format of a GroupNorm's result."""
    return _LAST[x.dim()] if channels_last else torch.contiguous_format


def _group_output(x, weight, bias, groups, eps, silu, dtype, channels_last):
    return torch.empty_like(x, dtype=dtype, memory_format=group_format(x, channels_last))


def group_operand(x, channels_last):
    """x as the kernels of a GPU read it: each sample dense, in the order that the result has. Torch copies what
    lies in another order, too."""
    if not x.is_cuda:
        return x
    if channels_last:
        step, vectors = x.stride(-1), x.stride(-1) * x.element_size() % 16 == 0
        if vectors and x.stride(1) == 1 and x.stride(-2) == step * x.shape[-1]:
            return x
        return x.contiguous(memory_format=_LAST[x.dim()])
    size = 1
    for d in range(x.dim() - 1, 0, -1):
        if x.shape[d] > 1 and x.stride(d) != size:
            return x.contiguous()
        size = size * x.shape[d]
    return x


_NO_ACTIVATION, _SILU = -1, 3


def _group_norm(x, weight, bias, groups, eps, silu, dtype, channels_last):
    output = _group_output(x, weight, bias, groups, eps, silu, dtype, channels_last)
    if backend(x, weight, bias, output) == "kernels" and _library.group_norm(
        dict(input=group_operand(x, channels_last), weight=weight, bias=bias, output=output),
        groups=groups, eps=eps, activation=_SILU if silu else _NO_ACTIVATION,
    ):  # fmt: skip
        return output
    return output.copy_(_math.group_norm(x, weight, bias, groups, eps, silu))


def _linear_output(x, weight, bias, kind):
    return x.new_empty((*x.shape[:-1], weight.shape[0]))


def _by_epilogue(x, weight, bias, kind, output):
    """False where a matrix product and a pass over its result compute it."""
    return (
        x.is_cuda
        and backend(x, weight, bias, output) == "kernels"
        and _library.linear_activation(
            dict(input=x, weight=weight, bias=bias, output=output), activation=kind
        )
    )


def _activate(product, kind, output):
    if backend(product, output) != "kernels" or not _library.activation(
        dict(input=product, output=output), activation=kind
    ):
        output.copy_(_math.activation(product, None, kind))
    return output


def _linear_activation(x, weight, bias, kind):
    if x.is_cuda:
        output = _linear_output(x, weight, bias, kind)
        if _by_epilogue(x, weight, bias, kind, output):
            return output
    product = F.linear(x, weight, bias)
    return _activate(product, kind, product)


def _linear_activation_into(x, weight, bias, kind, out):
    if out.dtype != x.dtype or not _by_epilogue(x, weight, bias, kind, out):
        _activate(F.linear(x, weight, bias), kind, out)


MOST_INT8_ROWS = 16
"""Rows of input that the kernels of int8 weights take."""


def _int8_output(x, weight, scales, bias):
    return x.new_empty((*x.shape[:-1], weight.shape[0]))


def _int8_linear(x, weight, scales, bias):
    few = x.shape[:-1].numel() <= MOST_INT8_ROWS
    if few and backend(x, scales, bias) == "kernels":
        output = _int8_output(x, weight, scales, bias)
        if _library.int8_linear(
            dict(input=x, weight=weight, scales=scales, bias=bias, output=output)
        ):
            return output
    return _math.int8_linear(x, weight, scales, bias)


MAX_TERMS = 8


def _sum_output(*arguments):
    return torch.empty_like(arguments[0])


def _weighted_sum(*arguments):
    """Of MAX_TERMS tensors, the last of them perhaps None, as many weights, and the scale."""
    terms = [x for x in arguments[:MAX_TERMS] if x is not None]
    weights, scale = arguments[MAX_TERMS:-1], arguments[-1]
    output = torch.empty_like(terms[0])
    tensors = {f"term{k}": x for k, x in enumerate(terms)}
    numbers = {f"weight{k}": weight for k, weight in enumerate(weights)}
    if backend(*terms, output) == "kernels" and _library.weighted_sum(
        dict(**tensors, output=output), **numbers, scale=scale
    ):
        return output
    return output.copy_(_math.weighted_sum(terms, weights, scale))


def _upsampled(x):
    """As torch's result lies, of planes of channels or channels last."""
    shape = (*x.shape[:2], 2 * x.shape[2], 2 * x.shape[3])
    layout = torch.contiguous_format if x.is_contiguous() else torch.channels_last
    return torch.empty(shape, dtype=x.dtype, device=x.device, memory_format=layout)


def _upsample_nearest2x(x):
    output = _upsampled(x)
    if backend(x, output) == "kernels" and _library.upsample_nearest2x(dict(input=x, output=output)):
        return output
    return output.copy_(_math.upsample_nearest2x(x))


def _into(*arguments):
    """The shape function of an operator that writes into an argument."""


_TERMS = ", ".join(f"Tensor{'?' * (k > 1)} term{k}" for k in range(MAX_TERMS))
_WEIGHTS = ", ".join(f"float weight{k}" for k in range(MAX_TERMS))
_LINEAR = "Tensor x, Tensor weight, Tensor? bias, int kind"

OPERATORS = (
    (f"joint_heads({_JOINT}) -> (Tensor, Tensor, Tensor)", _joint_heads, _joint_heads_fake),
    (
        "rotary_grid(Tensor x, Tensor table, Tensor grid_sizes, int frame_pairs, int row_pairs) -> Tensor",
        _rotary_grid,
        _grid_output,
    ),
    (
        "group_norm(Tensor x, Tensor? weight, Tensor? bias, int groups, float eps, bool silu, ScalarType dtype, "
        "bool channels_last) -> Tensor",
        _group_norm,
        _group_output,
    ),
    (f"weighted_sum({_TERMS}, {_WEIGHTS}, float scale) -> Tensor", _weighted_sum, _sum_output),
    ("upsample_nearest2x(Tensor x) -> Tensor", _upsample_nearest2x, _upsampled),
    ("int8_linear(Tensor x, Tensor weight, Tensor scales, Tensor? bias) -> Tensor", _int8_linear, _int8_output),
    (f"linear_activation({_LINEAR}) -> Tensor", _linear_activation, _linear_output),
    (f"linear_activation.out({_LINEAR}, Tensor(a!) out) -> ()", _linear_activation_into, _into),
)
