"""Every head dim from 8 to 512 by 8, with lengths from 1 to 4,099 around the edges of all tiles, in turns
with every kind of mask, bias, causality, window, storage and shared key heads, against float64.

Each length of the queries meets a key length drawn for it, and each key length one of the queries; the
forms go round, so that all of them meet every width and, over the widths, every length.
"""

import itertools
import math
import random

import pytest
import torch
from attention_support import HOPPER, compare, reference, run, verify
from gpu_support import HALVES, normal

EDGES = (64, 80, 112, 128, 160, 192, 256, 320, 512, 1024, 2048, 4096)
LENGTHS = sorted({1, 2, 3, 7, 8, 9, 15, 16, 17, 33, 4099, *(e + d for e in EDGES for d in (-1, 0, 1))})
# Hopper's kernel is what the widths differ for; tensor_core's goes by multiples of 8 as well.
SWEPT = [*(("mma", dtype) for dtype in HALVES), *HOPPER]


def stored(storage, batch, heads, length, width, dtype):
    """[batch, heads, length, width] in one of the storages that models have."""
    if storage == "B N S D":
        return normal(batch, heads, length, width, dtype=dtype)
    if storage == "B S N D":
        return normal(batch, length, heads, width, dtype=dtype).transpose(1, 2)
    if storage == "S B N D":
        return normal(length, batch, heads, width, dtype=dtype).permute(1, 2, 0, 3)
    # One part of what a projection of query, key and value together gives.
    return normal(batch, length, 3, heads, width, dtype=dtype)[:, :, 1].transpose(1, 2)


def at_units(mask):
    """The same values with rows at multiples of 16 bytes, as the copy engine reads them; other masks are
    copied first."""
    unit = 16 // mask.element_size()
    keys = mask.shape[-1]
    room = torch.zeros(*mask.shape[:-1], -(-keys // unit) * unit, dtype=mask.dtype, device="cuda")
    room[..., :keys] = mask
    return room[..., :keys]


def masks(q, k, dtype):
    """name: mask, which broadcasts as models write it."""
    batch, heads, queries, keys = *q.shape[:3], k.shape[2]
    rows = torch.arange(queries, device="cuda")[:, None]
    columns = torch.arange(keys, device="cuda")
    blocks = ((rows // 96 + columns // 224) % 2 == 0).expand(batch, 1, queries, keys)
    some = torch.rand(1, heads, queries, keys, device="cuda") > 0.3
    yield "all true", torch.ones(1, 1, queries, keys, dtype=torch.bool, device="cuda")
    yield "one column", (columns == keys * 2 // 3).expand(batch, 1, 1, keys)
    yield "key lengths", (columns < max(keys * 3 // 4, 1)).expand(batch, 1, 1, keys)
    yield "blocks", blocks
    yield "rows without a key", blocks & (rows % 5 != 0)
    yield "a head's own", some
    yield "bias a head", normal(1, heads, queries, keys, dtype=dtype)
    bias = normal(batch, 1, queries, keys, dtype=dtype)
    yield "bias with minus infinity", bias.masked_fill(~blocks, -math.inf)
    yield "float32 bias", normal(1, 1, queries, keys)
    yield "one row of bias", normal(batch, heads, 1, keys)


FORMS = (
    "plain", "causal from the first", "causal to the last", "window", "extreme scores", "NaN",
    "all true", "one column", "key lengths", "blocks", "rows without a key", "a head's own", "bias a head",
    "bias with minus infinity", "float32 bias", "one row of bias",
)  # fmt: skip
STORAGES = ("B S N D", "B N S D", "S B N D", "packed")


def check(kernel, form, q, k, v):
    dtype = q.dtype
    if form == "plain":
        assert compare(kernel, q, k, v)
    elif form.startswith("causal"):
        assert compare(kernel, q, k, v, causal=1 if form.endswith("first") else 2)
    elif form == "window":
        assert compare(kernel, q, k, v, left=k.shape[2] // 3, right=k.shape[2] // 7)
    elif form == "extreme scores":
        keys = k.double().repeat_interleave(q.shape[1] // k.shape[1], 1)
        scale = 3e4 / max((q.double() @ keys.mT).abs().amax().item(), 1e-3)
        expected, magnitude, _ = reference(q, k, v, scale=scale)
        # Tensor cores sum 16 products at a time and cut the sum off behind 24 bits: two such scores, of
        # which a weight is made, differ by so much.
        error = 2 * 3e4 * 2.0**-23 * (q.shape[3] / 16 + 3)
        bound = error * magnitude.clamp(min=1e-6)
        excess = ((run(kernel, q, k, v, scale=scale).double() - expected).abs() / bound).amax().item()
        assert excess <= 1.0, f"error is {excess:.3g} times the bound"
    elif form == "NaN":
        k = k.clone()
        k[:, :, k.shape[2] // 2] = math.nan
        assert run(kernel, q, k, v).isnan().all()
        seen = torch.arange(k.shape[2], device="cuda") != k.shape[2] // 2
        assert compare(kernel, q, k, v, mask=seen.expand(q.shape[0], 1, 1, -1))
    else:
        mask = at_units(dict(masks(q, k, dtype))[form])
        result = run(kernel, q, k, v, mask=mask)
        verify(result, *reference(q, k, v, mask=mask))
        if form == "all true":
            verify(result, *reference(q, k, v))
        if form == "rows without a key":
            assert not result[:, :, ::5].any()


@pytest.mark.parametrize("kernel, dtype", SWEPT)
@pytest.mark.parametrize("width", range(8, 513, 8))
def test_every_width_at_every_edge(kernel, dtype, width):
    generator = random.Random(width)
    forms, storages = itertools.cycle(FORMS), itertools.cycle(STORAGES)
    for _ in range(generator.randrange(len(FORMS))):
        next(forms)
    pairs = [(n, generator.choice(LENGTHS)) for n in LENGTHS]
    pairs += [(generator.choice(LENGTHS), n) for n in LENGTHS]
    for queries, keys in pairs:
        batch, heads, key_heads = generator.choice(((1, 1, 1), (2, 1, 1), (1, 2, 1), (1, 2, 2), (2, 3, 1)))
        storage = next(storages)
        q = stored(storage, batch, heads, queries, width, dtype)
        k, v = (stored(storage, batch, key_heads, keys, width, dtype) for _ in range(2))
        form = next(forms)
        try:
            check(kernel, form, q, k, v)
        except AssertionError as wrong:
            shape = f"B{batch} N{heads}/{key_heads} S{queries}/{keys} D{width}, {storage}"
            raise AssertionError(f"{form}, {shape}: {wrong}") from wrong


@pytest.mark.parametrize("kernel, dtype", SWEPT)
def test_values_of_another_width(kernel, dtype):
    """Values narrower and wider than queries and keys, in every class of tiles."""
    for width, columns in itertools.product((8, 40, 64, 104, 128, 168, 256, 320, 512), repeat=2):
        q, k = (normal(1, 2, n, width, dtype=dtype) for n in (130, 257))
        v = normal(1, 2, 257, columns, dtype=dtype)
        assert compare(kernel, q, k, v)
        assert compare(kernel, q, k, v, mask=at_units(normal(1, 2, 130, 257) > 0))


@pytest.mark.parametrize("kernel, dtype", SWEPT)
@pytest.mark.parametrize("width", (8, 64, 128, 160, 256, 512))
def test_few_queries(kernel, dtype, width):
    """As decoding has them: blocks of threads share the keys of a tile, and one query of the heads that
    share keys is computed as so many queries."""
    generator = random.Random(width)
    for queries, keys in itertools.product((1, 2, 8, 70), (1, 129, 600, 1100, 4099)):
        batch, heads, key_heads = generator.choice(((1, 8, 2), (1, 6, 1), (2, 3, 3), (1, 12, 12), (3, 20, 4)))
        storage = generator.choice(STORAGES)
        q = stored(storage, batch, heads, queries, width, dtype)
        k, v = (stored(storage, batch, key_heads, keys, width, dtype) for _ in range(2))
        assert compare(kernel, q, k, v)
        for causal in (1, 2):
            assert compare(kernel, q, k, v, causal=causal)
        assert compare(kernel, q, k, v, left=keys // 2) and compare(kernel, q, k, v, right=0)
        for mask in dict(masks(q, k, dtype)).values():
            assert compare(kernel, q, k, v, mask=at_units(mask)) and compare(kernel, q, k, v, mask=mask)


@pytest.mark.parametrize("kernel, dtype", SWEPT)
@pytest.mark.parametrize("width", (32, 64, 80, 128, 256))
def test_masks_of_windows(kernel, dtype, width):
    """Rows of 49, 144, 196 and 197 values, dense, with columns apart, and repeated over batch or heads."""
    for length, batch in ((49, 12), (144, 3), (196, 5), (197, 2)):
        q, k, v = (stored(s, batch, 3, length, width, dtype) for s in ("packed", "packed", "B S N D"))
        for mask in dict(masks(q, k, dtype)).values():
            assert compare(kernel, q, k, v, mask=mask)
        apart = normal(1, 3, length, 2 * length, dtype=dtype)[..., ::2]
        assert compare(kernel, q, k, v, mask=apart) and compare(kernel, q, k, v, mask=apart > 0, causal=1)
        assert compare(kernel, q, k, v, mask=normal(1, 3, length, 1).expand(-1, -1, -1, length), left=30)
