"""Nested tensors, which torch's functions take, are taken where those were replaced."""

import mindiesd
import pytest
import torch
import torch.nn.functional as F
from mindiesd import ext
from mindiesd.utils import ParametersInvalid


def nested(*lengths):
    return torch.nested.nested_tensor(
        [torch.randn(n, 4, 8) for n in lengths], layout=torch.jagged
    )


def same(found, wanted):
    assert found.is_nested
    for f, w in zip(found.unbind(), wanted.unbind(), strict=True):
        torch.testing.assert_close(f, w)


@pytest.mark.parametrize("scale", [None, 0.5])
def test_attention(scale):
    q = nested(3, 5, 2)
    heads_first = q.transpose(1, 2)
    wanted = F.scaled_dot_product_attention(heads_first, heads_first, heads_first, scale=scale)
    for _ in range(2):
        found = ext.attention_forward(
            heads_first, heads_first, heads_first, scale=scale, head_first=True
        )
        same(found, wanted)
    same(ext.attention_forward(q, q, q, scale=scale), wanted.transpose(1, 2))
    with pytest.raises(ParametersInvalid, match="nested tensors go through torch's"):
        ext.attention_forward(q, q, q, softcap=3.0)


def test_norms_activations_and_softmax():
    x = nested(3, 5, 2)
    weight, norm = torch.randn(8), torch.nn.LayerNorm(8)

    def each(call):
        return torch.nested.nested_tensor([call(t) for t in x.unbind()], layout=torch.jagged)

    same(ext.rms_norm(x, weight), each(lambda t: ext.rms_norm(t, weight)))
    same(mindiesd.RMSNorm(8)(x), each(lambda t: mindiesd.RMSNorm(8)(t)))
    same(mindiesd.fast_layernorm(norm, x), each(norm))
    same(ext.gelu(x), each(F.gelu))
    same(ext.gelu(x, "fast"), each(lambda t: t * torch.sigmoid(1.702 * t)))
    same(ext.silu(x), each(F.silu))
    same(ext.softmax(x), each(lambda t: F.softmax(t, -1)))
    with pytest.raises(ParametersInvalid, match="nested tensor"):
        ext.rotary_position_embedding(x, torch.randn(1, 8), torch.randn(1, 8))
