"""Every argument of every public function, replaced by what it is not: the call computes, or raises
ParametersInvalid. Errors of a model's own modules, of memory and of calls that fit no signature stay."""

import inspect
import logging
import pickle

import mindiesd
import pytest
import torch
from mindiesd import _refusals, ext
from mindiesd.utils import ParametersInvalid
from torch import nn

numpy = pytest.importorskip("numpy", reason="numpy is not installed; ./dev test installs it")

X, VECTOR, TABLE = torch.randn(2, 6, 4, 8), torch.randn(8), torch.randn(6, 1, 8)
ROWS, PACKED = torch.randn(2, 6, 8), torch.randn(6, 4, 8)
CU = torch.tensor([0, 2, 6], dtype=torch.int32)
PAIRS = torch.complex(TABLE[..., :4], TABLE[..., 4:])


def still(module):
    return module.eval().requires_grad_(requires_grad=False)


NORM, RMS = still(nn.LayerNorm(8)), still(nn.RMSNorm(8))
MULTIHEAD = still(ext.MultiheadAttention(8, 2))

# Public name: calls that work. A class is called for an object; its `forward` stands below.
CALLS = {
    "mindiesd.RMSNorm": (mindiesd.RMSNorm, [8]),
    "mindiesd.attention_forward": (mindiesd.attention_forward, [X, X, X]),
    "mindiesd.attention_forward_varlen": (
        mindiesd.attention_forward_varlen, [PACKED, PACKED, PACKED, CU, CU],
    ),
    "mindiesd.fast_layernorm": (mindiesd.fast_layernorm, [NORM, ROWS]),
    "mindiesd.get_activation_layer": (mindiesd.get_activation_layer, ["silu"]),
    "mindiesd.layernorm_scale_shift": (mindiesd.layernorm_scale_shift, [NORM, ROWS, VECTOR, VECTOR]),
    "mindiesd.rotary_position_embedding": (
        mindiesd.rotary_position_embedding, [X, TABLE[:, 0], TABLE[:, 0]],
    ),
    "ext.FlashCrossAttention": (ext.FlashCrossAttention, []),
    "ext.FlashSelfAttention": (ext.FlashSelfAttention, []),
    "ext.TypedRMSNorm": (ext.TypedRMSNorm, [8]),
    "ext.add_rms_norm": (ext.add_rms_norm, [X, X, VECTOR]),
    "ext.attention_forward": (ext.attention_forward, [X, X, X]),
    "ext.attention_forward_varlen": (ext.attention_forward_varlen, [PACKED, PACKED, PACKED, CU, CU]),
    "ext.attention_varlen_with_lse": (ext.attention_varlen_with_lse, [PACKED, PACKED, PACKED, CU, CU]),
    "ext.attention_with_lse": (ext.attention_with_lse, [X, X, X]),
    "ext.gated": (ext.gated, [X, X, "silu"]),
    "ext.gelu": (ext.gelu, [X]),
    "ext.glu": (ext.glu, [X, "silu"]),
    "ext.group_norm": (ext.group_norm, [still(nn.GroupNorm(2, 6)), torch.randn(2, 6, 4, 4), "silu"]),
    "ext.Int8Linear": (ext.Int8Linear.of, [still(nn.Linear(8, 8))]),
    "ext.int8_linear": (ext.int8_linear, [ROWS, torch.ones(4, 8, dtype=torch.int8), torch.ones(4)]),
    "ext.joint_heads": (ext.joint_heads, [X, X, X, X, X, X]),
    "ext.layer_norm": (ext.layer_norm, [X, 8, VECTOR, VECTOR]),
    "ext.layernorm_scale_shift": (ext.layernorm_scale_shift, [NORM, ROWS, VECTOR, VECTOR]),
    "ext.linear_activation": (ext.linear_activation, [still(nn.Linear(8, 8)), ROWS, "gelu"]),
    "ext.multi_head_attention_forward": (
        ext.multi_head_attention_forward,
        [
            ROWS, ROWS, ROWS, 8, 2, MULTIHEAD.in_proj_weight, MULTIHEAD.in_proj_bias, None, None, False, 0.0,
            MULTIHEAD.out_proj.weight, MULTIHEAD.out_proj.bias, False, None, False,
        ],
    ),
    "ext.multihead_attention": (ext.multihead_attention, [MULTIHEAD, ROWS, ROWS, ROWS]),
    "ext.norm_cat": (ext.norm_cat, [(RMS, RMS), [X, X], 1]),
    "ext.norm_rotary": (ext.norm_rotary, [RMS, X, TABLE, TABLE]),
    "ext.norm_scale_shift": (ext.norm_scale_shift, [NORM, ROWS, VECTOR, VECTOR]),
    "ext.qk_norm_rotary": (ext.qk_norm_rotary, [X, X, VECTOR, VECTOR, TABLE, TABLE]),
    "ext.quantize_int8": (ext.quantize_int8, [torch.ones(4, 8)]),
    "ext.residual": (ext.residual, [ROWS, ROWS, VECTOR]),
    "ext.residual_norm": (ext.residual_norm, [NORM, ROWS, ROWS, VECTOR, VECTOR, VECTOR]),
    "ext.rms_norm": (ext.rms_norm, [X, VECTOR]),
    "ext.rotary_angles": (ext.rotary_angles, [torch.randn(2, 4, 6, 8), torch.randn(6, 8)]),
    "ext.rotary_complex": (ext.rotary_complex, [X, PAIRS]),
    "ext.rotary_grid": (ext.rotary_grid, [X, PAIRS[:, 0], torch.tensor([[1, 2, 3], [1, 2, 3]])]),
    "ext.rotary_matrix": (ext.rotary_matrix, [X, torch.randn(6, 1, 4, 2, 2)]),
    "ext.rotary_position_embedding": (ext.rotary_position_embedding, [X, TABLE, TABLE]),
    "ext.rotary_qk": (ext.rotary_qk, [X, X, TABLE, TABLE]),
    "ext.silu": (ext.silu, [X]),
    "ext.softmax": (ext.softmax, [X]),
    "ext.layer_norm_along": (ext.layer_norm_along, [X, -1]),
    "ext.upsample_nearest2x": (ext.upsample_nearest2x, [X]),
    "ext.weighted_sum": (ext.weighted_sum, [[X, X, X], [0.5, -2, 1.5]]),
}  # fmt: skip
# torch's own constructors, with torch's errors.
OF_TORCH = {"ext.GELU": ext.GELU(), "ext.RMSNorm": still(ext.RMSNorm(8)), "ext.SiLU": ext.SiLU()}
FORWARD = {
    "mindiesd.RMSNorm": (still(mindiesd.RMSNorm(8)), [ROWS]),
    **{f"get_activation_layer({name!r})": (mindiesd.get_activation_layer(name), [ROWS])
       for name in ("mish", "relu", "gelu-fast")},
    **{name: (module, [ROWS]) for name, module in OF_TORCH.items()},
    "ext.MultiheadAttention": (MULTIHEAD, [ROWS, ROWS, ROWS]),
    "ext.TypedRMSNorm": (still(ext.TypedRMSNorm(8)), [ROWS]),
    "ext.FlashSelfAttention": (ext.FlashSelfAttention().eval(), [torch.randn(2, 6, 3, 4, 8)]),
    "ext.FlashCrossAttention": (ext.FlashCrossAttention().eval(), [X, torch.randn(2, 6, 2, 4, 8)]),
}  # fmt: skip
CALLS |= {f"{name}.forward": (module.forward, given) for name, (module, given) in FORWARD.items()}

VALUES = {
    "numbers": [
        None, True, 0, 1, -1, 7, 2**80, 2.5, float("nan"), float("inf"), 1j, numpy.float32(2.0),
    ],
    "things": [
        "x", "", b"x", [], [1], [1, 2, 3], [None], (), (1,), ("a",), {}, set(), object(), len, int,
        torch.float32, torch.device("cpu"), (i for i in range(3)), range(3), slice(1),
        numpy.ones(3), numpy.ones((2, 6, 4, 8), dtype=numpy.float32),
    ],
    "modules": [nn.ReLU(), nn.LayerNorm(5), nn.LayerNorm, nn.Linear(3, 3)],
    "tensors": [
        torch.tensor(1.0), torch.tensor(3), torch.tensor(True), torch.ones(0), torch.ones(3),
        torch.ones(2, 6, 7), torch.ones(5, 6, 4, 9), torch.ones(0, 6, 4, 8), torch.ones(2, 6, 4, 0),
        torch.ones(1, 1, 1, 1, 1, 1, 1), torch.ones(8, dtype=torch.int32),
        torch.ones(8, dtype=torch.bool), torch.ones(8, dtype=torch.complex64),
        torch.ones(2, 6, 4, 8, dtype=torch.complex64), torch.ones(2, 6, 4, 8, dtype=torch.int64),
        torch.ones(2, 6, 4, 8, dtype=torch.float64), torch.ones(2, 6, 4, 8, dtype=torch.float8_e4m3fn),
        torch.ones(2, 6, 8, device="meta"), torch.ones(2, 6, 4, 8, device="meta"),
        torch.ones(2, 6, 4, 8).to_sparse(), torch.eye(8).to_sparse(),
    ],
}  # fmt: skip


@pytest.fixture(autouse=True)
def quiet():
    """Each refusal is logged where it is made."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


def test_every_public_name_is_called():
    public = {f"mindiesd.{name}" for name in mindiesd.__all__} | {f"ext.{n}" for n in ext.__all__}
    public.remove("mindiesd.disable")  # test_bisect.py: what it does holds for the process
    # They take whole models and functions: test_serving*.py and test_prepare*.py.
    public -= {f"mindiesd.{name}" for name in ("Instances", "graphed", "overlap", "prepare", "restore")}
    assert public - set(OF_TORCH) - {"ext.MultiheadAttention"} <= set(CALLS)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("values", VALUES)
@pytest.mark.parametrize("name", CALLS)
def test_computed_or_refused(name, values):
    function, given = CALLS[name]
    function(*given)
    kinds = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    parameters = [p for p in inspect.signature(function).parameters.values() if p.kind not in kinds]
    other, refused = [], 0
    for place, parameter in enumerate(parameters):
        for value in VALUES[values]:
            changed, keywords = list(given), {}
            if place < len(given):
                changed[place] = value
            else:
                keywords[parameter.name] = value
            try:
                function(*changed, **keywords)
            except ParametersInvalid as error:
                refused += 1
                assert len(str(error)) > len("[MIE06E000001] Parameters invalid. ")
            except Exception as error:  # noqa: BLE001 - that it is another one is what is looked for
                other.append(f"{parameter.name}={value!r}: {type(error).__name__}: {error}")
    assert not other, "\n".join(other)
    assert refused or not parameters


def test_what_torch_raises_is_still_its_kind():
    for kind, call in (
        (TypeError, lambda: ext.residual(ROWS, None)),
        (IndexError, lambda: ext.rotary_matrix(X, torch.tensor(1.0))),
        (NotImplementedError, lambda: ext.gelu(torch.tensor(3j))),
        (OverflowError, lambda: ext.residual(ROWS, 2**80)),
    ):
        with pytest.raises(kind) as caught:
            call()
        assert isinstance(caught.value, ParametersInvalid)
        assert isinstance(pickle.loads(pickle.dumps(caught.value)), kind)
        assert "given" in str(caught.value)


def test_calls_that_fit_no_signature():
    for call in (lambda: ext.gelu(), lambda: ext.gelu(X, nothing=1), lambda: ext.residual(X)):
        with pytest.raises(TypeError) as caught:
            call()
        assert not isinstance(caught.value, ParametersInvalid)


class Raises(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.kind = kind

    def forward(self, x):
        raise self.kind("the model's own")


@pytest.mark.parametrize("kind", [TypeError, ValueError, RuntimeError, KeyError, StopIteration])
def test_errors_of_the_models_own_modules(kind):
    hooked = still(nn.LayerNorm(8))
    hooked.register_forward_hook(lambda *_: Raises(kind)(None))
    for norm in (Raises(kind), hooked):
        for call in (
            lambda: ext.norm_scale_shift(norm, ROWS, VECTOR, VECTOR),  # noqa: B023
            lambda: mindiesd.fast_layernorm(norm, ROWS),  # noqa: B023
            lambda: ext.residual(ROWS, ROWS, branch_norm=norm),  # noqa: B023
        ):
            with pytest.raises(kind, match="the model's own") as caught:
                call()
            assert type(caught.value) is kind


@pytest.mark.parametrize(
    "error",
    [
        torch.OutOfMemoryError("CUDA out of memory"),
        MemoryError("no memory"),
        RuntimeError("CUDA error: an illegal memory access was encountered"),
        RuntimeError("CUDNN_STATUS_EXECUTION_FAILED"),
    ],
)
def test_errors_of_the_machine(error):
    own = {**vars(_refusals), "error": error}
    exec(compile("def fails(*_):\n    raise error\n", _refusals.__file__, "exec"), own)  # noqa: S102
    with pytest.raises(type(error)) as caught:
        _refusals.refusing(own["fails"])(X)
    assert caught.value is error
