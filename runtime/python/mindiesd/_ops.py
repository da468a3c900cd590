"""The torch operators ``mindiesd::*``: schemas, shape functions, and the choice of back end.

Arguments arrive checked and in one form (``ext`` and the published functions see to that); only what
the kernels themselves check is left to them.

Where the torch in use lets it, ``libmindiesd_python.so`` implements the operators and asks the functions
here for what it has not seen yet, through operators of the same names in ``mindiesd_python`` (``_eager``).
Elsewhere they are registered with ``Library.impl``, which costs a third of the host time of
``torch.library.custom_op``.
"""

import torch

from . import _attention_ops, _block_ops, _eager, _library, _math, _strides
from ._served import backend, rotation_backend

CAUSAL_NONE, CAUSAL_TOP_LEFT, CAUSAL_BOTTOM_RIGHT = 0, 1, 2
SUBTRACT_NONE, SUBTRACT_ROW, SUBTRACT_GLOBAL = 0, 1, 2
LAYER_NORM, RMS_NORM = 0, 1
QK_NORM_NONE, QK_NORM_HEAD, QK_NORM_ALL = 0, 1, 2
GELU, GELU_TANH, GELU_FAST, SILU, MISH, RELU = range(6)
# Which strides a result has (``_strides``): as if the operand stood first in an element-wise expression, then cosine,
# sine, the root of a norm, the modulation's scale or shift; or dense.
BY_OPERAND, DENSE, BY_COS, BY_SIN, BY_ROOT, BY_SCALE, BY_SHIFT, BY_SHIFT_AND_SCALE = range(8)


def _rotate(x, cos, sin, interleaved, output):
    if rotation_backend((cos, sin), x, output) == "kernels" and _library.rotary(
        dict(input=x, cos=cos, sin=sin, output=output), rotation=int(interleaved)
    ):
        return
    output.copy_(_math.rotary(x, cos, sin, interleaved, output.dtype))


def rotated_strides(x, cos, sin, strides):
    """Those of a rotation's result that is not dense; x has the result's shape."""
    if strides == BY_SIN:  # beside the pairs that were turned, which were joined
        return _strides.elementwise(x.shape, sin, _strides.dense(x.shape))
    if sin is None:
        return _strides.of_pairs(x, cos[..., 0], strides == BY_COS)
    wanted = _strides.elementwise(x.shape, *((cos, x) if strides == BY_COS else (x, cos)))
    # Complex numbers whose pairs are not the innermost are joined by a copy.
    apart = cos.shape[-1] != x.shape[-1] and wanted[-1] != 1
    return _strides.dense(x.shape) if apart else wanted


def _rotary_fake(x, cos, sin, interleaved, dtype, strides):
    if strides == BY_OPERAND and sin is not None and not _strides.repeats(x):
        return torch.empty_like(x, dtype=dtype)
    if strides == DENSE:
        return _norm_output(x, dtype, True)
    wanted = rotated_strides(x, cos, sin, strides)
    return x.new_empty_strided(x.shape, wanted, dtype=dtype)


def _rotary(x, cos, sin, interleaved, dtype, strides):
    output = _rotary_fake(x, cos, sin, interleaved, dtype, strides)
    _rotate(x, cos, sin, interleaved, output)
    return output


def _rotary_in_place(x, cos, sin, interleaved):
    _rotate(x, cos, sin, interleaved, x)


def _rotate_qk(
    query, key, query_weight, key_weight, cos, sin, interleaved, norm, head_dim, eps,
    query_output, key_output,
):  # fmt: skip
    tensors = dict(
        query=query, key=key, query_weight=query_weight, key_weight=key_weight,
        query_output=query_output, key_output=key_output,
    )  # fmt: skip
    narrow = rotation_backend((cos, sin), *tensors.values()) == "kernels"
    tensors.update(cos=cos, sin=sin)
    if narrow and _library.rotary_qk(
        tensors, eps=eps, rotation=int(interleaved), norm=norm, head_dimension=head_dim
    ):
        return
    for x, weight, output in (
        (query, query_weight, query_output),
        (key, key_weight, key_output),
    ):
        y = _math.qk_norm(x, weight, eps, norm, head_dim)
        output.copy_(_math.rotary(y, cos, sin, interleaved, output.dtype))


def _norm_rotary(
    x, weight, cos, sin, interleaved, across_heads, eps, dtype, strides
):
    output = _norm_rotary_fake(x, weight, cos, sin, interleaved, across_heads, eps, dtype, strides)
    span = QK_NORM_ALL if across_heads else QK_NORM_HEAD
    served = rotation_backend((cos, sin), x, weight, output) == "kernels"
    if not served or not _library.rotary_qk(
        dict(query=x, query_weight=weight, cos=cos, sin=sin, query_output=output),
        eps=eps, rotation=int(interleaved), norm=span, head_dimension=-2,
    ):  # fmt: skip
        y = _math.qk_norm(x, weight, eps, span, -2)
        output.copy_(_math.rotary(y, cos, sin, interleaved, dtype))
    return output


def _norm_rotary_fake(
    x, weight, cos, sin, interleaved, across_heads, eps, dtype, strides
):
    """The rotation lies as the norm before it."""
    if strides == DENSE or not _strides.repeats(x):
        return _norm_output(x, dtype, strides == DENSE)
    return x.new_empty_strided(x.shape, root_strides(x, strides), dtype=dtype)


def _rotary_qk(
    query, key, query_weight, key_weight, cos, sin, interleaved, norm, head_dim, eps, query_dtype,
    key_dtype,
):  # fmt: skip
    outputs = torch.empty_like(query, dtype=query_dtype), torch.empty_like(key, dtype=key_dtype)
    _rotate_qk(
        query, key, query_weight, key_weight, cos, sin, interleaved, norm, head_dim, eps, *outputs
    )
    return outputs


def _rotary_qk_fake(
    query, key, query_weight, key_weight, cos, sin, interleaved, norm, head_dim, eps, query_dtype,
    key_dtype,
):  # fmt: skip
    return torch.empty_like(query, dtype=query_dtype), torch.empty_like(key, dtype=key_dtype)


def _rotary_qk_in_place(
    query, key, query_weight, key_weight, cos, sin, interleaved, norm, head_dim, eps
):
    _rotate_qk(
        query, key, query_weight, key_weight, cos, sin, interleaved, norm, head_dim, eps, query, key
    )


def _nothing(*args):
    """The shape function of an operator that only writes."""


def _norm_output(x, dtype, contiguous):
    layout = torch.contiguous_format if contiguous else torch.preserve_format
    return torch.empty_like(x, dtype=dtype, memory_format=layout)


def root_strides(x, strides):
    """Those of an RMSNorm's result that is not dense: of x times the root of each row, or the other way round."""
    rows = _strides.rows(x.shape)
    return _strides.elementwise(x.shape, *((rows, x) if strides == BY_ROOT else (x, rows)))


def _rms_norm_fake(x, weight, bias, eps, dtype, normalized, product, strides):
    if strides == DENSE or (strides == BY_OPERAND and not _strides.repeats(x)):
        return _norm_output(x, dtype, strides == DENSE)
    return x.new_empty_strided(x.shape, root_strides(x, strides), dtype=dtype)


def _rms_norm(x, weight, bias, eps, dtype, normalized, product, strides):
    output = _rms_norm_fake(x, weight, bias, eps, dtype, normalized, product, strides)
    width = x.shape[-1:]
    whole = all(t is None or t.shape == width for t in (weight, bias))
    if (
        whole
        and backend(x, weight, bias, output) == "kernels"
        and _library.rms_norm(
            dict(input=x, weight=weight, bias=bias, output=output),
            eps=eps,
            normalized_dtype=_library.DTYPES[normalized],
            product_dtype=_library.DTYPES[product],
        )
    ):
        return output
    return output.copy_(_math.rms_norm(x, weight, bias, eps, dtype, normalized, product))


def _fused_norm(tensors, **options):
    """False where the library does not compute it."""
    return backend(*tensors.values()) == "kernels" and _library.fused_norm(tensors, **options)


def modulated_strides(x, scale, shift, strides):
    """Those of a modulated norm's result that is not dense, of which scale or shift, or each in its operation,
    stands first; or x of a norm alone."""
    if strides == BY_OPERAND:
        return root_strides(x, strides)
    found = _strides.dense(x.shape)
    if strides != BY_SHIFT:
        found = _strides.elementwise(x.shape, scale, found)
    return found if strides == BY_SCALE else _strides.elementwise(x.shape, shift, found)


def _norm_scale_shift_fake(x, weight, bias, scale, shift, eps, kind, dtype, strides):
    if strides == DENSE:
        return _norm_output(x, dtype, True)
    return x.new_empty_strided(x.shape, modulated_strides(x, scale, shift, strides), dtype=dtype)


def _norm_scale_shift(x, weight, bias, scale, shift, eps, kind, dtype, strides):
    output = _norm_scale_shift_fake(x, weight, bias, scale, shift, eps, kind, dtype, strides)
    tensors = dict(
        input=x, weight=weight, bias=bias, scale=scale, shift=shift, output=output
    )  # fmt: skip
    if not _fused_norm(tensors, eps=eps, kind=kind):
        output.copy_(_math.fused_norm(x, weight, bias, scale, shift, eps, kind))
    return output


def _branch(branch, gate, gate_tanh, branch_weight, branch_eps):
    """(the tensors, the options) of what is added."""
    tensors = dict(branch=branch, gate=gate, branch_weight=branch_weight)
    normed = branch_eps is not None
    return tensors, dict(
        branch_eps=branch_eps if normed else 0.0, branch_norm=int(normed),
        gate_function=int(gate_tanh),
    )  # fmt: skip


def _residual(x, branch, gate, dtype, gate_tanh, branch_weight, branch_eps):
    total = _norm_output(x, dtype, False)
    added, options = _branch(branch, gate, gate_tanh, branch_weight, branch_eps)
    if not _fused_norm(dict(input=x, **added, sum=total), **options):
        total.copy_(_math.residual(x, branch, gate, gate_tanh, branch_weight, branch_eps))
    return total


def _residual_fake(x, branch, gate, dtype, gate_tanh, branch_weight, branch_eps):
    return _norm_output(x, dtype, False)


def _residual_norm(
    x, branch, gate, weight, bias, scale, shift, eps, kind, sum_dtype, dtype, gate_tanh,
    branch_weight, branch_eps,
):  # fmt: skip
    total, output = _norm_output(x, sum_dtype, False), _norm_output(x, dtype, True)
    added, options = _branch(branch, gate, gate_tanh, branch_weight, branch_eps)
    tensors = dict(
        input=x, weight=weight, bias=bias, scale=scale, shift=shift, sum=total, output=output,
        **added,
    )  # fmt: skip
    if not _fused_norm(tensors, eps=eps, kind=kind, **options):
        exact = _math.residual(x, branch, gate, gate_tanh, branch_weight, branch_eps)
        total.copy_(exact)
        output.copy_(_math.fused_norm(exact, weight, bias, scale, shift, eps, kind))
    return total, output


def _residual_norm_fake(
    x, branch, gate, weight, bias, scale, shift, eps, kind, sum_dtype, dtype, gate_tanh,
    branch_weight, branch_eps,
):  # fmt: skip
    return _norm_output(x, sum_dtype, False), _norm_output(x, dtype, True)


def _softmax(
    x, dim, scale, bias, subtract, clamp_min, clamp_max, mask, mask_value, dtype
):
    output = torch.empty_like(x, dtype=dtype, memory_format=torch.contiguous_format)
    if (
        scale != 0.0  # which the C interface reads as 1
        and backend(x, bias, mask, output) == "kernels"
        and _library.softmax(
            dict(input=x, mask=mask, output=output, bias=bias),
            mask_value=mask_value,
            clamp_min=clamp_min or 0.0,
            clamp_max=clamp_max or 0.0,
            has_clamp_min=int(clamp_min is not None),
            has_clamp_max=int(clamp_max is not None),
            subtract=subtract,
            dim=dim,
            scale=scale,
        )
    ):
        return output
    return output.copy_(
        _math.softmax(
            x, dim, scale, bias, subtract, clamp_min, clamp_max, mask, mask_value, dtype
        )
    )


def _softmax_fake(
    x, dim, scale, bias, subtract, clamp_min, clamp_max, mask, mask_value, dtype
):
    return torch.empty_like(x, dtype=dtype, memory_format=torch.contiguous_format)


def _activation(x, gate, kind, dtype):
    output = torch.empty_like(x, dtype=dtype)
    if backend(x, gate, output) == "kernels" and _library.activation(
        dict(input=x, gate=gate, output=output), activation=kind
    ):
        return output
    return output.copy_(_math.activation(x, gate, kind))


def _activation_fake(x, gate, kind, dtype):
    return torch.empty_like(x, dtype=dtype)


def _activation_into(x, gate, kind, out):
    if backend(x, gate, out) != "kernels" or not _library.activation(
        dict(input=x, gate=gate, output=out), activation=kind
    ):
        out.copy_(_math.activation(x, gate, kind))


_QK = (
    "Tensor? query_weight, Tensor? key_weight, Tensor cos, Tensor? sin, bool interleaved, int norm, "
    "int head_dim, float eps"
)
_MODULATED = "Tensor? weight, Tensor? bias, Tensor? scale, Tensor? shift, float eps, int kind"

_BRANCH = "bool gate_tanh, Tensor? branch_weight, float? branch_eps"

_OPERATORS = (
    *_attention_ops.OPERATORS,
    (
        "rotary_position_embedding(Tensor x, Tensor cos, Tensor? sin, bool interleaved, "
        "ScalarType dtype, int strides) -> Tensor",
        _rotary,
        _rotary_fake,
    ),
    (
        "rotary_position_embedding_(Tensor(a!) x, Tensor cos, Tensor? sin, bool interleaved) -> ()",
        _rotary_in_place,
        _nothing,
    ),
    (
        f"rotary_qk(Tensor query, Tensor key, {_QK}, ScalarType query_dtype, ScalarType key_dtype) "
        "-> (Tensor, Tensor)",
        _rotary_qk,
        _rotary_qk_fake,
    ),
    (
        f"rotary_qk_(Tensor(a!) query, Tensor(b!) key, {_QK}) -> ()",
        _rotary_qk_in_place,
        _nothing,
    ),
    (
        "norm_rotary(Tensor x, Tensor? weight, Tensor cos, Tensor? sin, bool interleaved, "
        "bool across_heads, float eps, ScalarType dtype, int strides) -> Tensor",
        _norm_rotary,
        _norm_rotary_fake,
    ),
    (
        "rms_norm(Tensor x, Tensor? weight, Tensor? bias, float eps, ScalarType dtype, "
        "ScalarType normalized, ScalarType product, int strides) -> Tensor",
        _rms_norm,
        _rms_norm_fake,
    ),
    (
        f"norm_scale_shift(Tensor x, {_MODULATED}, ScalarType dtype, int strides) -> Tensor",
        _norm_scale_shift,
        _norm_scale_shift_fake,
    ),
    (
        f"residual(Tensor x, Tensor branch, Tensor? gate, ScalarType dtype, {_BRANCH}) -> Tensor",
        _residual,
        _residual_fake,
    ),
    (
        f"residual_norm(Tensor x, Tensor branch, Tensor? gate, {_MODULATED}, ScalarType sum_dtype, "
        f"ScalarType dtype, {_BRANCH}) -> (Tensor, Tensor)",
        _residual_norm,
        _residual_norm_fake,
    ),
    (
        "softmax(Tensor input, int dim, float scale, Tensor? bias, int subtract, float? clamp_min, "
        "float? clamp_max, Tensor? mask, float mask_value, ScalarType dtype) -> Tensor",
        _softmax,
        _softmax_fake,
    ),
    (
        "activation(Tensor input, Tensor? gate, int kind, ScalarType dtype) -> Tensor",
        _activation,
        _activation_fake,
    ),
    (
        "activation.out(Tensor input, Tensor? gate, int kind, Tensor(a!) out) -> ()",
        _activation_into,
        _nothing,
    ),
    *_block_ops.OPERATORS,
)

_KEY = "CompositeExplicitAutograd"
_registry = torch.library.Library("mindiesd", "DEF")
_names = tuple(schema.split("(")[0] for schema, _, _ in _OPERATORS)
for _name, (_schema, _, _fake) in zip(_names, _OPERATORS):
    _registry.define(_schema, tags=(torch.Tag.pt2_compliant_tag,))
    torch.library.register_fake(f"mindiesd::{_name}", _fake, lib=_registry)
_asked = torch.library.Library("mindiesd_python", "DEF")
REPEATED = _eager.implement(_names, "mindiesd_python")
"""Whether calls of the operators are repeated from C."""
if REPEATED:
    for _name, (_schema, _function, _) in zip(_names, _OPERATORS):
        # Those have no overloads: operators.cpp names them so.
        _plain_name = _name.replace(".", "_")
        _asked.define(_schema.replace(_name, _plain_name, 1))
        _asked.impl(_plain_name, _eager.observed(_function), _KEY)
else:
    for _name, (_, _function, _) in zip(_names, _OPERATORS):
        _registry.impl(_name, _function, _KEY)

attention_forward = torch.ops.mindiesd.attention_forward.default
attention_into = torch.ops.mindiesd.attention_forward.out
attention_forward_varlen = torch.ops.mindiesd.attention_forward_varlen.default
attention_with_lse = torch.ops.mindiesd.attention_with_lse.default
attention_varlen_with_lse = torch.ops.mindiesd.attention_varlen_with_lse.default
rotary_position_embedding = torch.ops.mindiesd.rotary_position_embedding.default
rotary_position_embedding_ = torch.ops.mindiesd.rotary_position_embedding_.default
rotary_qk = torch.ops.mindiesd.rotary_qk.default
rotary_qk_ = torch.ops.mindiesd.rotary_qk_.default
norm_rotary = torch.ops.mindiesd.norm_rotary.default
rms_norm = torch.ops.mindiesd.rms_norm.default
norm_scale_shift = torch.ops.mindiesd.norm_scale_shift.default
residual = torch.ops.mindiesd.residual.default
residual_norm = torch.ops.mindiesd.residual_norm.default
softmax = torch.ops.mindiesd.softmax.default
activation = torch.ops.mindiesd.activation.default
activation_into = torch.ops.mindiesd.activation.out
linear_activation = torch.ops.mindiesd.linear_activation.default
linear_activation_into = torch.ops.mindiesd.linear_activation.out
rotary_grid = torch.ops.mindiesd.rotary_grid.default
group_norm = torch.ops.mindiesd.group_norm.default
int8_linear = torch.ops.mindiesd.int8_linear.default
weighted_sum = torch.ops.mindiesd.weighted_sum.default
upsample_nearest2x = torch.ops.mindiesd.upsample_nearest2x.default
joint_heads = torch.ops.mindiesd.joint_heads.default
