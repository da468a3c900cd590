"""What stands around the norms of a transformer block: casts, modulation, gated residual sums.

Each function computes what the lines of torch code that it replaces compute, for every operand that those
accept: in one pass where the norm is a known one and the operands are floating tensors that leave the shape to
``x``, and by those lines otherwise. So a norm may be replaced, wrapped, hooked or configured away.
"""

import torch
from torch import nn
from torch.nn.modules.normalization import LayerNorm
from torch.nn.modules.normalization import RMSNorm as TorchRMSNorm

from .. import _forms, _ops, _strides
from .._checks import expect_callable, expect_choice, expect_tensor, is_either, promoted
from .._eager import eager
from .._refusals import refusing
from ..utils import ParametersInvalid
from .norm import _eps, _norm_types, _torch_norm_type, casting_norm, has_hooks, module_norm

_RMS_TYPES = (None, "promoted", "input", "weight", "float32")
_GATE_FUNCTIONS = (None, "tanh")
_STRIDES = ("dense", "x")
_SUM_STRIDES = ("x", "branch", "gate")


def _expect_options(gate_function, rms_types, dtypes):
    if gate_function is not None:
        expect_choice("gate_function", gate_function, _GATE_FUNCTIONS)
    for name, value in rms_types.items():
        if value is not None:
            expect_choice(name, value, _RMS_TYPES)
    for name, value in dtypes.items():
        if value is not None and not (isinstance(value, torch.dtype) and value.is_floating_point):
            raise ParametersInvalid(f"{name} must be None or a floating torch.dtype, but is {value!r}.")


def _norm_parts(norm, dtype, rms_type, x):
    """(weight, bias, eps, kind, type of the norm's result for an operand of ``dtype``) where calling the
    module is nothing but the norm over the last dimension; None where it is something else."""
    if isinstance(norm, (LayerNorm, TorchRMSNorm)):
        if parts := module_norm(norm):
            return *parts, _torch_norm_type(x, parts[0], dtype, parts[3])
        parts = casting_norm(norm, x) if isinstance(norm, LayerNorm) else None
        return (*parts, dtype) if parts else None
    from ..layers import RMSNorm as PublishedRMSNorm
    from .modules import TypedRMSNorm

    if isinstance(norm, PublishedRMSNorm):
        if type(norm).forward is not PublishedRMSNorm.forward:
            return None
        rms_type = "promoted"
    elif isinstance(norm, TypedRMSNorm):
        if type(norm).forward is not TypedRMSNorm.forward:
            return None
        rms_type = norm.result_type
    if rms_type is None or not isinstance(norm, nn.Module) or has_hooks(norm) or not hasattr(norm, "weight"):
        return None  # without a weight, be it None, it may be a norm of another kind
    if type(norm).__module__.startswith("torch.nn."):
        return None  # torch's norms of other kinds
    weight, bias = getattr(norm, "weight", None), getattr(norm, "bias", None)
    eps = getattr(norm, "variance_epsilon", getattr(norm, "eps", None))
    if eps is None or not all(t is None or isinstance(t, torch.Tensor) for t in (weight, bias)):
        return None
    types = (None if t is None else t.dtype for t in (weight, bias))
    return weight, bias, eps, _ops.RMS_NORM, _norm_types(rms_type, dtype, *types)[0]


def _named(dtype):
    return torch.float32 if isinstance(dtype, str) and dtype == "float32" else dtype


def _is_row(x):
    return isinstance(x, torch.Tensor) and x.is_floating_point() and x.dim() > 0 and not x.is_nested


def _fits(vector, x):
    return vector is None or (
        vector.shape == x.shape[-1:] and vector.is_floating_point() and vector.device == x.device
    )


def _repeats_over(value, x):
    """Whether it is absent, or a tensor that leaves the result's shape to x and whose type counts in it."""
    if value is None:
        return True
    if not isinstance(value, torch.Tensor) or not value.is_floating_point():
        return False
    own, other = value.shape, x.shape
    before = len(other) - len(own)
    if not own or before < 0:
        return False
    for d, size in enumerate(own):
        if not is_either(size, 1, other[before + d]):
            return False
    return value.device == x.device


def _lies_by_columns(x):
    """Whether the numbers of a row lie apart on a GPU, as they do behind a convolution. Torch's operators go
    through such tensors in the order of their memory, and the kernel of ``residual`` in that of their rows."""
    return x.is_cuda and x.shape[-1] > 1 and x.stride(-1) != 1


def _same_rows(branch, x):
    return _is_row(branch) and branch.shape == x.shape and branch.device == x.device


def _cast(tensor, dtype):
    return tensor if dtype is None else tensor.to(dtype)


def _lying_as(x, result, strides):
    """The result, a contiguous tensor of x's shape, in the order that ``strides`` asks for."""
    if strides != "x" or x.is_contiguous():
        return result
    return _strides.moved(result, _strides.elementwise(x.shape, x, _strides.rows(x.shape)))


def _in_order(branch, gate, x, strides="x"):
    """(branch, gate, strides), the one of x's shape first: written as a product they may stand in either order."""
    tensors = isinstance(gate, torch.Tensor) and isinstance(x, torch.Tensor)
    if tensors and gate.shape == x.shape and not _same_rows(branch, x):
        return gate, branch, {"branch": "gate", "gate": "branch"}.get(strides, strides)
    return branch, gate, strides


def _lying_as_sum(result, x, branch, gate, strides):
    """The result in the order of ``branch * gate + x``, or ``gate * branch + x``, as ``strides`` asks for."""
    factors = [t for t in (branch, gate) if t is not None]
    if strides == "x" or all(t.is_contiguous() for t in (x, *factors)):
        return result
    product = _strides.elementwise(x.shape, *(factors if strides == "branch" else reversed(factors)))
    return _strides.moved(result, _strides.elementwise(x.shape, product, x))


def _modulated(normal, scale, shift, dtype):
    if scale is not None:
        normal = normal * (1 + scale)
    return _cast(normal if shift is None else normal + shift, dtype)


@eager
def _norm_scale_shift(x, weight, bias, scale, shift, eps, kind, dtype):
    return _forms.norm_scale_shift(
        x, weight, bias, scale, shift, _eps(eps, x), kind, dtype, _ops.DENSE
    )


@refusing
def norm_scale_shift(
    norm, x, scale=None, shift=None, *, rms_type=None, input_dtype=None, dtype=None, strides="dense"
):
    """``(norm(x.to(input_dtype)) * (1 + scale) + shift).to(dtype)`` in one pass: x is read as it is.

    Args:
        norm: the module. In one pass go ``torch.nn.LayerNorm``, also a subclass that merely casts,
            ``torch.nn.RMSNorm``, ``mindiesd.RMSNorm``, and with ``rms_type`` other RMSNorms. Any other
            module is called, as is one with hooks or a replaced ``forward``.
        x: [..., D].
        scale, shift: None, or what broadcasts against x as torch broadcasts it: per sample [B, 1, D], per
            token [B, S, D], a number.
        rms_type: how an RMSNorm of another class, with attributes ``weight``, ``bias`` and ``eps`` or
            ``variance_epsilon``, rounds: as ``result_type`` of ``rms_norm``. None: such a norm is called.
        input_dtype: the type to which x is cast for the norm, or the text ``"float32"``; None: it is not cast.
        dtype: the result's type; None: the type that the expression has.
        strides: ``"dense"``: the result is contiguous; ``"x"``: its dimensions lie in the order of x's, as behind a
            norm that is computed element by element.

    Returns:
        A tensor of the expression's shape. Nothing is rounded between the steps.

    Raises:
        ParametersInvalid: x is no tensor, the norm cannot be called, or an option has another value.
    """
    expect_tensor("x", x)
    expect_choice("strides", strides, _STRIDES)
    input_dtype = _named(input_dtype)
    _expect_options(None, {"rms_type": rms_type}, {"input_dtype": input_dtype, "dtype": dtype})
    if _is_row(x) and _repeats_over(scale, x) and _repeats_over(shift, x):
        parts = _norm_parts(norm, input_dtype or x.dtype, rms_type, x)
        if parts and _fits(parts[0], x) and _fits(parts[1], x):
            weight, bias, eps, kind, own = parts
            result = _norm_scale_shift(
                x, weight, bias, scale, shift, eps, kind, dtype or promoted(own, scale, shift)
            )
            return _lying_as(x, result, strides)
    expect_callable("norm", norm)
    return _modulated(norm(_cast(x, input_dtype)), scale, shift, dtype)


def _branch_parts(norm, rms_type, branch):
    """(weight, eps) of the branch's own RMSNorm, eps None where it has none; None where the norm has to
    be called."""
    if norm is None:
        return None, None
    parts = _norm_parts(norm, branch.dtype, rms_type, branch)
    if parts is None or parts[3] != _ops.RMS_NORM or parts[1] is not None:
        return None
    if not _fits(parts[0], branch):
        return None
    return parts[0], float(_eps(parts[2], branch))


def _sum_of(x, branch, gate, gate_function, branch_norm, dtype, strides="x"):
    """The sum by torch's operators, as the lines that are replaced compute it; wider where its type is
    chosen."""
    if branch_norm is not None:
        expect_callable("branch_norm", branch_norm)
        branch = branch_norm(branch)
    if gate is not None and gate_function == "tanh":
        gate = gate.tanh()
    if dtype is not None:
        x, branch, gate = (
            t.to(torch.promote_types(t.dtype, torch.float32))
            if isinstance(t, torch.Tensor) and t.is_floating_point() else t
            for t in (x, branch, gate)
        )  # fmt: skip
    if gate is None:
        return _cast(x + branch if strides == "x" else branch + x, dtype)
    if strides != "x":
        return _cast((branch * gate if strides == "branch" else gate * branch) + x, dtype)
    if _is_row(x) and _same_rows(branch, x) and branch.stride() == x.stride() and _repeats_over(gate, x):
        if x.dtype == branch.dtype == gate.dtype:
            return _cast(torch.addcmul(x, gate, branch), dtype)
    return _cast(x + gate * branch, dtype)


def _branch_type(branch, branch_norm, rms_type):
    """The type of what is added."""
    if branch_norm is None:
        return branch.dtype
    return _norm_parts(branch_norm, branch.dtype, rms_type, branch)[4]


@eager
def _residual(x, branch, gate, gate_tanh, branch_weight, branch_eps, dtype):
    return _forms.residual(x, branch, gate, dtype, gate_tanh, branch_weight, branch_eps)


@refusing
def residual(
    x, branch, gate=None, *, gate_function=None, branch_norm=None, branch_rms_type=None, dtype=None,
    strides="x",
):  # fmt: skip
    """``(x + gate * branch).to(dtype)`` in one pass, the end of a transformer block.

    Args:
        x, branch: [..., D].
        gate: None, or what broadcasts against x as torch broadcasts it. Without options for either, branch and
            gate may change places.
        gate_function: ``"tanh"``: tanh(gate) stands for the gate.
        branch_norm: a norm of the branch, branch_norm(branch) being what is added. In the same pass goes
            an RMSNorm over the last dimension without a bias.
        branch_rms_type: of that norm, as ``rms_type`` of ``norm_scale_shift``.
        dtype: the result's type; None: the type that the expression has.
        strides: what stands first in the sum: ``"x"``, or the product, and in it ``"branch"`` or ``"gate"``.

    Returns:
        A tensor of the expression's shape, in the stride order of what stands first.

    Raises:
        ParametersInvalid: a norm cannot be called, or an option has another value.
    """
    _expect_options(gate_function, {"branch_rms_type": branch_rms_type}, {"dtype": dtype})
    expect_choice("strides", strides, _SUM_STRIDES)
    if gate_function is None and branch_norm is None:
        branch, gate, strides = _in_order(branch, gate, x, strides)
    columns = branch_norm is None and _is_row(x) and _lies_by_columns(x)
    if not columns and _is_row(x) and _same_rows(branch, x) and _repeats_over(gate, x):
        parts = _branch_parts(branch_norm, branch_rms_type, branch)
        if parts:
            own = _branch_type(branch, branch_norm, branch_rms_type)
            result = dtype or promoted(torch.promote_types(x.dtype, own), gate)
            total = _residual(x, branch, gate, gate_function == "tanh", *parts, result)
            return _lying_as_sum(total, x, branch, gate, strides)
    return _sum_of(x, branch, gate, gate_function, branch_norm, dtype, strides)


@eager
def _residual_norm(
    x, branch, gate, weight, bias, scale, shift, eps, kind, sum_dtype, dtype, gate_tanh,
    branch_weight, branch_eps,
):  # fmt: skip
    return _forms.residual_norm(
        x, branch, gate, weight, bias, scale, shift, _eps(eps, x), kind, sum_dtype, dtype, gate_tanh,
        branch_weight, branch_eps,
    )  # fmt: skip


@refusing
def residual_norm(
    norm,
    x,
    branch,
    gate=None,
    scale=None,
    shift=None,
    *,
    gate_function=None,
    branch_norm=None,
    branch_rms_type=None,
    rms_type=None,
    input_dtype=None,
    sum_dtype=None,
    dtype=None,
    strides="dense",
):
    """What a transformer block does between two of its parts, in one pass:
    sum = (x + gate * branch).to(sum_dtype);
    normalised = (norm(sum.to(input_dtype)) * (1 + scale) + shift).to(dtype).

    Args:
        norm, rms_type, scale, shift: as in ``norm_scale_shift``.
        input_dtype, dtype: the same, or the text ``"float32"``; dtype may be ``"sum"``, the type of the sum.
        x, branch, gate, gate_function, branch_norm, branch_rms_type: as in ``residual``.
        sum_dtype: the sum's type; None: the type that its expression has.
        strides: how the second result lies, as in ``norm_scale_shift``.

    Returns:
        (sum, normalised), each of the shape and type of its expression; the sum in the stride order of x,
        the other contiguous or as the sum. The sum is not rounded before it is normalised.

    Raises:
        ParametersInvalid: a norm cannot be called, or an option has another value.
    """
    expect_choice("strides", strides, _STRIDES)
    as_sum = isinstance(dtype, str) and dtype == "sum"
    input_dtype, dtype = _named(input_dtype), None if as_sum else _named(dtype)
    _expect_options(
        gate_function,
        {"rms_type": rms_type, "branch_rms_type": branch_rms_type},
        {"input_dtype": input_dtype, "sum_dtype": sum_dtype, "dtype": dtype},
    )
    if gate_function is None and branch_norm is None:
        branch, gate, _ = _in_order(branch, gate, x)
    rows = _is_row(x) and _same_rows(branch, x)
    if rows and _repeats_over(gate, x) and _repeats_over(scale, x) and _repeats_over(shift, x):
        added = _branch_parts(branch_norm, branch_rms_type, branch)
        if added:
            own = _branch_type(branch, branch_norm, branch_rms_type)
            summed = sum_dtype or promoted(torch.promote_types(x.dtype, own), gate)
            parts = _norm_parts(norm, input_dtype or summed, rms_type, x)
            if parts and _fits(parts[0], x) and _fits(parts[1], x):
                weight, bias, eps, kind, own = parts
                total, normal = _residual_norm(
                    x, branch, gate, weight, bias, scale, shift, eps, kind, summed,
                    summed if as_sum else dtype or promoted(own, scale, shift), gate_function == "tanh", *added,
                )  # fmt: skip
                return total, _lying_as(total, normal, strides)
    expect_callable("norm", norm)
    total = _sum_of(x, branch, gate, gate_function, branch_norm, sum_dtype)
    if not isinstance(total, torch.Tensor):
        return total, _modulated(norm(total), scale, shift, dtype)
    own = total.dtype if as_sum else dtype
    options = {"rms_type": rms_type, "input_dtype": input_dtype, "dtype": own, "strides": strides}
    return total, norm_scale_shift(norm, total, scale, shift, **options)
