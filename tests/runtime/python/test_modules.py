"""The modules that stand in for other libraries' and modulation by torch's broadcasting."""

import pytest
import torch
from torch import nn

import mindiesd
from mindiesd import ext
from mindiesd.utils import ParametersInvalid


def _reference_attention(q, k, v, causal=False, scale=None):
    """[B, S, N, D]; causal aligns bottom-right."""
    q, k, v = (t.double().transpose(1, 2) for t in (q, k, v))
    scores = q @ k.transpose(-2, -1) * (q.shape[-1] ** -0.5 if scale is None else scale)
    if causal:
        rows, columns = scores.shape[-2:]
        keep = torch.ones(rows, columns, dtype=torch.bool).tril(columns - rows)
        scores = scores.masked_fill(~keep, float("-inf"))
    return (scores.softmax(-1) @ v).transpose(1, 2)


@pytest.mark.parametrize("causal", [False, True])
def test_self_attention_unpacks_its_operand(causal):
    qkv = torch.randn(2, 7, 3, 4, 16)
    module = ext.FlashSelfAttention(causal=causal, softmax_scale=0.3, attention_dropout=0.5).eval()
    expected = _reference_attention(*qkv.unbind(2), causal=causal, scale=0.3)
    with torch.no_grad():
        torch.testing.assert_close(module(qkv).double(), expected, rtol=1e-5, atol=1e-5)
    assert not module.state_dict()


def test_an_argument_of_the_call_overrides_the_constructor():
    qkv = torch.randn(1, 5, 3, 2, 8)
    with torch.no_grad():
        once = ext.FlashSelfAttention(causal=False).eval()(qkv, causal=True)
        always = ext.FlashSelfAttention(causal=True).eval()(qkv)
    torch.testing.assert_close(once, always)


def test_self_attention_over_sequences():
    qkv = torch.randn(9, 3, 2, 8)
    cu_seqlens = torch.tensor([0, 4, 9], dtype=torch.int32)
    with torch.no_grad():
        out = ext.FlashSelfAttention().eval()(qkv, cu_seqlens=cu_seqlens, max_seqlen=5)
    for begin, end in ((0, 4), (4, 9)):
        expected = _reference_attention(*(t[None, begin:end] for t in qkv.unbind(1)))[0]
        torch.testing.assert_close(out[begin:end].double(), expected, rtol=1e-5, atol=1e-5)


def test_cross_attention():
    q, kv = torch.randn(2, 3, 4, 8), torch.randn(2, 6, 2, 4, 8)
    with torch.no_grad():
        out = ext.FlashCrossAttention(causal=True).eval()(q, kv)
    expected = _reference_attention(q, *kv.unbind(2), causal=True)
    torch.testing.assert_close(out.double(), expected, rtol=1e-5, atol=1e-5)


def test_dropout_in_training_is_an_error():
    module = ext.FlashSelfAttention(attention_dropout=0.1).train()
    with torch.no_grad(), pytest.raises(ParametersInvalid, match="eval"):
        module(torch.randn(1, 2, 3, 1, 8))


@pytest.mark.parametrize("weight_type", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("bias", [False, True])
def test_typed_norm_is_the_norm_of_diffusers(weight_type, bias):
    module = ext.TypedRMSNorm(32, eps=1e-5, bias=bias, result_type="weight").to(weight_type)
    for parameter in module.parameters():
        parameter.data.normal_()
    x = torch.randn(3, 5, 32, dtype=torch.bfloat16)
    y = x * torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + 1e-5)
    if weight_type == torch.bfloat16:
        y = y.to(weight_type)
    y = y * module.weight
    if bias:
        y = y + module.bias
    with torch.no_grad():
        out = module(x)
    assert out.dtype == y.dtype
    torch.testing.assert_close(out, y, rtol=1e-2, atol=1e-2)
    assert sorted(module.state_dict()) == (["bias", "weight"] if bias else ["weight"])


def test_typed_norm_without_a_weight_keeps_the_input_type():
    module = ext.TypedRMSNorm(16, elementwise_affine=False, bias=True, result_type="weight")
    out = module(torch.randn(2, 16, dtype=torch.float16))
    assert out.dtype == torch.float16
    assert not module.state_dict()


def test_typed_norm_wants_a_known_type():
    with pytest.raises(ParametersInvalid, match="result_type"):
        ext.TypedRMSNorm(8, result_type="half")


@pytest.mark.parametrize(
    "shape", [(16,), (5, 16), (3, 1, 16), (3, 5, 16), (1, 5, 16)], ids=lambda s: "x".join(map(str, s))
)
def test_modulation_broadcasts_as_torch_does(shape):
    norm = nn.LayerNorm(16)
    x, scale, shift = torch.randn(3, 5, 16), torch.randn(shape), torch.randn(shape)
    with torch.no_grad():
        expected = norm(x) * (1 + scale) + shift
        torch.testing.assert_close(ext.layernorm_scale_shift(norm, x, scale, shift), expected)
        torch.testing.assert_close(ext.layernorm_scale_shift(norm, x, scale), norm(x) * (1 + scale))


def test_two_dimensions_belong_to_the_positions():
    """Also where there are as many samples as positions."""
    norm = nn.LayerNorm(8)
    x, scale, shift = torch.randn(4, 4, 8), torch.randn(4, 8), torch.randn(4, 8)
    with torch.no_grad():
        torch.testing.assert_close(
            ext.layernorm_scale_shift(norm, x, scale, shift), norm(x) * (1 + scale) + shift
        )


@pytest.mark.parametrize(
    ("scale", "shift"),
    [
        (0.5, None),
        (torch.tensor(0.5), torch.tensor(2, dtype=torch.int64)),
        (torch.randn(2, 1, 1, 8), torch.randn(8, dtype=torch.float64)),
        (torch.randn(8), 1),
    ],
    ids=["number", "no dimensions", "more dimensions", "tensor and number"],
)
def test_modulation_by_anything_that_the_expression_takes(scale, shift):
    norm = nn.LayerNorm(8).half()
    x = torch.randn(3, 4, 8, dtype=torch.float16)
    with torch.no_grad():
        expected = norm(x) * (1 + scale)
        if shift is not None:
            expected = expected + shift
        out = ext.layernorm_scale_shift(norm, x, scale, shift)
    assert out.dtype == expected.dtype
    torch.testing.assert_close(out, expected, rtol=4e-3, atol=4e-3)


def test_typed_norm_has_the_attributes_of_what_it_replaces():
    module = ext.TypedRMSNorm(8, eps=1e-4, elementwise_affine=False, result_type="weight")
    assert (module.dim, module.eps, module.elementwise_affine) == (torch.Size((8,)), 1e-4, False)
    assert module.variance_epsilon == 1e-4


def test_modulation_wants_a_layer_norm():
    """A function is none; another module is called (test_published.py)."""
    with torch.no_grad(), pytest.raises(ParametersInvalid, match="LayerNorm"):
        ext.layernorm_scale_shift(torch.relu, torch.randn(2, 8), torch.randn(8))


@pytest.mark.parametrize("kind", [nn.LayerNorm, nn.RMSNorm])
def test_a_traced_norm_is_called_as_it_is(kind, monkeypatch):
    """Its class has no forward of its own, as torch's has none that counts once it is replaced."""
    x = torch.randn(3, 8)
    traced = torch.jit.trace(kind(8), (x,))
    with torch.no_grad():
        torch.testing.assert_close(mindiesd.fast_layernorm(traced, x), traced(x))
        monkeypatch.setattr(ext.norm, "_TORCH_FORWARD", {})
        torch.testing.assert_close(mindiesd.fast_layernorm(traced, x), traced(x))
