"""mindiesd.ext.attention_forward and attention_forward_varlen against torch and the formulas."""

import itertools

import accuracy
import formulas
import pytest
import torch
import torch.nn.functional as F
from accuracy import FLOATS
from mindiesd import attention_forward, ext
from mindiesd.utils import ParametersInvalid


def operands(b=2, n=4, nk=None, sq=33, sk=70, d=40, dv=None, dtype=torch.float32):
    nk, dv = nk or n, dv or d
    return (
        torch.randn(b, n, sq, d).to(dtype),
        torch.randn(b, nk, sk, d).to(dtype),
        torch.randn(b, nk, sk, dv).to(dtype),
    )


def check(q, k, v, result, *, mask=None, original=None, pool=None, **options):
    """Holds ``result`` to the accuracy rule; the original is torch's where there is one, else the
    formula in float32."""
    wide = [t.double() for t in (q, k, v)]
    options["mask"] = mask
    if original is None:
        original = formulas.attention(*(t.float() for t in (q, k, v)), **options).to(q.dtype)
    if mask is not None and mask.dtype != torch.bool:
        options["mask"] = mask.double()
    reference = formulas.attention(*wide, **options)
    errors = accuracy.Pool() if pool is None else pool
    errors.add(result, original, reference, formulas.magnitude(*wide, **options))
    if pool is None:
        errors.check()


MASKS = {
    "none": lambda b, n, sq, sk: None,
    "bool": lambda b, n, sq, sk: torch.rand(b, n, sq, sk) > 0.3,
    "padding": lambda b, n, sq, sk: (torch.arange(sk) < torch.tensor([[sk - 9]] * b))[:, None, None],
    "float": lambda b, n, sq, sk: torch.randn(b, 1, sq, sk),
    "float16": lambda b, n, sq, sk: torch.randn(1, n, sq, sk).half(),
    "bfloat16": lambda b, n, sq, sk: torch.randn(sq, sk).bfloat16(),
    "infinite": lambda b, n, sq, sk: torch.zeros(b, 1, 1, sk).masked_fill(
        torch.rand(b, 1, 1, sk) > 0.6, float("-inf")
    ),
    "one per query": lambda b, n, sq, sk: torch.rand(b, n, sq, 1) > 0.2,
}


def torchs(q, k, v, mask, kind):
    """torch's result where torch takes the mask and defines the result."""
    if kind == "one per query":
        return None  # rows without a key depend on the path that torch takes
    if mask is not None and mask.dtype != torch.bool:
        if kind != "infinite":
            return None
        mask = mask.to(q.dtype)
    return F.scaled_dot_product_attention(q, k, v, mask)


@pytest.mark.parametrize("kind", MASKS)
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("head_first", [True, False])
def test_masks_types_and_layouts(backend, kind, dtype, head_first):
    pool = accuracy.Pool()
    for _ in range(12):
        q, k, v = operands(dtype=dtype, dv=24)
        mask = MASKS[kind](2, 4, 33, 70)
        if head_first:
            result = ext.attention_forward(q, k, v, mask, head_first=True)
        else:
            result = ext.attention_forward(
                *(t.transpose(1, 2).contiguous() for t in (q, k, v)), mask
            ).transpose(1, 2)
        # The plain-math back end is the formula in torch's operators: it is held to that,
        # not to torch's fused kernel, whose float32 sums run in blocks.
        original = torchs(q, k, v, mask, kind) if backend == "kernels" else None
        check(q, k, v, result, mask=mask, original=original, pool=pool)
    pool.check()


@pytest.mark.parametrize("lengths", [(33, 70), (70, 33), (1, 50), (64, 64), (130, 260)])
@pytest.mark.parametrize("alignment", ["top_left", "bottom_right"])
@pytest.mark.parametrize("dtype", FLOATS)
def test_causal(backend, lengths, alignment, dtype):
    q, k, v = operands(sq=lengths[0], sk=lengths[1], dtype=dtype)
    result = ext.attention_forward(
        q, k, v, head_first=True, is_causal=True, causal_alignment=alignment
    )
    original = None
    if alignment == "top_left":
        original = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    check(q, k, v, result, original=original, causal=alignment)


def test_causal_and_mask_both_apply(backend):
    q, k, v = operands()
    mask = torch.rand(2, 1, 33, 70) > 0.3
    result = ext.attention_forward(q, k, v, mask, head_first=True, is_causal=torch.tensor(True))
    check(q, k, v, result, mask=mask, causal="top_left")


@pytest.mark.parametrize("window", [(5, 3), (-1, 0), (0, -1), (200, 200), (0, 0), (None, 4)])
@pytest.mark.parametrize("softcap", [0.0, 2.5])
@pytest.mark.parametrize("slopes", [None, 1, 2])
def test_flash_extras(backend, window, softcap, slopes):
    q, k, v = operands(n=6, nk=2, sq=40, sk=55)
    if slopes is not None:
        slopes = torch.rand(6) * 0.3 if slopes == 1 else torch.rand(2, 6) * 0.3
    result = ext.attention_forward(
        *(t.transpose(1, 2) for t in (q, k, v)),
        is_causal=True,
        causal_alignment="bottom_right",
        window_size=window,
        softcap=softcap,
        alibi_slopes=slopes,
    ).transpose(1, 2)
    bounds = tuple(-1 if w is None else w for w in window)
    check(
        q, k, v, result, causal="bottom_right", window=bounds, softcap=softcap, slopes=slopes
    )


@pytest.mark.parametrize("scale", [0.3, 2, torch.tensor(0.25), torch.tensor(3), 0.0, -0.5])
def test_scale(backend, scale):
    q, k, v = operands(d=8)
    result = ext.attention_forward(q, k, v, scale=scale, head_first=True)
    check(q, k, v, result, scale=float(scale))


@pytest.mark.parametrize("nk", [1, 2, 6])
def test_grouped_key_heads(backend, nk):
    q, k, v = operands(n=6, nk=nk)
    result = ext.attention_forward(q, k, v, head_first=True)
    heads = q.shape[1] // k.shape[1]
    original = F.scaled_dot_product_attention(
        q, *(t.repeat_interleave(heads, 1) for t in (k, v))
    )
    check(q, k, v, result, original=original)


RANKS = [
    # query, key, value, mask
    ((7, 8), (9, 8), (9, 5), (7, 9)),
    ((3, 7, 8), (3, 9, 8), (3, 9, 5), (3, 7, 9)),
    ((3, 7, 8), (1, 9, 8), (9, 5), None),
    ((2, 3, 7, 8), (1, 3, 9, 8), (1, 1, 9, 5), (3, 1, 9)),
    ((1, 3, 7, 8), (4, 3, 9, 8), (4, 3, 9, 5), (9,)),
    ((2, 1, 7, 8), (2, 3, 9, 8), (2, 3, 9, 5), None),
    ((2, 3, 4, 7, 8), (2, 3, 4, 9, 8), (2, 3, 4, 9, 5), (3, 1, 7, 9)),
    ((2, 1, 4, 7, 8), (1, 3, 4, 9, 8), (1, 3, 4, 9, 5), (2, 3, 1, 1, 9)),
    ((7, 8), (2, 3, 9, 8), (2, 3, 9, 5), None),
    ((1, 1, 7, 8), (1, 1, 9, 8), (1, 1, 9, 5), (2, 3, 7, 9)),
    ((2, 2, 2, 2, 7, 8), (2, 2, 2, 2, 9, 8), (2, 2, 2, 2, 9, 5), None),
]


@pytest.mark.parametrize("shapes", RANKS)
def test_ranks_and_broadcasts(backend, shapes):
    q, k, v = (torch.randn(s) for s in shapes[:3])
    mask = None if shapes[3] is None else torch.randn(shapes[3])
    result = ext.attention_forward(q, k, v, mask, head_first=True)
    wide = [t.double() for t in (q, k, v)]
    scores = wide[0] @ wide[1].transpose(-1, -2) * 8**-0.5
    if mask is not None:
        scores = scores + mask
    expected = torch.softmax(scores, -1) @ wide[2]
    assert result.shape == expected.shape
    torch.testing.assert_close(result.double(), expected, rtol=1e-5, atol=1e-6)


def test_batch_first_operands_broadcast(backend):
    q, k, v = torch.randn(1, 7, 4, 8), torch.randn(3, 9, 2, 8), torch.randn(3, 9, 1, 6)
    result = ext.attention_forward(q, k, v)
    expected = formulas.attention(
        q.transpose(1, 2).expand(3, -1, -1, -1).double(),
        k.transpose(1, 2).double(),
        v.transpose(1, 2).expand(-1, 2, -1, -1).double(),
    )
    torch.testing.assert_close(result.transpose(1, 2).double(), expected, rtol=1e-5, atol=1e-6)
    assert result.is_contiguous()


def test_mask_of_two_dimensions():
    q, k, v = (torch.randn(5, 5, 2, 8) for _ in range(3))  # batch == length: ambiguous by shape
    mask = torch.rand(5, 5) > 0.4
    mask[:, 0] = True
    by_batch = ext.attention_forward(q, k, v, mask, mask_2d="batch_key")
    assert torch.equal(by_batch, ext.attention_forward(q, k, v, mask[:, None, None, :]))
    by_query = ext.attention_forward(q, k, v, mask)
    assert torch.equal(by_query, ext.attention_forward(q, k, v, mask[None, None]))
    assert not torch.equal(by_batch, by_query)
    # Another shape is [Sq, Sk] whatever mask_2d says, as in diffusers.
    q2 = torch.randn(2, 5, 2, 8)
    k2 = torch.randn(2, 5, 2, 8)
    assert torch.equal(
        ext.attention_forward(q2, k2, k2, mask, mask_2d="batch_key"),
        ext.attention_forward(q2, k2, k2, mask),
    )


LAYOUTS = {"BNSD": (0, 1, 2, 3), "BSND": (0, 2, 1, 3), "SBND": (2, 0, 1, 3), "NBSD": (1, 0, 2, 3)}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dv", [16, 8])
def test_head_first_result_has_the_stride_order_of_the_query(backend, layout, dv):
    order = LAYOUTS[layout]
    inverse = [order.index(d) for d in range(4)]
    sizes = (3, 4, 6, 16)
    q = torch.randn([sizes[d] for d in order]).permute(*inverse)
    k, v = torch.randn(3, 4, 6, 16), torch.randn(3, 4, 6, dv)
    result = ext.attention_forward(q, k, v, head_first=True)
    expected = torch.empty([(*sizes[:3], dv)[d] for d in order]).permute(*inverse)
    assert result.stride() == expected.stride()
    # Before 2.5 torch's result on the CPU is dense in B S N D whatever the query is.
    if dv == 16 and (layout == "BSND" or layout == "BNSD" and torch.__version__ >= (2, 5)):
        assert result.stride() == F.scaled_dot_product_attention(q, k, v).stride()


@pytest.mark.skipif(torch.__version__ < (2, 5), reason="the strides of torch's own result: torch 2.5")
@pytest.mark.parametrize("query, key, value", [
    ((4, 6, 16), (3, 4, 9, 16), (3, 4, 9, 16)), ((1, 4, 6, 16), (3, 4, 9, 16), (3, 4, 9, 16)),
    ((3, 4, 6, 16), (4, 9, 16), (4, 9, 16)), ((3, 4, 6, 16), (1, 4, 9, 16), (1, 4, 9, 16)),
    ((3, 4, 6, 16), (3, 4, 9, 16), (1, 4, 9, 16)), ((4, 6, 16), (4, 9, 16), (2, 4, 9, 16)),
])  # fmt: skip
def test_a_result_that_was_broadcast_is_dense(backend, query, key, value):
    q, k, v = (torch.randn(size).transpose(-3, -2).contiguous().transpose(-3, -2) for size in (query, key, value))
    expected = F.scaled_dot_product_attention(q, k, v)
    result = ext.attention_forward(q, k, v, head_first=True)
    assert result.stride() == expected.stride() and result.is_contiguous()
    torch.testing.assert_close(result, expected)


@pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile")
def test_block_masks_go_to_flex_attention():
    """diffusers' flex back end takes them in the place of a mask."""
    flex = pytest.importorskip("torch.nn.attention.flex_attention", reason="flex_attention: torch 2.5")
    create_block_mask = flex.create_block_mask
    q, k, v = torch.randn(1, 128, 4, 16), torch.randn(1, 128, 2, 16), torch.randn(1, 128, 2, 16)

    def recent(batch, head, i, j):
        return (i - j).abs() < 9

    mask = create_block_mask(recent, None, None, 128, 128, device="cpu")
    distance = torch.arange(128)[:, None] - torch.arange(128)
    expected = ext.attention_forward(q, k, v, distance.abs() < 9, 0.3)
    result = ext.attention_forward(q, k, v, mask, 0.3)
    torch.testing.assert_close(result, expected, rtol=1e-5, atol=1e-6)
    with pytest.raises(ParametersInvalid, match="flex_attention"):
        ext.attention_forward(q, k, v, mask, is_causal=True)


@pytest.mark.parametrize("kind", [torch.float8_e4m3fn, torch.float8_e5m2])
def test_float8_operands_give_bfloat16(kind):
    """As FlashAttention 3 does; every float8 number is a bfloat16 number."""
    q, k, v = (torch.randn(1, 16, 2, 32).to(kind) for _ in range(3))
    result = ext.attention_forward(q, k, v, scale=0.2)
    wide = [t.to(torch.bfloat16) for t in (q, k, v)]
    assert result.dtype == torch.bfloat16
    torch.testing.assert_close(result, ext.attention_forward(*wide, scale=0.2))


@pytest.mark.parametrize("shape", [(4, 5, 8), (2, 3, 4, 5, 8), (2, 1, 3, 4, 5, 8)])
def test_result_of_another_rank_is_dense(backend, shape):
    """As torch's is, so that a view of it works there and here."""
    q = torch.randn(shape).transpose(-2, -3).contiguous().transpose(-2, -3)
    result = ext.attention_forward(q, q, q, head_first=True)
    assert result.is_contiguous()
    assert F.scaled_dot_product_attention(q, q, q).is_contiguous()


def test_any_strides_without_a_dense_last_dimension(backend):
    q, k, v = operands(d=16)
    odd = [torch.stack([t, t], -1)[..., 0] for t in (q, k, v)]
    assert odd[0].stride(-1) == 2
    assert torch.equal(
        ext.attention_forward(*odd, head_first=True), ext.attention_forward(q, k, v, head_first=True)
    )
    packed = torch.randn(2, 9, 3, 4, 16)
    q, k, v = packed.unbind(2)
    expected = ext.attention_forward(q.contiguous(), k.contiguous(), v.contiguous())
    torch.testing.assert_close(ext.attention_forward(q, k, v), expected, rtol=0, atol=0)


@pytest.mark.parametrize("sizes", [(0, 2, 3, 4), (2, 0, 3, 4), (2, 2, 0, 4)])
def test_empty(backend, sizes):
    b, n, sq, sk = sizes
    q, k = torch.randn(b, n, sq, 8), torch.randn(b, n, sk, 8)
    assert ext.attention_forward(q, k, k, head_first=True).shape == (b, n, sq, 8)
    q, k = q[..., ::2], k[..., ::2]  # which contiguous() leaves as they are where they are empty
    assert ext.attention_forward(q, k, k, head_first=True).shape == (b, n, sq, 4)


def test_rows_without_a_key_are_zero(backend):
    q, k, v = operands()
    mask = torch.ones(33, 70, dtype=torch.bool)
    mask[4] = False
    result = ext.attention_forward(q, k, v, mask, head_first=True)
    assert (result[:, :, 4] == 0).all() and (result[:, :, 5] != 0).all()
    bias = torch.zeros(33, 70).masked_fill(~mask, float("-inf"))
    result = ext.attention_forward(q, k, v, bias, head_first=True)
    assert (result[:, :, 4] == 0).all()
    none = ext.attention_forward(q, k[:, :, :0], v[:, :, :0], head_first=True)
    assert none.shape == q.shape and (none == 0).all()


def test_nan_and_infinity(backend):
    q, k, v = operands()
    q[0, 0, 3, 1] = float("nan")
    q[0, 0, 5, 1] = float("inf")
    v[1, 2, 7, 4] = float("inf")
    result = ext.attention_forward(q, k, v, head_first=True)
    expected = formulas.attention(q, k, v)  # torch 2.5 loses the NaN on the CPU
    assert torch.equal(result.isnan(), expected.isnan())
    assert torch.equal(result.isinf(), expected.isinf())


@pytest.mark.parametrize("dtype", [torch.float64, *FLOATS])
def test_other_types_compute_at_least_in_float32(dtype):
    q, k, v = operands(dtype=dtype)
    result = ext.attention_forward(q, k, v, head_first=True)
    assert result.dtype == dtype
    expected = formulas.attention(q.double(), k.double(), v.double())
    bound = {torch.float64: 1e-12, torch.float32: 1e-5}.get(dtype, 1e-2)
    assert (result.double() - expected).abs().max() < bound
    mask = torch.randn(33, 70, dtype=torch.float64)
    ext.attention_forward(q, k, v, mask, head_first=True)


@pytest.mark.parametrize("length, d", [(5, 16), (9, 24), (9, 32)])
def test_short_sums_are_as_exact_as_torchs(length, d):
    """Over many draws, for a single small tensor tells nothing: sums of few products, unscaled."""
    ours = theirs = 0.0
    for _ in range(100):
        q, k, v = operands(2, 3, sq=length, sk=length, d=d)
        exact = F.scaled_dot_product_attention(q.double(), k.double(), v.double(), scale=1.0)
        for_torch = F.scaled_dot_product_attention(q, k, v, scale=1.0)
        result = ext.attention_forward(q, k, v, scale=1.0, head_first=True)
        ours += (result - exact).square().mean().item()
        theirs += (for_torch - exact).square().mean().item()
    assert ours <= 1.08 * theirs  # of squares; one chain of 16 products gives 1.16 to 1.19


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("as_list", [False, True])
def test_varlen(backend, dtype, causal, as_list):
    cu_q, cu_k = [0, 5, 5, 40], [0, 9, 12, 50]
    q = torch.randn(43, 6, 24).to(dtype)  # three tokens of no sequence
    k, v = torch.randn(50, 2, 24).to(dtype), torch.randn(50, 2, 16).to(dtype)
    slopes = torch.rand(3, 6)
    starts = (cu_q, cu_k) if as_list else (torch.tensor(cu_q), torch.tensor(cu_k).int())
    result = ext.attention_forward_varlen(
        q, k, v, *starts, causal=causal, window_size=(20, 20), softcap=4.0, alibi_slopes=slopes
    )
    assert result.shape == (43, 6, 16) and result.is_contiguous()
    assert (result[40:] == 0).all()
    for s in (0, 2):
        rows, columns = slice(cu_q[s], cu_q[s + 1]), slice(cu_k[s], cu_k[s + 1])
        part = [t.transpose(0, 1)[None] for t in (q[rows], k[columns], v[columns])]
        check(
            *part, result[rows].transpose(0, 1)[None],
            causal="bottom_right" if causal else None,
            window=(20, 20), softcap=4.0, slopes=slopes[s],
        )  # fmt: skip


def bsnd(*sizes, **kwargs):
    return torch.randn(*sizes, **kwargs)


BAD = {
    "parallel": (dict(parallel_config=object()), "parallel_config must be None"),
    "not a tensor": (dict(query=[1.0]), "query must be a torch.Tensor, but is list"),
    "rank": (dict(query=bsnd(3, 2, 8)), "must have 4 dimensions"),
    "rank 1": (dict(query=bsnd(8), head_first=True, is_causal=True), "at least 2 dimensions"),
    "type": (dict(key=bsnd(2, 5, 4, 8).half()), "must have one type"),
    "integers": (
        {n: torch.ones(2, 5, 4, 8, dtype=torch.int64) for n in ("query", "key", "value")},
        "query must be a floating tensor",
    ),
    "device": (dict(key=bsnd(2, 5, 4, 8, device="meta")), "key must be on the device of query"),
    "head_dim": (dict(key=bsnd(2, 5, 4, 7)), "one head_dim"),
    "lengths": (dict(value=bsnd(2, 6, 4, 8)), "one length"),
    "batch": (dict(key=bsnd(3, 5, 4, 8), value=bsnd(3, 5, 4, 8)), "must agree in dimension 0"),
    "heads": (dict(key=bsnd(2, 5, 3, 8), value=bsnd(2, 5, 3, 8)), "multiple of key's"),
    "no key heads": (dict(key=bsnd(2, 5, 0, 8), value=bsnd(2, 5, 0, 8)), "multiple of key's"),
    "mask type": (dict(attn_mask=torch.ones(5, 5) * 1j), "must be boolean"),
    "mask shape": (dict(attn_mask=torch.ones(4, 5)), "must broadcast to"),
    "mask heads": (dict(attn_mask=torch.ones(2, 3, 5, 5)), "must agree in|must broadcast"),
    "mask device": (dict(attn_mask=torch.ones(5, 5, device="meta")), "attn_mask must be on"),
    "scale text": (dict(scale="1"), "scale must be a number, but is str"),
    "scale tensor": (dict(scale=torch.ones(2)), "scale must be a number, but is a tensor"),
    "causal": (dict(is_causal=1), "is_causal must be a bool"),
    "alignment": (dict(causal_alignment="left"), "'top_left', 'bottom_right'"),
    "mask_2d": (dict(mask_2d="x"), "mask_2d must be one of"),
    "window": (dict(window_size=3), "window_size must be a pair"),
    "window float": (dict(window_size=(1.0, 2)), "window_size must hold two ints"),
    "softcap": (dict(softcap=-1.0), "softcap must be 0"),
    "slopes": (dict(alibi_slopes=torch.ones(3)), "alibi_slopes must have shape"),
    "head_first": (dict(head_first=1), "head_first must be a bool"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_arguments(name):
    changes, text = BAD[name]
    arguments = {n: bsnd(2, 5, 4, 8) for n in ("query", "key", "value")}
    arguments.update(changes)
    with pytest.raises(ParametersInvalid, match=text):
        ext.attention_forward(**arguments)


BAD_VARLEN = {
    "rank": (dict(q=bsnd(2, 6, 4, 8)), "Expected q to be 3D, but got 4D"),
    "decreasing": (dict(cu_seqlens_q=[0, 4, 3]), "entry 2 is 3 after 4"),
    "too long": (dict(cu_seqlens_q=[0, 4, 7]), "must lie in 0 to 6"),
    "lengths": (dict(cu_seqlens_q=[0, 6]), "must have one length"),
    "float": (dict(cu_seqlens_q=torch.tensor([0.0, 6.0])), "integer tensor"),
    "list of floats": (dict(cu_seqlens_q=[0.0, 6.0, 6.0]), "must hold ints"),
    "shape": (dict(cu_seqlens_q=torch.zeros(2, 2).int()), "must have shape"),
    "none": (dict(cu_seqlens_q=None), "must be a tensor or a list"),
    "slopes": (dict(alibi_slopes=torch.ones(3, 4)), "alibi_slopes must have shape"),
}


@pytest.mark.parametrize("name", BAD_VARLEN)
def test_bad_varlen_arguments(name):
    changes, text = BAD_VARLEN[name]
    arguments = {n: bsnd(6, 4, 8) for n in ("q", "k", "v")}
    arguments.update(cu_seqlens_q=[0, 2, 6], cu_seqlens_k=[0, 3, 6])
    ext.attention_forward_varlen(**arguments)
    arguments.update(changes)
    with pytest.raises(ParametersInvalid, match=text):
        ext.attention_forward_varlen(**arguments)


def test_random_shapes(backend):
    """Draws shapes, layouts and options together, where single-option tests see no interaction."""
    generator = torch.Generator().manual_seed(3)

    def pick(low, high):
        return int(torch.randint(low, high + 1, (), generator=generator))

    pools = {dtype: accuracy.Pool() for dtype in FLOATS}
    for _, dtype in itertools.product(range(20), FLOATS):
        nk = pick(1, 3)
        q, k, v = operands(
            pick(1, 3), nk * pick(1, 3), nk, pick(1, 90), pick(1, 150), pick(1, 70), pick(1, 70), dtype
        )
        mask = None
        if pick(0, 1):
            shape = [s if pick(0, 1) else 1 for s in (*q.shape[:3], k.shape[2])]
            mask = torch.rand(shape) > 0.4 if pick(0, 1) else torch.randn(shape)
        causal = (None, "top_left", "bottom_right")[pick(0, 2)]
        result = ext.attention_forward(
            *(t.transpose(1, 2).contiguous().transpose(1, 2) if pick(0, 1) else t for t in (q, k, v)),
            mask,
            head_first=True,
            is_causal=causal is not None,
            causal_alignment=causal or "top_left",
        )
        check(q, k, v, result, mask=mask, causal=causal, pool=pools[dtype])
    for pool in pools.values():
        pool.check()


def test_torchs_function_as_the_back_end_of_a_gpu():
    """What stands in for plain math there computes the same, or says that it does not."""
    from mindiesd import _math

    q, k, v = torch.randn(2, 4, 7, 16), torch.randn(2, 2, 9, 16), torch.randn(2, 2, 9, 8)
    one = torch.randn(1, 1, 9, 16)
    keep = torch.rand(2, 1, 7, 9) > 0.4
    keep[0, 0, 3] = False  # a query without a key
    added = torch.randn(2, 1, 7, 9).masked_fill(~keep, float("-inf"))
    plain = (0.3, 0, -1, -1, 0.0, None)
    causal = (0.3, 1, -1, -1, 0.0, None)
    bottom = (0.3, 2, -1, -1, 0.0, None)
    for operands, options in (
        ((q, k, v, None), plain),
        ((q, one, one, None), plain),
        ((q, k, v, keep), plain),
        ((q, k, v, added), plain),
        ((q, k, v, None), causal),
        ((q, k, v, keep), causal),
        ((q, k, v, added), causal),
        ((q, q, q, None), bottom),
    ):
        query, key, _, mask = operands
        assert _math.fused_computes(query, key, mask, *options[1:])
        found = _math.fused_attention(*operands, *options[:2])
        torch.testing.assert_close(found, _math.attention(*operands, *options))
    for operands, options in (
        ((q, k, v, None), bottom),
        ((q, k, v, None), (0.3, 0, 2, -1, 0.0, None)),
        ((q, k, v, None), (0.3, 0, -1, 2, 0.0, None)),
        ((q, k, v, None), (0.3, 0, -1, -1, 1.0, None)),
        ((q, k, v, None), (0.3, 0, -1, -1, 0.0, torch.ones(4))),
        ((q.half(), k.half(), v.half(), added), plain),
        ((q, k, v, keep[..., :1]), plain),
        ((q, k, v, keep[..., :1].expand(-1, -1, -1, 9)), plain),
    ):
        query, key, _, mask = operands
        assert not _math.fused_computes(query, key, mask, *options[1:])


@pytest.mark.parametrize("number", [0, 0.0, -2.5, 3, True])
def test_a_number_as_mask_changes_nothing(number):
    q = torch.randn(2, 5, 3, 16)
    plain = ext.attention_forward(q, q, q)
    for _ in range(3):  # as many calls as the replay of a call needs, and one by it
        assert torch.equal(attention_forward(q, q, q, attn_mask=number), plain)
        assert torch.equal(ext.attention_forward(q, q, q, attn_mask=number), plain)
    for number in (float("inf"), float("nan")):
        assert ext.attention_forward(q, q, q, attn_mask=number).isnan().all()
    assert (ext.attention_forward(q, q, q, attn_mask=float("-inf")) == 0).all()


@pytest.mark.parametrize("scale", [float("inf"), -float("inf"), float("nan"), 1e300])
def test_a_scale_that_is_not_finite(scale):
    """A formula gives NaN; torch's own attention what it gives on the device."""
    q, k, v = torch.randn(3, 2, 3, 5, 8)
    assert ext.attention_forward(q, k, v, scale=scale, head_first=True, strides="BNSD").isnan().all()
    expected = torch.nn.functional.scaled_dot_product_attention(q, k, v, scale=scale)
    result = ext.attention_forward(q, k, v, scale=scale, head_first=True)
    assert torch.equal(result.isnan(), expected.isnan())


def test_one_query_as_a_vector():
    q, k, v = torch.randn(8), torch.randn(6, 8), torch.randn(6, 4)
    result = ext.attention_forward(q, k, v, scale=0.5, head_first=True, strides="BNSD")
    torch.testing.assert_close(result, (q @ k.mT * 0.5).softmax(-1) @ v)


def test_whole_numbers_as_mask_are_added():
    q, mask = torch.randn(2, 5, 3, 16), torch.arange(25).reshape(5, 5) % 3
    expected = ext.attention_forward(q, q, q, attn_mask=mask.float())
    assert torch.equal(ext.attention_forward(q, q, q, attn_mask=mask), expected)


def test_a_flag_as_scale_counts_as_one():
    q = torch.randn(2, 5, 3, 16)
    assert torch.equal(ext.attention_forward(q, q, q, scale=True), ext.attention_forward(q, q, q, scale=1.0))


def test_no_channels():
    q, k, v = torch.randn(2, 3, 5, 0), torch.randn(2, 3, 6, 0), torch.randn(2, 3, 6, 4)
    result = ext.attention_forward(q, k, v, head_first=True)
    torch.testing.assert_close(result, v.mean(-2, keepdim=True).expand(2, 3, 5, 4))
