"""The expressions that calls replace, in torch's own operators, types and errors: for operands and numbers that no
kernel takes and model code seldom has, such as whole numbers, odd widths and tensors without dimensions."""

import math
import numbers

import torch
import torch.nn.functional as F


def is_usual(*operands):
    """Whether all are floating tensors with a dimension at least, which is what kernels are for."""
    return all(
        isinstance(t, torch.Tensor) and t.is_floating_point() and t.dim() > 0 for t in operands
    )


def is_factor(value):
    """Whether a product of it and a tensor means something: a tensor or a number."""
    return isinstance(value, (torch.Tensor, numbers.Number))


def _wide(x):
    return x if x.dtype == torch.float64 else x.float()


def _typed(result, x, result_type):
    return result.to(x.dtype) if result_type == "input" else result


def rotated(x, mode):
    """A pair (a, b) turns into (-b, a); an odd width is divided as each of the spellings of halves does."""
    if mode == "rotated_interleaved":
        return torch.stack((-x[..., 1::2], x[..., ::2]), dim=-1).flatten(-2)
    if mode == "rotated_chunks":
        first, second = x.chunk(2, dim=-1)
    else:
        first, second = x[..., : x.shape[-1] // 2], x[..., x.shape[-1] // 2 :]
    return torch.cat((-second, first), dim=-1)


def _by_pairs(x, cos, sin, mode):
    """With one value of cos and sin for each pair (a, b), which becomes (a cos - b sin, a sin + b cos)."""
    if mode == "rotated_interleaved":
        a, b = x[..., ::2], x[..., 1::2]
        return torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).flatten(-2)
    a, b = x.chunk(2, dim=-1)
    return torch.cat((a * cos - b * sin, b * cos + a * sin), dim=-1)


def rotation(x, cos, sin, mode, result_type, strides):
    """``x * cos + rotated(x) * sin``, or the same by pairs where both tables have half of x's columns."""
    wide = x if result_type == "promoted" else _wide(x)
    tables = [t for t in (cos, sin) if isinstance(t, torch.Tensor) and t.dim() > 0]
    if len(tables) == 2 and all(2 * t.shape[-1] == x.shape[-1] for t in tables):
        return _typed(_by_pairs(wide, cos, sin, mode), x, result_type)
    turned = rotated(wide, mode)
    if strides == "sin":
        return _typed(sin * turned + cos * wide, x, result_type)
    result = (cos * wide if strides == "cos" else wide * cos) + turned * sin
    return _typed(result.contiguous() if strides == "dense" else result, x, result_type)


def rotation_by_complex(x, freqs, result_type, strides, keep_shape):
    """Neighbours as complex numbers, times ``freqs``."""
    pairs = torch.view_as_complex(_wide(x).reshape(*x.shape[:-1], -1, 2).contiguous())
    result = torch.view_as_real(freqs * pairs if strides == "freqs_cis" else pairs * freqs)
    result = result.reshape(x.shape) if keep_shape else result.flatten(-2)
    return _typed(result, x, result_type)


def rotation_by_matrices(x, freqs, result_type, strides, keep_shape):
    """Neighbours as vectors, each multiplied by a 2×2 matrix."""
    wide = x if result_type == "promoted" else _wide(x)
    pairs = wide.reshape(*x.shape[:-1], -1, 1, 2)
    if strides == "x":
        result = pairs[..., 0] * freqs[..., 0] + pairs[..., 1] * freqs[..., 1]
    else:
        result = freqs[..., 0] * pairs[..., 0] + freqs[..., 1] * pairs[..., 1]
    result = result.reshape(x.shape) if keep_shape else result.flatten(-2)
    return _typed(result, x, result_type)


def rms_norm(x, weight, bias, eps, result_type, strides):
    """``x * rsqrt(mean(x²) + eps)``, rounded and multiplied as ``ext.rms_norm`` says of ``result_type``."""
    if result_type == "torch":
        return F.rms_norm(x, x.shape[-1:], weight, eps)
    wide = _wide(x)
    root = torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + eps)
    result = root * wide if strides == "root" else wide * root
    if result_type == "promoted" or result_type == "weight" and weight is None:
        result = result.to(x.dtype)
    elif result_type == "weight" and weight.dtype in (torch.float16, torch.bfloat16):
        result = result.to(weight.dtype)
    result = result if weight is None else result * weight
    result = result if bias is None else result + bias
    result = _typed(result, x, result_type)
    return result.contiguous() if strides == "dense" else result


def layer_norm_along(x, dim, weight, bias, eps, result_type):
    """``(x - mean) / sqrt(variance + eps) * weight + bias`` along ``dim``, cast as ``ext.layer_norm_along`` says of
    ``result_type``."""
    wide = x if result_type == "promoted" else x.float()
    centred = wide - torch.mean(wide, dim, keepdim=True)
    variance = torch.mean(torch.square(_wide(centred)), dim, keepdim=True).to(centred.dtype)
    result = centred / torch.sqrt(variance + eps)
    result = result.to(x.dtype) if result_type == "rounded" else result
    result = result if weight is None else result * weight
    result = result if bias is None else result + bias
    return _typed(result, x, result_type)


def attention(query, key, value, mask, scale, fill=float("-inf")):
    """A softmax between two products of matrices, of every rank that these take; ``fill`` is what scores become that
    a boolean mask hides."""
    scores = query @ key.transpose(-2, -1) * scale
    if mask is not None:
        boolean = mask.dtype == torch.bool
        scores = scores.masked_fill(~mask, fill) if boolean else scores + mask
    return scores.softmax(dim=-1) @ value


def _gelu_tanh(x):
    """Of complex numbers, which torch's function does not take, what its formula gives."""
    if not x.is_complex():
        return F.gelu(x, approximate="tanh")
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


_ACTIVATIONS = {
    "gelu": F.gelu,
    "gelu-tanh": _gelu_tanh,
    "gelu-fast": lambda x: x * torch.sigmoid(1.702 * x),
    "silu": F.silu,
}


def activation(x, name):
    """``name`` as in ``ext.glu``."""
    return _ACTIVATIONS[name](x)


def glu(x, name, gate, dim):
    """Of an odd size the first part is the larger, and the product is torch's to refuse."""
    first, second = x.chunk(2, dim=dim)
    return activation(first, name) * second if gate == "first" else first * activation(second, name)


def softmax(x, dim, scale, bias, subtract, clamp_min, clamp_max, mask, mask_value, dtype):
    """Softmax along ``dim`` after scale and bias, subtract, clamp, mask."""
    x = x if scale is None else x * scale
    x = x if bias is None else x + bias
    if subtract is not None:
        x = x - (x.amax(dim, keepdim=True) if subtract == "row" else x.max())
    if clamp_min is not None or clamp_max is not None:
        x = x.clamp(clamp_min, clamp_max)
    if mask is not None:
        x = x.masked_fill(~mask, mask_value) if mask.dtype == torch.bool else x + mask
    return torch.softmax(x, dim=dim, dtype=dtype)


def weighted_sum(terms, weights):
    """The sum from left to right; a term with a negative weight is subtracted, as it is written."""
    total = weights[0] * terms[0]
    for term, weight in zip(terms[1:], weights[1:]):
        if isinstance(weight, (int, float)) and weight < 0:
            total = total - -weight * term
        else:
            total = total + weight * term
    return total
