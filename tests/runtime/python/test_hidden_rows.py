"""mindiesd.ext.attention_forward with without_key="mean": hidden scores filled with one finite number, so that a
query that sees no key gives the mean of the values."""

import accuracy
import pytest
import torch
from accuracy import FLOATS
from mindiesd import ext
from mindiesd.utils import ParametersInvalid

QUERIES, KEYS = 33, 70


def masks(batch, heads):
    """Each hides whole rows, rows in part, and nothing somewhere."""
    full = torch.rand(batch, heads, QUERIES, KEYS) > 0.4
    full[:, :, 5] = False
    full[0, 1, 7:9] = False
    full[:, :, 11] = True
    padding = torch.arange(KEYS) < torch.tensor([KEYS - 9, 0])[:, None]
    return {
        "full": full,
        "of the batch": full[:, :1],
        "of the heads": full[0],
        "of both": full[0, 0],
        "padding": padding[:, None, None],
        "one per query": full[..., :1],
        "of all keys": torch.zeros(KEYS, dtype=torch.bool),
        "of nothing": torch.tensor(False),
    }


def filled(query, key, value, mask, scale, fill):
    """The code that the call stands for."""
    scores = (query @ key.transpose(-2, -1)) * scale
    return scores.masked_fill(~mask, fill).softmax(dim=-1) @ value


@pytest.mark.parametrize("kind", masks(2, 4))
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("head_first", [True, False])
def test_rows_hidden_whole_give_the_mean_of_the_values(backend, kind, dtype, head_first):
    pool = accuracy.Pool()
    for fill in (torch.finfo(dtype).min, -torch.finfo(dtype).max):
        # Scores that differ by hundreds do not tell in a row that is hidden whole.
        query, key, value = (torch.randn(2, 4, size, 24) for size in (QUERIES, KEYS, KEYS))
        query, key, value = (query * 8).to(dtype), (key * 8).to(dtype), value.to(dtype)
        mask = masks(2, 4)[kind]
        given = (query, key, value)
        if not head_first:
            given = tuple(t.transpose(1, 2).contiguous() for t in given)
        result = ext.attention_forward(
            *given, mask, 0.125, head_first=head_first, without_key="mean"
        )
        result = result if head_first else result.transpose(1, 2)
        original = filled(query, key, value, mask, 0.125, fill)
        wide = [t.double() for t in (query, key, value)]
        scores = (wide[0] @ wide[1].transpose(-2, -1) * 0.125).masked_fill(~mask, fill)
        weights = scores.softmax(dim=-1)
        pool.add(result, original, weights @ wide[2], weights @ wide[2].abs())
    pool.check()


@pytest.mark.parametrize("dtype", FLOATS)
def test_hidden_whole_is_exactly_the_mean(backend, dtype):
    """Also where the scores are so far apart that a number added to them would still tell them apart."""
    query, key = torch.full((1, 1, 3, 8), 40.0, dtype=dtype), torch.zeros(1, 1, 4, 8, dtype=dtype)
    key[0, 0, 2] = 40.0
    value = torch.tensor([[1.0], [2.0], [4.0], [9.0]], dtype=dtype)[None, None]
    mask = torch.tensor([[True, True, True, True], [False] * 4, [True, False, False, False]])
    result = ext.attention_forward(
        query, key, value, mask, 1.0, head_first=True, without_key="mean"
    )
    assert result.flatten().tolist() == [4.0, 4.0, 1.0]
    plain = ext.attention_forward(query, key, value, mask, 1.0, head_first=True)
    assert plain.flatten().tolist() == [4.0, 0.0, 1.0]


@pytest.mark.parametrize("strides", [None, "BNSD"])
@pytest.mark.parametrize("head_first", [True, False])
def test_the_result_lies_as_without_such_rows(backend, strides, head_first):
    query, key, value = (torch.randn(2, size, 4, 16) for size in (6, 9, 9))
    if head_first:
        query, key, value = (t.transpose(1, 2) for t in (query, key, value))
    mask = torch.rand(6, 9) > 0.5
    mask[2] = False
    options = {"head_first": head_first, "strides": strides}
    plain = ext.attention_forward(query, key, value, mask, **options)
    result = ext.attention_forward(query, key, value, mask, **options, without_key="mean")
    assert result.stride() == plain.stride()


@pytest.mark.parametrize("query, key, value, mask", [
    ((4, 6, 16), (4, 9, 16), (4, 9, 16), (4, 6, 9)), ((6, 16), (9, 16), (9, 16), (6, 9)),
    ((2, 3, 4, 6, 16), (2, 3, 4, 9, 16), (2, 3, 4, 9, 16), (3, 1, 6, 9)),
    ((3, 4, 6, 16), (4, 9, 16), (4, 9, 16), (3, 1, 1, 9)), ((3, 4, 6, 16), (3, 1, 9, 16), (3, 1, 9, 16), (6, 9)),
    ((16,), (9, 16), (9, 16), (9,)), ((16,), (9, 16), (9, 16), (1,)),
])  # fmt: skip
def test_ranks_and_shapes(backend, query, key, value, mask):
    operands = [torch.randn(size) for size in (query, key, value)]
    keep = torch.rand(mask) > 0.5
    if len(mask) == 1:
        keep[:] = False
    else:
        keep[..., 0, :] = False
    result = ext.attention_forward(*operands, keep, 0.3, head_first=True, without_key="mean")
    torch.testing.assert_close(result, filled(*operands, keep, 0.3, torch.finfo(torch.float32).min))


def test_shared_heads(backend):
    """Two key heads for four of the query: a row's mean is that of its own head's values."""
    query, key, value = torch.randn(2, 6, 4, 16), torch.randn(2, 9, 2, 16), torch.randn(2, 9, 2, 16)
    mask = torch.rand(2, 4, 6, 9) > 0.5
    mask[:, :, 3] = False
    wide = [t.transpose(1, 2) for t in (query, *(t.repeat_interleave(2, 2) for t in (key, value)))]
    expected = filled(*wide, mask, 0.25, torch.finfo(torch.float32).min).transpose(1, 2)
    torch.testing.assert_close(ext.attention_forward(query, key, value, mask, without_key="mean"), expected)


@torch.enable_grad()
def test_gradients_are_those_of_the_formula():
    operands = [torch.randn(1, 2, size, 8, dtype=torch.float64) for size in (5, 7, 7)]
    mask = torch.rand(5, 7) > 0.5
    mask[1] = False
    gradients = []
    for attend in (
        lambda *t: ext.attention_forward(*t, mask, 0.3, head_first=True, without_key="mean"),
        lambda *t: filled(*t, mask, 0.3, torch.finfo(torch.float64).min),
    ):
        leaves = [t.clone().requires_grad_() for t in operands]
        gradients.append(torch.autograd.grad(attend(*leaves).square().sum(), leaves))
    torch.testing.assert_close(*gradients)


def test_without_a_mask_nothing_changes(backend):
    query, key, value = (torch.randn(2, 6, 4, 16) for _ in range(3))
    expected = ext.attention_forward(query, key, value)
    assert torch.equal(ext.attention_forward(query, key, value, without_key="mean"), expected)


@pytest.mark.parametrize("options", [
    {"is_causal": True}, {"window_size": (3, 3)}, {"softcap": 2.0}, {"mask_2d": "batch_key"},
    {"alibi_slopes": torch.ones(4)}, {"key_lengths": torch.tensor([3, 4])}, {"out": torch.empty(2, 6, 4, 16)},
])  # fmt: skip
def test_the_mask_is_the_only_restriction(options):
    query, key, value = (torch.randn(2, 6, 4, 16) for _ in range(3))
    with pytest.raises(ParametersInvalid, match="a mask alone"):
        ext.attention_forward(query, key, value, torch.ones(6, 6) > 0, without_key="mean", **options)


@pytest.mark.parametrize("mask", [torch.zeros(6, 6), 1.0])
def test_numbers_as_a_mask_are_refused(mask):
    query, key, value = (torch.randn(2, 6, 4, 16) for _ in range(3))
    with pytest.raises(ParametersInvalid, match="must be boolean"):
        ext.attention_forward(query, key, value, mask, without_key="mean")


def test_no_other_word():
    query, key, value = (torch.randn(2, 6, 4, 16) for _ in range(3))
    with pytest.raises(ParametersInvalid, match="'zeros', 'mean'"):
        ext.attention_forward(query, key, value, without_key="nothing")
