"""mindiesd.ext.attention_forward with cyclic_mask: numbers that batch b has of b % W, as the windows of images
have their masks (Swin)."""

import accuracy
import pytest
import torch
from accuracy import FLOATS
from mindiesd import ext
from mindiesd.utils import ParametersInvalid

HEADS, TOKENS, WIDTH = 3, 49, 32


def windows(query, key, value, cyclic, bias, scale):
    """The code that the call stands for."""
    heads, tokens = query.shape[1], query.shape[2]
    scores = query @ key.transpose(-2, -1) * scale
    if bias is not None:
        scores = scores + bias
    scores = scores.view(-1, cyclic.shape[0], heads, tokens, tokens) + cyclic.unsqueeze(1).unsqueeze(0)
    return scores.view(-1, heads, tokens, tokens).softmax(dim=-1) @ value


def given(dtype, batch=8):
    return [torch.randn(batch, HEADS, TOKENS, WIDTH).to(dtype) for _ in range(3)]


BIASES = {
    "none": lambda dtype: None,
    "of the heads": lambda dtype: torch.randn(1, HEADS, TOKENS, TOKENS).to(dtype),
    "of the batch": lambda dtype: torch.randn(8, 1, TOKENS, TOKENS).to(dtype),
    "of all": lambda dtype: torch.randn(TOKENS, TOKENS).to(dtype),
}


@pytest.mark.parametrize("count", [1, 2, 4, 8])
@pytest.mark.parametrize("kind", BIASES)
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("head_first", [True, False])
def test_windows(backend, count, kind, dtype, head_first):
    operands, bias = given(dtype), BIASES[kind](dtype)
    cyclic = torch.where(torch.rand(count, TOKENS, TOKENS) > 0.3, 0.0, -100.0).to(dtype)
    handed = operands if head_first else [t.transpose(1, 2).contiguous() for t in operands]
    result = ext.attention_forward(
        *handed, bias, 0.125, head_first=head_first, cyclic_mask=cyclic
    )
    result = result if head_first else result.transpose(1, 2)
    original = windows(*operands, cyclic, bias, 0.125)
    wide = [None if t is None else t.double() for t in (*operands, cyclic, bias)]
    reference = windows(*wide, 0.125)
    magnitude = windows(wide[0], wide[1], wide[2].abs(), *wide[3:], 0.125)
    accuracy.assert_accurate(result, original, reference, magnitude)


def test_other_shapes_and_types():
    operands = given(torch.float32)
    keys = torch.randn(4, 1, TOKENS)
    expected = ext.attention_forward(
        *operands, keys.repeat(2, 1, 1)[:, None], head_first=True, strides="BNSD"
    )
    for mask in (keys, keys.double(), keys.transpose(1, 2).contiguous().transpose(1, 2)):
        found = ext.attention_forward(*operands, head_first=True, cyclic_mask=mask, strides="BNSD")
        torch.testing.assert_close(found, expected)
    whole = torch.randint(-3, 3, (4, TOKENS, TOKENS))
    torch.testing.assert_close(
        ext.attention_forward(*operands, head_first=True, cyclic_mask=whole),
        ext.attention_forward(*operands, head_first=True, cyclic_mask=whole.float()),
    )


def test_beside_other_restrictions():
    """A boolean mask, causality and key lengths hide what they hide."""
    operands, cyclic = given(torch.float32), torch.randn(4, TOKENS, TOKENS)
    shown = torch.rand(8, 1, TOKENS, TOKENS) > 0.5
    shown[..., 0] = True
    lengths = torch.arange(1, 9)
    positions = torch.arange(TOKENS)
    for restriction, seen in (
        ({"attn_mask": shown}, shown),
        ({"is_causal": True}, positions[:, None] >= positions),
        ({"key_lengths": lengths}, (positions < lengths[:, None])[:, None, None]),
    ):
        found = ext.attention_forward(*operands, head_first=True, cyclic_mask=cyclic, **restriction)
        added = cyclic.repeat(2, 1, 1)[:, None].masked_fill(~seen, float("-inf"))
        torch.testing.assert_close(found, ext.attention_forward(*operands, added, head_first=True))


def test_the_same_call_with_other_numbers():
    """What a call made of its mask is not repeated for the next one."""
    operands = given(torch.float32)
    with torch.no_grad():
        for _ in range(3):
            cyclic = torch.randn(2, TOKENS, TOKENS)
            found = ext.attention_forward(*operands, head_first=True, cyclic_mask=cyclic)
            expected = windows(*operands, cyclic, None, WIDTH**-0.5)
            torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)


def test_gradients():
    operands = [t.double()[:2, :, :5].requires_grad_() for t in given(torch.float32)]
    cyclic = torch.randn(2, 5, 5, dtype=torch.float64, requires_grad=True)

    def call(q, k, v, mask):
        return ext.attention_forward(q, k, v, head_first=True, cyclic_mask=mask)

    with torch.enable_grad():
        assert torch.autograd.gradcheck(call, (*operands, cyclic))


@pytest.mark.parametrize(
    "cyclic",
    [
        torch.zeros(3, TOKENS, TOKENS),
        torch.zeros(0, TOKENS, TOKENS),
        torch.zeros(TOKENS, TOKENS),
        torch.zeros(4, 1, TOKENS, TOKENS),
        torch.zeros(4, TOKENS, TOKENS - 1),
        torch.zeros(4, TOKENS, TOKENS, dtype=torch.complex64),
        torch.zeros(4, TOKENS, TOKENS, device="meta"),
        [[0.0]],
    ],
)
def test_refused(cyclic):
    with pytest.raises(ParametersInvalid, match="cyclic_mask must"):
        ext.attention_forward(*given(torch.float32), head_first=True, cyclic_mask=cyclic)


def test_refused_beside_the_mean_of_the_values():
    with pytest.raises(ParametersInvalid, match="goes with a mask alone"):
        ext.attention_forward(
            *given(torch.float32), head_first=True, without_key="mean",
            cyclic_mask=torch.zeros(4, TOKENS, TOKENS),
        )  # fmt: skip
