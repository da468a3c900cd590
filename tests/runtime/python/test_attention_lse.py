"""``ext.attention_with_lse`` and ``ext.attention_varlen_with_lse``: against the formula in float64, where a query sees
no key, results over parts of the keys put together, gradients, compiled graphs, and arguments that are refused.
"""

import math

import pytest
import torch

import mindiesd
from mindiesd import ext

_on_device = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
DEVICES = ["cpu", pytest.param("cuda", marks=_on_device)]
TYPES = (torch.float32, torch.float16, torch.bfloat16, torch.float64)
SHAPES = ((5, 7, 4, 2, 16), (70, 3, 2, 2, 24), (130, 200, 3, 1, 40), (1, 300, 4, 1, 64))
SHAPES += ((4, 0, 2, 2, 8), (0, 3, 2, 2, 8))


def scores_of(q, k, causal=False, mask=None):
    """Of operands [B, N, S, D], in float64."""
    k = k.double().repeat_interleave(q.shape[1] // k.shape[1], 1)
    scores = q.double() @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf) if mask.dtype == torch.bool else scores + mask.double()
    if causal:
        keep = torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device).tril(k.shape[2] - q.shape[2])
        scores = scores.masked_fill(~keep, -math.inf)
    return scores


def formula(q, k, v, **options):
    scores = scores_of(q, k, **options)
    hidden = (scores == -math.inf).all(-1)
    out = torch.softmax(scores.masked_fill(hidden[..., None], 0.0), -1).masked_fill(hidden[..., None], 0.0)
    out = out @ v.double().repeat_interleave(q.shape[1] // v.shape[1], 1)
    lse = torch.logsumexp(scores.masked_fill(hidden[..., None], 0.0), -1).masked_fill(hidden, -math.inf)
    return out, lse


def operands(shape, dtype, device="cpu", batch=2):
    queries, keys, heads, key_heads, width = shape
    sizes = ((heads, queries, width), (key_heads, keys, width), (key_heads, keys, width + 8))
    return [torch.randn(batch, *size, device=device).to(dtype) for size in sizes]


def check(result, expected, head_first=True):
    (out, lse), (wanted, wanted_lse) = result, expected
    out = out if head_first else out.transpose(1, 2)
    assert lse.shape == wanted_lse.shape and lse.is_contiguous() and out.shape == wanted.shape
    assert lse.dtype == (torch.float64 if out.dtype == torch.float64 else torch.float32)
    assert torch.equal(lse == -math.inf, wanted_lse == -math.inf)
    seen = wanted_lse != -math.inf
    torch.testing.assert_close(lse.double()[seen], wanted_lse[seen], atol=1e-5, rtol=1e-5)
    close = {torch.float16: 4e-3, torch.bfloat16: 3e-2}.get(out.dtype, 1e-5)
    torch.testing.assert_close(out.double(), wanted, atol=close, rtol=close)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("causal", (False, True))
@pytest.mark.parametrize("head_first", (False, True))
def test_the_formula(device, dtype, causal, head_first):
    torch.manual_seed(0)
    for shape in SHAPES:
        q, k, v = operands(shape, dtype, device)
        given = (q, k, v) if head_first else [t.transpose(1, 2) for t in (q, k, v)]
        for _ in range(3):  # later calls are repeated from C
            result = ext.attention_with_lse(*given, causal=causal, head_first=head_first)
            check(result, formula(q, k, v, causal=causal), head_first)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", TYPES)
def test_masks(device, dtype):
    torch.manual_seed(1)
    q, k, v = operands((33, 65, 4, 2, 64), dtype, device)
    keep = torch.rand(2, 1, 33, 65, device=device) > 0.4
    keep[0, 0, 3] = False
    added = torch.randn(1, 4, 33, 65, device=device).to(dtype)
    added = added.masked_fill(torch.rand(65, device=device) < 0.2, -math.inf)
    for mask in (keep, keep[:, :, :1], added):
        check(ext.attention_with_lse(q, k, v, attn_mask=mask, head_first=True), formula(q, k, v, mask=mask))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", TYPES)
def test_parts_of_the_keys_put_together(device, dtype):
    torch.manual_seed(2)
    q, k, v = operands((40, 96, 4, 4, 64), dtype, device)
    parts = [ext.attention_with_lse(q, k[:, :, s], v[:, :, s], head_first=True) for s in (slice(0, 32), slice(32, 96))]
    lse = torch.logaddexp(parts[0][1], parts[1][1])
    out = sum(o.double() * torch.exp(l - lse)[..., None] for o, l in parts)
    wanted, wanted_lse = formula(q, k, v)
    close = {torch.float16: 4e-3, torch.bfloat16: 3e-2}.get(dtype, 1e-5)
    torch.testing.assert_close(out, wanted, atol=close, rtol=close)
    torch.testing.assert_close(lse.double(), wanted_lse, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", TYPES)
def test_packed_sequences(device, dtype):
    torch.manual_seed(3)
    cu_q, cu_k = [1, 4, 4, 40], [0, 3, 5, 70]
    q, k, v = (torch.randn(n, heads, 16, device=device).to(dtype) for n, heads in ((44, 4), (72, 2), (72, 2)))
    out, lse = ext.attention_varlen_with_lse(q, k, v, cu_q, cu_k, causal=True)
    assert out.shape == q.shape and lse.shape == (4, 44) and lse.is_contiguous()
    for s in range(3):
        rows, columns = slice(cu_q[s], cu_q[s + 1]), slice(cu_k[s], cu_k[s + 1])
        part = [t.transpose(0, 1)[None] for t in (q[rows], k[columns], v[columns])]
        check((out[rows].transpose(0, 1)[None], lse[None, :, rows].contiguous()), formula(*part, causal=True))
    outside = torch.tensor([0, 40, 41, 42, 43], device=device)
    assert (lse[:, outside] == -math.inf).all() and not out[outside].any()
    same, positive, none = ext.attention_varlen_with_lse(q, k, v, cu_q, cu_k, causal=True, flash_attn_2=True)
    assert none is None and torch.equal(same, out) and torch.equal(positive, lse.masked_fill(lse == -math.inf, math.inf))


@pytest.mark.parametrize("device", DEVICES)
def test_window_softcap_slopes_and_scale(device):
    """Against the sum over parts of the scores that the result without them has, by attention of ones."""
    torch.manual_seed(4)
    q, k, v = operands((20, 20, 2, 2, 16), torch.float32, device, batch=1)
    options = dict(window_size=(4, 2), softcap=3.0, alibi_slopes=torch.tensor([0.3, 0.1], device=device))
    out, lse = ext.attention_with_lse(q, k, v, 0.5, head_first=True, **options)
    same = ext.attention_forward(q, k, v, scale=0.5, head_first=True, **options)
    torch.testing.assert_close(out, same)
    i = torch.arange(20, device=device)
    distance = (i[:, None] - i).abs()
    scores = 3.0 * torch.tanh(q.double() @ k.double().transpose(-1, -2) * 0.5 / 3.0)
    scores = scores - options["alibi_slopes"].double()[:, None, None] * distance
    hidden = (i > i[:, None] + 2) | (i < i[:, None] - 4)
    wanted = torch.logsumexp(scores.masked_fill(hidden, -math.inf), -1)
    torch.testing.assert_close(lse.double(), wanted, atol=1e-5, rtol=1e-5)


def test_hidden_queries_as_flash_attn_2_has_them():
    q, k, v = operands((5, 2, 2, 2, 8), torch.float32)
    _, lse, none = ext.attention_with_lse(q, k, v, head_first=True, causal=True, flash_attn_2=True)
    assert none is None and (lse[:, :, :3] == math.inf).all() and lse[:, :, 3:].isfinite().all()


def test_a_nan_among_the_scores_stays():
    q, k, v = operands((5, 6, 2, 2, 8), torch.float32)
    q[0, 1, 2, 3] = math.nan
    out, lse = ext.attention_with_lse(q, k, v, head_first=True)
    assert lse.isnan().sum() == 1 and lse[0, 1, 2].isnan() and out[0, 1, 2].isnan().all()


@pytest.mark.parametrize("mask", (None, "hides"))
@torch.enable_grad()
def test_gradients(mask):
    torch.manual_seed(5)
    q, k, v = (t.requires_grad_() for t in operands((3, 4, 2, 2, 4), torch.float64, batch=1))
    keep = torch.rand(3, 4) > 0.5 if mask else None
    if mask:
        keep[1] = False

    def attend(q, k, v):
        out, lse = ext.attention_with_lse(q, k, v, attn_mask=keep, head_first=True)
        return out, lse.masked_fill(lse == -math.inf, 0.0)

    assert torch.autograd.gradcheck(attend, (q, k, v))
    packed = [t.detach()[0].transpose(0, 1).clone().requires_grad_() for t in (q, k, v)]
    out, lse = ext.attention_varlen_with_lse(*packed, [0, 3], [0, 4])
    (out.sum() + lse.sum()).backward()
    assert all(t.grad is not None and t.grad.isfinite().all() for t in packed)


def test_in_a_compiled_graph():
    q, k, v = operands((6, 9, 2, 2, 8), torch.float32)

    def attend(q, k, v):
        return ext.attention_with_lse(q * 2, k, v, head_first=True, causal=True)

    compiled = torch.compile(attend, fullgraph=True, backend="aot_eager")
    for ours, plain in zip(compiled(q, k, v), attend(q, k, v)):
        torch.testing.assert_close(ours, plain)
    meta = [t.to("meta") for t in (q, k, v)]
    out, lse = ext.attention_with_lse(*meta, head_first=True)
    assert out.shape == (2, 2, 6, 16) and lse.shape == (2, 2, 6) and lse.dtype == torch.float32


@pytest.mark.parametrize(
    "change, message",
    (
        (dict(flash_attn_2=2), "flash_attn_2 must be"),
        (dict(softcap=-1.0), "softcap must be 0"),
        (dict(scale="much"), "scale must be"),
        (dict(query=torch.randn(2, 6, 8)), "query must have 4 dimensions"),
        (dict(key=torch.randn(3, 9, 2, 8)), "key must have batch 1 or 2"),
        (dict(key=torch.randn(2, 9, 2, 4)), "one head_dim"),
        (dict(value=torch.randn(2, 8, 2, 8)), "one length"),
        (dict(query=torch.randn(2, 6, 3, 8)), "multiple of key's"),
        (dict(value=torch.randn(2, 9, 2, 8).double()), "one type"),
        (dict(attn_mask=torch.randn(5, 9)), "attn_mask must broadcast"),
    ),
)
def test_what_is_refused(change, message):
    given = dict(query=torch.randn(2, 6, 2, 8), key=torch.randn(2, 9, 2, 8), value=torch.randn(2, 9, 2, 8)) | change
    with pytest.raises(mindiesd.utils.ParametersInvalid, match=message):
        ext.attention_with_lse(**given)
