"""What stands around the norms of a transformer block: casts, modulation, gated residual sums.

Each function computes what the lines of torch code that it replaces compute, for every operand that those
accept: in one pass where the norm is a known one and the operands are floating tensors that leave the shape to
``x``, and by those lines otherwise. So a norm may be replaced, wrapped, hooked or configured away.
"""

import torch
from torch import nn
from torch.compiler import is_dynamo_compiling
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
# Types of norms' results that no ``rms_type`` names: what torch's own norm has, the operand's.
_BY_AUTOCAST, _AS_OPERAND = "by autocast", "as operand"
_ABSENT = Ellipsis  # which torch.compile can compare


def _expect_options(gate_function, rms_types, dtypes):
    if gate_function is not None:
        expect_choice("gate_function", gate_function, _GATE_FUNCTIONS)
    for name, value in rms_types.items():
        if value is not None:
            expect_choice(name, value, _RMS_TYPES)
    for name, value in dtypes.items():
        if value is not None and not (isinstance(value, torch.dtype) and value.is_floating_point):
            raise ParametersInvalid(f"{name} must be None or a floating torch.dtype, but is {value!r}.")


_norms_of_the_package = []


def know_norm(kind, rms_type):
    """Tells of a class of this package whose ``forward`` is an RMSNorm: ``rms_type`` is how its result is rounded,
    or None where the attribute ``result_type`` of each module says it. The classes' own modules, which import this
    one, call it."""
    _norms_of_the_package.append((kind, kind.forward, rms_type))


def _attribute(module, name, default):
    """``getattr(module, name, default)``, without the text that ``nn.Module`` makes for what it lacks."""
    if is_dynamo_compiling():
        return getattr(module, name, default)
    for attributes in (module._parameters, module.__dict__):
        if name in attributes:
            return attributes[name]
    kind = type(module)
    elsewhere = name in module._buffers or name in module._modules or hasattr(kind, name)
    if elsewhere or kind.__getattr__ is not nn.Module.__getattr__:
        return getattr(module, name, default)
    return default


def _norm_facts(norm, rms_type, x):
    """(weight, bias, eps, kind, rule) where calling the module is nothing but the norm over the last dimension;
    None where it is something else. The rule says what type the result has (``_norm_type``)."""
    if isinstance(norm, (LayerNorm, TorchRMSNorm)):
        if parts := module_norm(norm):
            return *parts, _BY_AUTOCAST
        parts = casting_norm(norm, x) if isinstance(norm, LayerNorm) else None
        return (*parts, _AS_OPERAND) if parts else None
    for own, forward, named in _norms_of_the_package:
        if isinstance(norm, own):
            if type(norm).forward is not forward:
                return None
            rms_type = named or norm.result_type
            break
    if rms_type is None or not isinstance(norm, nn.Module) or has_hooks(norm):
        return None
    if type(norm).__module__.startswith("torch.nn."):
        return None  # torch's norms of other kinds
    weight = _attribute(norm, "weight", _ABSENT)
    if weight is _ABSENT:
        return None  # without a weight, be it None, it may be a norm of another kind
    bias = _attribute(norm, "bias", None)
    eps = _attribute(norm, "variance_epsilon", _ABSENT)
    if eps is _ABSENT:
        eps = _attribute(norm, "eps", None)
    if eps is None or not all(t is None or isinstance(t, torch.Tensor) for t in (weight, bias)):
        return None
    return weight, bias, eps, _ops.RMS_NORM, rms_type


def _norm_type(rule, dtype, weight, bias, kind, x):
    """The type of the norm's result for an operand of ``dtype`` on x's device, by the rule of ``_norm_facts``."""
    if rule == _AS_OPERAND:
        return dtype
    if rule == _BY_AUTOCAST:
        return _torch_norm_type(x, weight, dtype, kind)
    types = (None if t is None else t.dtype for t in (weight, bias))
    return _norm_types(rule, dtype, *types)[0]


def _norm_parts(norm, dtype, rms_type, x):
    """What ``_norm_facts`` gives, with the type of the norm's result in the place of its rule."""
    facts = _norm_facts(norm, rms_type, x)
    if facts is None:
        return None
    weight, bias, eps, kind, rule = facts
    return weight, bias, eps, kind, _norm_type(rule, dtype, weight, bias, kind, x)


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


def _are_tensors(x, *others):
    """Whether x is a tensor, and each of the others one or absent."""
    if not isinstance(x, torch.Tensor):
        return False
    for value in others:
        if value is not None and not isinstance(value, torch.Tensor):
            return False
    return True


def _expect_norm_options(rms_type, input_dtype, dtype, strides):
    expect_choice("strides", strides, _STRIDES)
    _expect_options(None, {"rms_type": rms_type}, {"input_dtype": input_dtype, "dtype": dtype})


@eager
def _norm_scale_shift(
    x, scale, shift, weight, bias, eps, kind, rule, rms_type, input_dtype, dtype, strides
):  # fmt: skip
    """``norm_scale_shift`` with what ``_norm_facts`` gives; None where torch's operators have to compute."""
    input_dtype = _named(input_dtype)
    _expect_norm_options(rms_type, input_dtype, dtype, strides)
    if not (_is_row(x) and _repeats_over(scale, x) and _repeats_over(shift, x)):
        return None
    if not (_fits(weight, x) and _fits(bias, x)):
        return None
    own = _norm_type(rule, input_dtype or x.dtype, weight, bias, kind, x)
    result = _forms.norm_scale_shift(
        x, weight, bias, scale, shift, _eps(eps, x), kind, dtype or promoted(own, scale, shift), _ops.DENSE
    )
    return _lying_as(x, result, strides)


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
    facts = _norm_facts(norm, rms_type, x) if _are_tensors(x, scale, shift) else None
    if facts:
        result = _norm_scale_shift(x, scale, shift, *facts, rms_type, input_dtype, dtype, strides)
        if result is not None:
            return result
    expect_tensor("x", x)
    input_dtype = _named(input_dtype)
    _expect_norm_options(rms_type, input_dtype, dtype, strides)
    expect_callable("norm", norm)
    return _modulated(norm(_cast(x, input_dtype)), scale, shift, dtype)


def _branch_facts(norm, rms_type, branch):
    """(weight, eps, rule) of the branch's own RMSNorm, all None where it has none; None where the norm has to
    be called."""
    if norm is None:
        return None, None, None
    facts = _norm_facts(norm, rms_type, branch)
    if facts is None:
        return None
    weight, bias, eps, kind, rule = facts
    return (weight, eps, rule) if kind == _ops.RMS_NORM and bias is None else None


def _branch_norm(branch, weight, eps, rule):
    """(eps as a number, type of what is added), by what ``_branch_facts`` gives."""
    if rule is None:
        return None, branch.dtype
    return float(_eps(eps, branch)), _norm_type(rule, branch.dtype, weight, None, _ops.RMS_NORM, branch)


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


def _expect_sum_options(gate_function, branch_rms_type, dtype, strides):
    _expect_options(gate_function, {"branch_rms_type": branch_rms_type}, {"dtype": dtype})
    expect_choice("strides", strides, _SUM_STRIDES)


@eager
def _residual(
    x, branch, gate, branch_weight, branch_eps, branch_rule, gate_function, branch_rms_type, dtype, strides
):  # fmt: skip
    """``residual`` with what ``_branch_facts`` gives; None where torch's operators have to compute."""
    _expect_sum_options(gate_function, branch_rms_type, dtype, strides)
    if gate_function is None and branch_rule is None:
        branch, gate, strides = _in_order(branch, gate, x, strides)
    if not (_is_row(x) and _same_rows(branch, x) and _repeats_over(gate, x)):
        return None
    if not _fits(branch_weight, branch):
        return None
    eps, own = _branch_norm(branch, branch_weight, branch_eps, branch_rule)
    result = dtype or promoted(torch.promote_types(x.dtype, own), gate)
    total = _forms.residual(x, branch, gate, result, gate_function == "tanh", branch_weight, eps)
    return _lying_as_sum(total, x, branch, gate, strides)


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
    tensors = _are_tensors(x, branch, gate) and not (branch_norm is None and x.dim() and _lies_by_columns(x))
    facts = _branch_facts(branch_norm, branch_rms_type, branch) if tensors else None
    if facts:
        total = _residual(x, branch, gate, *facts, gate_function, branch_rms_type, dtype, strides)
        if total is not None:
            return total
    _expect_sum_options(gate_function, branch_rms_type, dtype, strides)
    if gate_function is None and branch_norm is None:
        branch, gate, strides = _in_order(branch, gate, x, strides)
    return _sum_of(x, branch, gate, gate_function, branch_norm, dtype, strides)


def _expect_both_options(gate_function, branch_rms_type, rms_type, input_dtype, sum_dtype, dtype, strides):
    expect_choice("strides", strides, _STRIDES)
    _expect_options(
        gate_function,
        {"rms_type": rms_type, "branch_rms_type": branch_rms_type},
        {"input_dtype": input_dtype, "sum_dtype": sum_dtype, "dtype": dtype},
    )


@eager
def _residual_norm(
    x, branch, gate, scale, shift, weight, bias, eps, kind, rule, branch_weight, branch_eps, branch_rule,
    gate_function, branch_rms_type, rms_type, input_dtype, sum_dtype, dtype, strides,
):  # fmt: skip
    """``residual_norm`` with what ``_norm_facts`` and ``_branch_facts`` give; None where torch's operators have
    to compute."""
    as_sum = isinstance(dtype, str) and dtype == "sum"
    input_dtype, dtype = _named(input_dtype), None if as_sum else _named(dtype)
    _expect_both_options(gate_function, branch_rms_type, rms_type, input_dtype, sum_dtype, dtype, strides)
    if gate_function is None and branch_rule is None:
        branch, gate, _ = _in_order(branch, gate, x)
    if not (_is_row(x) and _same_rows(branch, x)):
        return None
    if not (_repeats_over(gate, x) and _repeats_over(scale, x) and _repeats_over(shift, x)):
        return None
    if not (_fits(branch_weight, branch) and _fits(weight, x) and _fits(bias, x)):
        return None
    branch_eps, added = _branch_norm(branch, branch_weight, branch_eps, branch_rule)
    summed = sum_dtype or promoted(torch.promote_types(x.dtype, added), gate)
    own = _norm_type(rule, input_dtype or summed, weight, bias, kind, x)
    total, normal = _forms.residual_norm(
        x, branch, gate, weight, bias, scale, shift, _eps(eps, x), kind, summed,
        summed if as_sum else dtype or promoted(own, scale, shift),
        gate_function == "tanh", branch_weight, branch_eps,
    )  # fmt: skip
    return total, _lying_as(total, normal, strides)


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
    tensors = _are_tensors(x, branch, gate, scale, shift)
    added = _branch_facts(branch_norm, branch_rms_type, branch) if tensors else None
    facts = _norm_facts(norm, rms_type, x) if added else None
    if facts:
        results = _residual_norm(
            x, branch, gate, scale, shift, *facts, *added, gate_function, branch_rms_type, rms_type,
            input_dtype, sum_dtype, dtype, strides,
        )  # fmt: skip
        if results is not None:
            return results
    as_sum = isinstance(dtype, str) and dtype == "sum"
    input_dtype, dtype = _named(input_dtype), None if as_sum else _named(dtype)
    _expect_both_options(gate_function, branch_rms_type, rms_type, input_dtype, sum_dtype, dtype, strides)
    if gate_function is None and branch_norm is None:
        branch, gate, _ = _in_order(branch, gate, x)
    expect_callable("norm", norm)
    total = _sum_of(x, branch, gate, gate_function, branch_norm, sum_dtype)
    if not isinstance(total, torch.Tensor):
        return total, _modulated(norm(total), scale, shift, dtype)
    own = total.dtype if as_sum else dtype
    options = {"rms_type": rms_type, "input_dtype": input_dtype, "dtype": own, "strides": strides}
    return total, norm_scale_shift(norm, total, scale, shift, **options)
