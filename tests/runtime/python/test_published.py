"""The published names: signatures, meanings, errors, and the published package's defects that ours must
not share."""

import inspect
import logging
import pickle

import formulas
import mindiesd
import pytest
import torch
import torch.nn.functional as F
from mindiesd import ext, utils
from mindiesd.utils import ParametersInvalid

SIGNATURES = {
    "attention_forward": "(query, key, value, attn_mask=None, scale=None, fused=True, "
    "head_first=False, **kwargs)",
    "attention_forward_varlen": "(q, k, v, cu_seqlens_q, cu_seqlens_k, max_seqlen_q=None, "
    "max_seqlen_k=None, dropout_p=0.0, softmax_scale=None, causal=False, window_size=None, "
    "softcap=None, alibi_slopes=None, deterministic=None, return_attn_probs=None, "
    "block_table=None)",
    "rotary_position_embedding": "(x, cos, sin, rotated_mode='rotated_half', head_first=False, "
    "fused=True)",
    "fast_layernorm": "(norm, x, impl_mode=0, fused=True)",
    "get_activation_layer": "(act_type)",
    "RMSNorm": "(hidden_size, eps=1e-06)",
}


@pytest.mark.parametrize("name", SIGNATURES)
def test_signatures(name):
    assert str(inspect.signature(getattr(mindiesd, name))) == SIGNATURES[name]


def test_names():
    for name in mindiesd.__all__:
        assert hasattr(mindiesd, name)
    parameters = list(inspect.signature(mindiesd.layernorm_scale_shift).parameters)
    assert parameters == ["layernorm", "x", "scale", "shift", "fused"]
    # What is not built is absent, so that importing it fails.
    for name in ("CacheConfig", "CacheAgent", "quantize", "TimestepManager", "sparse_attention"):
        assert not hasattr(mindiesd, name)


def test_exceptions(caplog):
    codes = {
        "ParametersInvalid": "[MIE06E000001] Parameters invalid. ",
        "ConfigError": "[MIE06E000002] ",
        "TorchError": "[MIE06E000003] ",
        "ModelInitError": "[MIE06E000004] ",
        "ModelExecError": "[MIE06E000005] ",
    }
    for name, prefix in codes.items():
        caplog.clear()
        with caplog.at_level(logging.ERROR, logger="mindiesd"):
            error = getattr(utils, name)("some text")
        assert isinstance(error, Exception)
        assert str(error).startswith(prefix) and str(error).endswith("some text")
        assert caplog.messages == [str(error)]
        again = pickle.loads(pickle.dumps(error))
        assert type(again) is type(error) and str(again) == str(error)


def bsnd(*sizes):
    return torch.randn(*sizes)


class TestAttention:
    def test_layouts(self):
        q, k, v = bsnd(2, 5, 4, 8), bsnd(2, 9, 4, 8), bsnd(2, 9, 4, 8)
        expected = formulas.attention(*(t.transpose(1, 2).double() for t in (q, k, v)))
        result = mindiesd.attention_forward(q, k, v)
        torch.testing.assert_close(result.transpose(1, 2).double(), expected, rtol=1e-5, atol=1e-6)
        heads_first = mindiesd.attention_forward(
            *(t.transpose(1, 2) for t in (q, k, v)), head_first=True, fused=False
        )
        assert torch.equal(heads_first.transpose(1, 2), result)

    @pytest.mark.parametrize("scale", [0.5, 2, torch.tensor(2.0)])
    def test_scale(self, scale):
        q = bsnd(1, 5, 2, 8)
        expected = F.scaled_dot_product_attention(
            *[q.transpose(1, 2)] * 3, scale=float(scale)
        ).transpose(1, 2)
        torch.testing.assert_close(mindiesd.attention_forward(q, q, q, scale=scale), expected)

    def test_keys_of_one_batch_or_head(self):
        q = bsnd(3, 5, 4, 8)
        for shape in [(1, 7, 4, 8), (3, 7, 1, 8), (1, 7, 1, 8), (3, 7, 2, 8)]:
            k = bsnd(*shape)
            result = mindiesd.attention_forward(q, k, k)
            wide = k.expand(3, -1, -1, -1).repeat_interleave(4 // shape[2], 2)
            torch.testing.assert_close(result, mindiesd.attention_forward(q, wide, wide))

    def test_choices_are_checked_and_change_nothing(self):
        q = bsnd(1, 5, 2, 8)
        expected = mindiesd.attention_forward(q, q, q)
        for mode in ("runtime", "static", "manual"):
            for op in ("fused_attn_score", "prompt_flash_attn", "ascend_laser_attention"):
                for layout in ("BNSD", "BSND", "BSH"):
                    result = mindiesd.attention_forward(
                        q, q, q, opt_mode=mode, op_type=op, layout=layout, unknown=1
                    )
                    assert torch.equal(result, expected)
        for name in ("opt_mode", "op_type", "layout"):
            with pytest.raises(ParametersInvalid, match=f"{name} must be one of"):
                mindiesd.attention_forward(q, q, q, **{name: "x"})

    @pytest.mark.parametrize("rank", [2, 3, 5])
    def test_rank(self, rank):
        good, bad = bsnd(1, 2, 3, 4), torch.randn([2] * rank)
        for operands in ((bad, good, good), (good, bad, good), (good, good, bad)):
            with pytest.raises(ParametersInvalid, match=f"4 dimensions, but has {rank}"):
                mindiesd.attention_forward(*operands)

    def test_other_bad_arguments(self):
        q = bsnd(1, 5, 2, 8)
        with pytest.raises(ParametersInvalid, match="query must be a torch.Tensor"):
            mindiesd.attention_forward(None, q, q)
        with pytest.raises(ParametersInvalid, match="scale must be a number"):
            mindiesd.attention_forward(q, q, q, scale="x")
        with pytest.raises(ParametersInvalid, match="head_first must be a bool"):
            mindiesd.attention_forward(q, q, q, head_first="yes")
        with pytest.raises(ParametersInvalid, match="fused must be a bool"):
            mindiesd.attention_forward(q, q, q, fused=None)

    # Defects of the published package.

    def test_one_shape_with_and_without_mask_scale_and_key_heads(self):
        """There the choice of operator is remembered by a key without mask, scale and key heads."""
        q, k = bsnd(2, 6, 4, 8), bsnd(2, 6, 2, 8)
        mask = torch.rand(2, 1, 6, 6) > 0.4
        for _ in range(2):
            for args, kwargs in (
                ((q, q, q), {}),
                ((q, q, q, mask), {}),
                ((q, q, q), {"scale": 0.1}),
                ((q, k, k), {}),
            ):
                result = mindiesd.attention_forward(*args, **kwargs).transpose(1, 2)
                named = {"mask": args[3]} if len(args) > 3 else {}
                wide = [t.transpose(1, 2).double() for t in args[:3]]
                torch.testing.assert_close(
                    result.double(),
                    formulas.attention(*wide, **named, **kwargs),
                    rtol=1e-5,
                    atol=1e-6,
                )

    @pytest.mark.parametrize("op", ["fused_attn_score", "ascend_laser_attention"])
    @pytest.mark.parametrize("fused", [True, False])
    def test_masks_count_on_every_path(self, op, fused):
        """There the laser path drops the mask and the unfused path breaks on four dimensions."""
        q = bsnd(1, 6, 2, 8)
        for mask in (torch.rand(6, 6) > 0.4, torch.rand(1, 2, 6, 6) > 0.4):
            result = mindiesd.attention_forward(
                q, q, q, mask, fused=fused, opt_mode="manual", op_type=op
            )
            wide = [q.transpose(1, 2).double()] * 3
            expected = formulas.attention(*wide, mask=mask)
            torch.testing.assert_close(
                result.transpose(1, 2).double(), expected, rtol=1e-5, atol=1e-6
            )

    def test_float_masks_are_added(self):
        """There a float mask is silently taken as a boolean one."""
        q, mask = bsnd(1, 6, 2, 8), torch.randn(6, 6)
        expected = F.scaled_dot_product_attention(*[q.transpose(1, 2)] * 3, mask)
        result = mindiesd.attention_forward(q, q, q, mask)
        torch.testing.assert_close(result.transpose(1, 2), expected)

    def test_plain_math_knows_the_layout(self):
        """There the math fallback forgets head_first."""
        q, k = bsnd(2, 6, 4, 8).double(), bsnd(2, 9, 4, 8).double()  # a type without kernels
        expected = formulas.attention(*(t.transpose(1, 2) for t in (q, k, k)))
        torch.testing.assert_close(
            mindiesd.attention_forward(q, k, k).transpose(1, 2), expected
        )
        heads_first = (t.transpose(1, 2) for t in (q, k, k))
        result = mindiesd.attention_forward(*heads_first, head_first=True)
        torch.testing.assert_close(result, expected)

    def test_types_are_kept(self):
        """There the laser path turns bfloat16 into float16."""
        q = (bsnd(1, 6, 2, 8) * 1000).bfloat16()
        v = torch.full_like(q, 1e6)
        result = mindiesd.attention_forward(
            q, q, v, opt_mode="manual", op_type="ascend_laser_attention"
        )
        assert result.dtype == torch.bfloat16 and torch.isfinite(result).all()


class TestVarlen:
    def test_causal_is_bottom_right(self):
        q, k = torch.randn(5, 2, 8), torch.randn(9, 2, 8)
        result = mindiesd.attention_forward_varlen(q, k, k, [0, 2, 5], [0, 4, 9], causal=True)
        for rows, columns in ((slice(0, 2), slice(0, 4)), (slice(2, 5), slice(4, 9))):
            part = [t.transpose(0, 1)[None].double() for t in (q[rows], k[columns], k[columns])]
            expected = formulas.attention(*part, causal="bottom_right")[0].transpose(0, 1)
            torch.testing.assert_close(result[rows].double(), expected, rtol=1e-5, atol=1e-6)

    @pytest.mark.parametrize(
        "reserved",
        [
            {"max_seqlen_q": 3},
            {"max_seqlen_k": 3},
            {"window_size": (1, 1)},
            {"softcap": 0.0},
            {"alibi_slopes": 1},
            {"deterministic": False},
            {"return_attn_probs": False},
            {"block_table": 0},
        ],
    )
    def test_reserved_arguments(self, reserved):
        q = torch.randn(5, 2, 8)
        (name, value), = reserved.items()
        with pytest.raises(ParametersInvalid) as caught:
            mindiesd.attention_forward_varlen(q, q, q, [0, 5], [0, 5], **reserved)
        text = f"Unsupported parameters in varlen attention: {name}={value}"
        assert text in str(caught.value)

    def test_dropout_and_rank(self):
        q = torch.randn(5, 2, 8)
        with pytest.raises(ParametersInvalid, match="dropout_p should be set to 0.0 during eval"):
            mindiesd.attention_forward_varlen(q, q, q, [0, 5], [0, 5], dropout_p=0.1)
        with pytest.raises(ParametersInvalid, match="Expected q to be 3D"):
            mindiesd.attention_forward_varlen(q[None], q, q, [0, 5], [0, 5])


class TestRotary:
    @pytest.mark.parametrize("mode", ["rotated_half", "rotated_interleaved"])
    @pytest.mark.parametrize(
        "shape, table, head_first",
        [
            ((2, 7, 3, 8), (7, 8), False),
            ((2, 3, 7, 8), (7, 8), True),
            ((2, 3, 7, 8), (1, 1, 7, 8), True),
            ((2, 7, 3, 8), (1, 7, 1, 8), False),
            ((7, 2, 3, 8), (7, 1, 1, 8), False),
            ((3, 3, 3, 8), (3, 8), False),
            ((3, 3, 3, 8), (3, 8), True),
        ],
    )
    def test_tables(self, mode, shape, table, head_first):
        x, cos, sin = torch.randn(shape), torch.randn(table), torch.randn(table)
        result = mindiesd.rotary_position_embedding(x, cos, sin, mode, head_first)
        if len(table) == 2 and not head_first:
            cos, sin = cos[:, None], sin[:, None]
        expected = formulas.rotary(x, cos, sin, mode == "rotated_interleaved")
        torch.testing.assert_close(result, expected)

    def test_result_has_the_type_of_x_and_half_tables_lose_nothing(self):
        x = torch.randn(2, 7, 3, 8)
        table = torch.randn(7, 8).bfloat16()
        result = mindiesd.rotary_position_embedding(x, table, table)
        assert result.dtype == torch.float32
        expected = formulas.rotary(x, table[:, None].float(), table[:, None].float(), False)
        torch.testing.assert_close(result, expected)

    def test_bad_arguments(self):
        x, table = torch.randn(2, 7, 3, 8), torch.randn(7, 8)
        for args, text in (
            (([1], table, table), "x must be a torch.Tensor"),
            ((x[0], table, table), "x must have 4 dimensions, but has 3"),
            ((x, table[None], table[None]), "both have 2 or both 4 dimensions"),
            ((x, table, table[None, None]), "both have 2 or both 4 dimensions"),
            ((x, table[:, :4], table[:, :4]), "8 columns"),
            ((x, table[:5], table[:5]), "do not broadcast"),
            ((x, table, table, "half"), "rotated_mode must be one of"),
            ((x, table, table, "rotated_half", 1), "head_first must be a bool"),
        ):
            with pytest.raises(ParametersInvalid, match=text):
                mindiesd.rotary_position_embedding(*args)


class TestRMSNorm:
    @pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
    def test_promotes(self, dtype):
        norm = mindiesd.RMSNorm(16, eps=1e-5)
        norm.weight.copy_(torch.randn(16))
        assert norm.variance_epsilon == 1e-5 and list(norm.state_dict()) == ["weight"]
        x = torch.randn(2, 3, 16).to(dtype)
        expected = norm.weight * formulas.rms(x.float(), 1e-5).to(dtype)
        assert expected.dtype == torch.float32
        torch.testing.assert_close(norm(x), expected, rtol=1e-2 if dtype != torch.float32 else 1e-5, atol=1e-6)
        assert torch.equal(norm(x, if_fused=False), norm(x))

    def test_may_be_a_base(self):
        class Own(mindiesd.RMSNorm):
            def __init__(self, dim, eps=1e-6, extra=3):
                super().__init__(dim, eps)
                self.extra = extra

        assert Own(8)(torch.randn(2, 8)).shape == (2, 8)
        assert "eps=1e-06" in repr(Own(8))

    @pytest.mark.parametrize("rank", [1, 9])
    def test_rank(self, rank):
        with pytest.raises(ParametersInvalid, match=f"2 to 8 dimensions, but has {rank}"):
            mindiesd.RMSNorm(2)(torch.ones([2] * rank))
        with pytest.raises(ParametersInvalid, match="must be a torch.Tensor"):
            mindiesd.RMSNorm(2)([1.0, 2.0])


class TestLayerNorm:
    def test_fast_layernorm(self):
        norm, x = torch.nn.LayerNorm(8), torch.randn(2, 5, 8)
        for mode in (0, 1):
            torch.testing.assert_close(mindiesd.fast_layernorm(norm, x, mode), norm(x))
        half = torch.nn.LayerNorm(8).half()
        torch.testing.assert_close(mindiesd.fast_layernorm(half, x.half(), 2), half(x.half()))
        for args, text in (
            ((max, x), "norm must be a torch.nn.LayerNorm, but is builtin_function_or_method"),
            ((norm, None), "x must be a torch.Tensor"),
            ((norm, x, 3), "impl_mode must be one of"),
            ((norm, x, 2), "impl_mode 2 needs float16 throughout, but x is torch.float32"),
        ):
            with pytest.raises(ParametersInvalid, match=text):
                mindiesd.fast_layernorm(*args)

    @pytest.mark.parametrize(
        "scale, shift",
        [
            ((2, 8), (2, 8)),
            ((2, 1, 8), (2, 5, 8)),
            ((2, 5, 8), (2, 8)),
            ((8,), (1, 8)),
            ((5, 1), (1, 1, 1)),
            ((2, 8), None),
        ],
    )
    def test_scale_shift(self, scale, shift):
        norm, x = torch.nn.LayerNorm(8, elementwise_affine=False), torch.randn(2, 5, 8)
        by, plus = torch.randn(scale), None if shift is None else torch.randn(shift)
        result = mindiesd.layernorm_scale_shift(norm, x, by, plus)

        def rows(t):
            return t[:, None] if t.dim() == 2 and t.shape[0] in (1, 2) else t

        expected = norm(x) * (1 + rows(by)) + (0 if plus is None else rows(plus))
        torch.testing.assert_close(result, expected)

    def test_scale_shift_keeps_hooks_and_types(self):
        """There the compile pass builds a new LayerNorm at run time."""
        norm, x = torch.nn.LayerNorm(8).bfloat16(), torch.randn(2, 5, 8).bfloat16()
        seen = []
        norm.register_forward_hook(lambda *args: seen.append(1))
        result = mindiesd.layernorm_scale_shift(norm, x, torch.randn(2, 8), torch.randn(2, 8))
        assert seen == [1] and result.dtype == torch.float32
        norm.forward = lambda x: torch.zeros_like(x)
        shift = torch.randn(2, 8)
        result = mindiesd.layernorm_scale_shift(norm, x, torch.randn(2, 8), shift)
        torch.testing.assert_close(result, shift[:, None].expand(2, 5, 8))
        for args, text in (
            ((None, x, x, x), "layernorm must be a torch.nn.LayerNorm"),
            ((norm, x, 1.0, x), "scale must be a torch.Tensor"),
            ((norm, x, torch.randn(3, 8), x), "scale must have shape"),
            ((norm, x, x, torch.randn(2, 4, 8)), "shift must have shape"),
        ):
            with pytest.raises(ParametersInvalid, match=text):
                mindiesd.layernorm_scale_shift(*args)


ACTIVATIONS = {
    "swish": F.silu,
    "silu": F.silu,
    "mish": F.mish,
    "gelu": F.gelu,
    "relu": F.relu,
    "gelu-tanh": lambda x: F.gelu(x, approximate="tanh"),
    "gelu-fast": lambda x: x * torch.sigmoid(1.702 * x),
}


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations(name):
    x = torch.randn(3, 8)
    for spelling in (name, name.upper(), name.title()):
        layer = mindiesd.get_activation_layer(spelling)
        assert isinstance(layer, torch.nn.Module)
        torch.testing.assert_close(layer(x), ACTIVATIONS[name](x))


class Offloaded(torch.nn.Module):
    """What memory managers put in a layer's place: it holds the layer and brings its weights."""

    def __init__(self, module):
        super().__init__()
        self.module = module

    def forward(self, x):
        return self.module(x)


def test_a_wrapped_layer_norm_is_called():
    x, scale, shift = torch.randn(2, 5, 8), torch.randn(2, 8), torch.randn(2, 8)
    norm = torch.nn.LayerNorm(8).requires_grad_(requires_grad=False)
    wrapped = Offloaded(norm)
    torch.testing.assert_close(mindiesd.fast_layernorm(wrapped, x), norm(x))
    expected = norm(x) * (1 + scale[:, None]) + shift[:, None]
    for function in (mindiesd.layernorm_scale_shift, ext.layernorm_scale_shift):
        result = function(wrapped, x, scale[:, None], shift[:, None])
        torch.testing.assert_close(result, expected)


class Swapped(torch.nn.Module):
    def forward(self, x):
        return x.double().sum(-1, keepdim=True)


def test_what_took_the_place_of_a_layer_norm_is_called():
    x, scale, shift = torch.randn(2, 5, 8), torch.randn(2, 1, 8), torch.randn(8)
    norm = Swapped()
    assert torch.equal(mindiesd.fast_layernorm(norm, x), norm(x))
    result = ext.layernorm_scale_shift(norm, x, scale, shift)
    assert torch.equal(result, norm(x) * (1 + scale) + shift)
    with pytest.raises(RuntimeError, match="must be a torch.nn.LayerNorm, but is function"):
        mindiesd.fast_layernorm(lambda x: x, x)


def test_errors_are_runtime_errors():
    """Code that catches torch's error to fall back catches these."""
    with pytest.raises(RuntimeError, match="MIE06E000001"):
        mindiesd.attention_forward(torch.randn(3, 4), torch.randn(3, 4), torch.randn(3, 4))


def test_tanh_gelu_is_not_the_fast_one():
    """There the compile pass puts x * sigmoid(1.702 x) in the place of gelu with tanh."""
    x = torch.linspace(-4, 4, 100)
    tanh, fast = (mindiesd.get_activation_layer(n)(x) for n in ("gelu-tanh", "gelu-fast"))
    assert (tanh - fast).abs().max() > 0.01
    torch.testing.assert_close(tanh, F.gelu(x, approximate="tanh"))


@pytest.mark.parametrize("name", ["tanh", "", None, 3])
def test_unknown_activation(name):
    with pytest.raises(ParametersInvalid, match="act_type must be"):
        mindiesd.get_activation_layer(name)


def test_ext_names_exist():
    for name in ext.__all__:
        assert callable(getattr(ext, name))
