"""The attention kernels against the formula in float64: types, widths, lengths, strides, masks, causal
alignments, shared key heads, packed sequences, and values that are not finite; how close they have to
come is in attention_support.py.
"""

import itertools
import math
import random

import pytest
import torch
from attention_support import (
    EVERY_OPTION,
    HOPPER,
    KERNELS,
    ON_HOPPER,
    compare,
    computes,
    launchers,
    poison,
    reference,
    run,
    scores_of,
    verify,
    verify_lse,
)
from gpu_support import HALVES, normal


@pytest.mark.parametrize("kernel, dtype", KERNELS)
def test_every_width(kernel, dtype):
    for width in (*range(8, 513, 8), 1, 3, 33, 100, 250):
        q, k, v = (normal(1, 2, n, width, dtype=dtype) for n in (67, 130, 130))
        compare(kernel, q, k, v)
        if width % 48 == 0:
            compare(kernel, q, k, v, causal=2)


@pytest.mark.parametrize("kernel, dtype", KERNELS)
def test_every_kernel_once(kernel, dtype):
    """What the sanitizer runs: each instance, with and without guards."""
    for width in (40, 96, 128, 192, 256, 512):
        q, k, v = (normal(1, 2, n, width, dtype=dtype) for n in (70, 90, 90))
        compare(kernel, q, k, v)
        for mask_type in (torch.bool, torch.float32, dtype):
            mask = normal(70, 90) if mask_type != torch.bool else normal(70, 90) > 0
            compare(kernel, q, k, v, mask=mask.to(mask_type))
            compare(kernel, q, k, v, mask=torch.cat((mask, mask[:, :6]), 1).to(mask_type)[:, :90])
        few, many = normal(1, 4, 1, width, dtype=dtype), normal(1, 2, 1100, width, dtype=dtype)
        compare(kernel, few, many, many)  # blocks of threads share the keys
    wide = normal(1, 40, 2, 72, dtype=dtype).transpose(1, 2)[..., 1:66]
    compare(kernel, wide, wide, wide, causal=1, softcap=3.0, slopes=torch.rand(2, device="cuda"))
    q, cu = normal(90, 2, 64, dtype=dtype), torch.tensor([3, 20, 20, 85], device="cuda")
    launchers.attention_varlen(q, q, q, torch.empty_like(q), cu, cu, lse=poison(2, 90))


@pytest.mark.parametrize("kernel, dtype", KERNELS)
def test_lengths(kernel, dtype):
    lengths = (1, 2, 15, 16, 17, 63, 64, 65, 127, 128, 129, 300)
    for queries, keys in itertools.product(lengths, lengths):
        q, k, v = (normal(2, 2, n, 64, dtype=dtype) for n in (queries, keys, keys))
        compare(kernel, q, k, v, causal=random.Random(queries * keys).randrange(3))


@pytest.mark.parametrize("kernel, dtype", KERNELS)
@pytest.mark.parametrize("width", [64, 128, 512])
def test_a_long_sequence(kernel, dtype, width):
    q, k, v = (normal(1, 3, 4608, width, dtype=dtype) for _ in range(3))
    compare(kernel, q, k, v)
    compare(kernel, q * 8, k, v)  # a few keys have nearly all the weight
    compare(kernel, q, k, v, causal=1)


@pytest.mark.parametrize("dtype", (torch.float32, *HALVES))
def test_accuracy_against_torchs_own(dtype):
    """The rule of docs/runtime.md, with the function that is replaced as the original."""
    for width in (40, 64, 128, 256, 512):
        q, k, v = (normal(1, 4, 2048, width, dtype=dtype) for _ in range(3))
        expected, magnitude, _ = reference(q, k, v)
        unit = torch.exp2(torch.floor(torch.log2(magnitude))) * torch.finfo(dtype).eps
        original = torch.nn.functional.scaled_dot_product_attention(q, k, v)
        theirs = (original.double() - expected).abs()
        kernels = [name for name, t in EVERY_OPTION if t == dtype]
        if ON_HOPPER and dtype != torch.float32:
            kernels.append("hopper")
        for kernel in kernels:
            ours = (run(kernel, q, k, v).double() - expected).abs()
            assert ours.max() <= 1.25 * theirs.max() or (ours / unit).max() <= 2
            rms, limit = ours.square().mean().sqrt(), 1.25 * theirs.square().mean().sqrt()
            assert rms <= limit or (ours / unit).square().mean().sqrt() <= 2


def arranged(generator, *shape, dtype, odd=True):
    """Random values, of which the outer dimensions lie in any order, with gaps and a shift, at multiples
    of 16 bytes or, with ``odd``, anywhere."""
    order = generator.sample(range(3), 3)
    pad = generator.choice((0, 0, 8, 3) if odd else (0, 0, 8, 24))
    shift = generator.choice((0, 0, 8, 1) if odd else (0, 0, 8, 40))
    sizes = [shape[d] for d in order] + [shape[3] + pad]
    flat = normal(math.prod(sizes) + shift, dtype=dtype)[shift:]
    tensor = flat.view(sizes)[..., : shape[3]]
    return tensor.permute(*(order.index(d) for d in range(3)), 3)


def masked(generator, batch, heads, queries, keys):
    kind = generator.choice((torch.bool, torch.float32, *HALVES))
    sizes = [1 if generator.random() < 0.35 else n for n in (batch, heads, queries, keys)]
    mask = normal(*sizes)
    mask = mask > -0.5 if kind == torch.bool else mask.to(kind)
    if kind != torch.bool and generator.random() < 0.5:
        mask = mask.masked_fill(torch.rand(sizes, device="cuda") < 0.3, -math.inf)
    if generator.random() < 0.2:  # columns apart
        mask = torch.stack((mask, mask), -1)[..., 0]
    elif generator.random() < 0.3:  # rows apart
        mask = torch.cat((mask, mask), -1)[..., : sizes[3]]
    return mask.expand(batch, heads, queries, keys)


@pytest.mark.parametrize("kernel, dtype", KERNELS)
@pytest.mark.parametrize("block", range(4))
def test_random_problems(kernel, dtype, block):
    computed = 0
    for seed in range(50 * block, 50 * block + 50):
        generator = random.Random(seed)
        torch.manual_seed(seed)
        batch, key_heads = generator.randint(1, 3), generator.randint(1, 3)
        heads = key_heads * generator.randint(1, 3)
        queries, keys = generator.randint(1, 200), generator.randint(1, 300)
        width = generator.choice((8, 32, 40, 64, 72, 80, 96, 128, 160, 200, 256, 320, 448, 512, 37))
        columns = generator.choice((width, width, width, 16, 136))
        # What a kernel does not compute need not be asked for often.
        odd = kernel != "hopper" or generator.random() < 0.1
        more = 1.0 if odd else 0.0
        if not odd and generator.random() < 0.7:
            keys = (keys + 15) // 16 * 16
        how = dict(dtype=dtype, odd=odd)
        q = arranged(generator, batch, heads, queries, width, **how)
        k = arranged(generator, generator.choice((1, batch)), key_heads, keys, width, **how)
        v = arranged(generator, k.shape[0], key_heads, keys, columns, **how)
        options = {"causal": generator.randrange(3)}
        if generator.random() < 0.4:
            options["mask"] = masked(generator, batch, heads, queries, keys)
        if generator.random() < 0.3:
            options["left"] = generator.randint(0, 120)
        if generator.random() < 0.3:
            options["right"] = generator.randint(0, 120)
        if generator.random() < 0.3 * more:
            options["softcap"] = 2.5
        if generator.random() < 0.3 * more:
            slopes = torch.rand(generator.choice(((heads,), (batch, heads))), device="cuda") * 0.3
            options["slopes"] = slopes
        if generator.random() < 0.2:
            options["scale"] = generator.choice((0.3, 0.0, -0.2) if odd else (0.3, 0.02))
        computed += compare(kernel, q, k, v, **options)
    assert computed == 50 or (kernel == "hopper" and computed >= 20)


@pytest.mark.parametrize("kernel, dtype", HOPPER)
@pytest.mark.parametrize("width", [48, 64, 80, 128, 160, 256, 328, 512])
def test_tiles_on_hopper(kernel, dtype, width):
    """Lengths around the edges of tiles and blocks, more tiles than the device computes at once."""
    edges = sorted({n * size + d for size in (64, 80, 112, 128, 160, 192) for n in (1, 2) for d in (-1, 0, 1)})
    generator = random.Random(width)
    for queries in (*edges, 1000, 4099):
        keys = generator.choice((*edges, 4099) if queries < 1000 else edges)
        heads = generator.choice((1, 6) if queries < 1000 else (12, 24))
        key_heads = max(heads // 3, 1)
        q = normal(2, heads, queries, width, dtype=dtype)
        k, v = (normal(2, key_heads, keys, width, dtype=dtype) for _ in range(2))
        compare(kernel, q, k, v)
        compare(kernel, q, k, v, causal=generator.choice((1, 2)))
        compare(kernel, q, k, v, left=generator.choice((0, 70, 300)), right=generator.choice((-1, 0, 200)))


@pytest.mark.parametrize("kernel, dtype", HOPPER)
@pytest.mark.parametrize("width", [40, 64, 96, 128, 160, 256, 328, 512])
def test_masks_on_hopper(kernel, dtype, width):
    """One row for all queries, or a full mask; blocks of keys that nobody sees, rows that see none."""
    batch, heads, queries, keys = 2, 6, 450, 1008
    q = normal(batch, heads, queries, width, dtype=dtype)
    k, v = (normal(batch, heads // 3, keys, width, dtype=dtype) for _ in range(2))
    place = torch.arange(keys, device="cuda")
    keep = torch.rand(batch, 1, queries, keys, device="cuda") > 0.3
    blocks = (torch.arange(queries, device="cuda")[:, None] // 100 == place // 224).expand(1, 1, -1, -1)
    rows = (place < 700, (place > 300) & (place < 330), place == 1000, place % 300 > 290, place < 0)
    for row in rows:
        for mask in (row, torch.zeros(keys, device="cuda").masked_fill(~row, -math.inf).to(dtype)):
            assert compare(kernel, q, k, v, mask=mask.expand(batch, 1, 1, keys))
    bias = normal(batch, heads, 1, keys)
    assert compare(kernel, q, k, v, mask=bias, causal=2) and compare(kernel, q[:, :, :1], k, v, mask=bias)
    full = [keep, blocks.contiguous(), torch.ones_like(keep), keep & (place != 130)]
    full += [normal(1, heads, queries, keys), normal(batch, 1, queries, keys, dtype=dtype)]
    full += [full[-1].masked_fill(~keep, -math.inf)]
    full += [normal(batch, heads, queries, keys).masked_fill(~blocks, -1e4)]
    for mask in full:
        assert compare(kernel, q, k, v, mask=mask)
        compare(kernel, q, k, v, mask=mask, causal=1, left=200)


@pytest.mark.parametrize("kernel, dtype", HOPPER)
def test_few_wide_tiles_share_their_keys(kernel, dtype):
    """As many blocks of threads to a tile as there is room for, some of which have no keys."""
    for queries, keys, causal in itertools.product((1, 64, 300, 1500), (100, 500, 513, 1100, 4096), (0, 1, 2)):
        q, k, v = (normal(1, 1, n, 512, dtype=dtype) for n in (queries, keys, keys))
        assert compare(kernel, q, k, v, causal=causal)
    q, k = normal(1, 2, 130, 384, dtype=dtype), normal(1, 2, 2000, 384, dtype=dtype)
    assert compare(kernel, q, k, normal(1, 2, 2000, 64, dtype=dtype), left=300, right=0)
    assert compare(kernel, q[..., :64], k[..., :64], normal(1, 2, 2000, 448, dtype=dtype))
    k[:, :, 700] = math.nan
    assert run(kernel, q, k, k).isnan().all()


@pytest.mark.parametrize("kernel, dtype", HOPPER)
def test_the_same_result_from_run_to_run(kernel, dtype):
    for width in (64, 128, 256, 512):
        q, k, v = (normal(2, 24, 1500, width, dtype=dtype) for _ in range(3))
        for options in ({}, {"causal": 1}):
            first = run(kernel, q, k, v, **options)
            assert all(torch.equal(first, run(kernel, q, k, v, **options)) for _ in range(5))


@pytest.mark.parametrize("kernel, dtype", KERNELS)
def test_scores_that_grow(kernel, dtype):
    """Every block of keys has larger scores than those before it, for some rows or for all."""
    for width in (64, 128):
        q, k, v = (normal(1, 2, n, width, dtype=dtype) for n in (200, 900, 900))
        k = k * torch.linspace(0.1, 12.0, 900, device="cuda", dtype=dtype)[:, None]
        for rows in (q, q.abs(), torch.cat((q[:, :, :190] * 0.01, q[:, :, 190:]), 2)):
            compare(kernel, rows, k, v)
            compare(kernel, rows, k.abs(), v, causal=2)


@pytest.mark.parametrize("kernel, dtype", KERNELS)
def test_extreme_scores(kernel, dtype):
    for width in (64, 128):
        q, k, v = (normal(1, 2, n, width, dtype=dtype) for n in (200, 500, 500))
        scale = 3e4 / (q.double() @ k.double().transpose(-1, -2)).abs().amax().item()
        expected, magnitude, largest = reference(q, k, v, scale=scale)
        result = run(kernel, q, k, v, scale=scale)
        # A score of that size has an error of some hundredths in float32.
        assert ((result.double() - expected).abs() <= 5e-2 * magnitude).all()


@pytest.mark.parametrize("kernel, dtype", KERNELS)
def test_rows_without_a_key_are_zeros(kernel, dtype):
    q, k, v = (normal(2, 2, n, 64, dtype=dtype) for n in (150, 90, 90))
    result = run(kernel, q, k, v, causal=2)  # the first 60 queries see none
    assert not result[:, :, :60].any() and result[:, :, 60:].all(-1).any()
    keep = torch.rand(2, 1, 150, 1, device="cuda") > 0.5
    for mask in (keep, torch.zeros(keep.shape, device="cuda").masked_fill(~keep, -math.inf)):
        mask = mask.expand(2, 1, 150, 96).contiguous()[..., :90]  # rows at multiples of 16 bytes
        result = run(kernel, q, k, v, mask=mask)
        assert torch.equal(result.any(-1), keep[..., 0].expand(2, 2, 150))
    if computes(kernel, q, k[:, :, :0], v[:, :, :0]):
        assert not run(kernel, q, k[:, :, :0], v[:, :, :0]).any()


@pytest.mark.parametrize("kernel, dtype", KERNELS)
def test_the_lowest_number_in_a_mask_is_no_infinity(kernel, dtype):
    q, k, v = (normal(1, 2, n, 64, dtype=dtype) for n in (70, 80, 80))
    for mask_type in (torch.float32, dtype):
        mask = torch.full((70, 80), torch.finfo(mask_type).min, dtype=mask_type, device="cuda")
        mask[::2, :3] = 0.0
        result = run(kernel, q, k, v, mask=mask)
        if mask_type == torch.float16:  # a float32 sum with this number has an error of 2 ** -9
            expected, magnitude, _ = reference(q, k, v, mask=mask)
            assert ((result.double() - expected).abs() <= 6e-3 * magnitude).all()
            continue
        # The number swallows what it is added to.
        scores = mask.float() + (q.float() @ k.float().transpose(-1, -2) * 64**-0.5)
        weights = torch.softmax(scores.double(), -1)
        verify(result, weights @ v.double(), weights @ v.double().abs(), torch.ones(()).cuda())
        assert torch.allclose(weights[:, :, 1], torch.full_like(weights[:, :, 1], 1 / 80))


@pytest.mark.parametrize("kernel, dtype", KERNELS)
@pytest.mark.parametrize("odd", [math.nan, math.inf, -math.inf])
def test_values_that_are_not_finite(kernel, dtype, odd):
    for place in ("query", "key", "value"):
        q, k, v = (normal(1, 2, n, 64, dtype=dtype) for n in (70, 200, 200))
        dict(query=q, key=k, value=v)[place][0, 1, 66, 5] = odd
        result = run(kernel, q, k, v)
        expected, *_ = reference(q, k, v)
        clean = expected.isfinite()
        assert torch.equal(result.isnan(), expected.isnan())
        assert torch.equal(result[~clean].float().nan_to_num(7), expected[~clean].float().nan_to_num(7))
    # A key that no row sees does not reach the result, whatever it holds.
    q, k, v = (normal(1, 2, n, 64, dtype=dtype) for n in (70, 200, 200))
    k[:, :, 130] = odd
    compare(kernel, q, k, v, mask=torch.arange(200, device="cuda") != 130)
    k = k[:, :, :131]
    compare(kernel, q, k, v[:, :, :131], right=59, causal=1)


@pytest.mark.parametrize("kernel, dtype", KERNELS)
def test_nothing_is_written_outside_the_result(kernel, dtype):
    q, k, v = (normal(1, 2, n, 40, dtype=dtype) for n in (70, 80, 80))
    around = torch.full((1, 2, 72, 56), 7.0, dtype=dtype, device="cuda")
    launchers.attention(kernel, q, k, v, around[:, :, 1:71, 8:48])
    verify(around[:, :, 1:71, 8:48], *reference(q, k, v))
    around[:, :, 1:71, 8:48] = 7.0
    assert (around == 7.0).all()


@pytest.mark.usefixtures("much_memory")
@pytest.mark.parametrize("kernel, dtype", [*EVERY_OPTION[1:3], HOPPER[1]])
def test_strides_beyond_32_bits(kernel, dtype):
    far = 2**31 + 64
    memory = torch.empty(2 * far + 2**20, dtype=dtype, device="cuda")

    def place(length, begin):
        made = memory.as_strided((2, 2, length, 64), (far, 8192 * 64, 64, 1), begin)
        return made.normal_()

    q, k, v, out = place(70, 0), place(90, 70 * 64), place(90, 160 * 64), place(70, 250 * 64)
    launchers.attention(kernel, q, k, v, out)
    verify(out, *reference(q, k, v))
    rows = memory.as_strided((1, 1, 3, 64), (0, 0, far, 1)).normal_()
    compare(kernel, rows, rows, rows)


@pytest.mark.usefixtures("much_memory")
@pytest.mark.parametrize("kernel, dtype", [EVERY_OPTION[1], HOPPER[1]])
def test_results_of_more_than_32_bits(kernel, dtype):
    length = 2**31 // 128 + 1000
    q = normal(1, 1, 4096, 128, dtype=dtype).repeat(1, 1, length // 4096 + 1, 1)[:, :, :length]
    k, v = (normal(1, 1, 200, 128, dtype=dtype) for _ in range(2))
    result = run(kernel, q, k, v)
    for part in (slice(0, 500), slice(length - 1500, length)):
        verify(result[:, :, part], *reference(q[:, :, part], k, v))


@pytest.mark.parametrize("dtype", (torch.float32, *HALVES))
@pytest.mark.parametrize("integer", [torch.int32, torch.int64])
def test_packed_sequences(dtype, integer):
    generator = random.Random(5)
    for seed in range(24):
        torch.manual_seed(seed)
        count = generator.choice((0, 1, 2, 5, 40, 100))
        lengths = [[generator.choice((0, 1, 7, 64, 129, 200)) for _ in range(count)] for _ in "qk"]
        margins = [generator.choice((0, 0, 5, 130)) for _ in range(2)]
        heads, width = generator.choice(((2, 64), (4, 40), (2, 128), (1, 256)))
        q, k, v = (
            normal(sum(lengths[i]) + sum(margins), n, width, dtype=dtype)
            for i, n in ((0, heads), (1, max(heads // 2, 1)), (1, max(heads // 2, 1)))
        )
        cu = [
            torch.tensor([margins[0], *(margins[0] + sum(l[: i + 1]) for i in range(count))])
            for l in lengths
        ]
        options = {"causal": 2} if seed % 2 else {}
        slopes = torch.rand(count, heads, device="cuda") if seed % 3 == 0 and count else None
        output, lse = torch.full_like(q, 123.0), poison(*q.shape[1::-1]) if seed % 4 < 3 else None
        launchers.attention_varlen(
            q, k, v, output, *(c.to("cuda", integer) for c in cu), slopes=slopes, lse=lse, **options
        )
        outside = torch.ones(len(q), dtype=torch.bool)
        expected, magnitude, largest = torch.zeros(3, *q.shape, dtype=torch.float64, device="cuda")
        for s in range(count):
            rows, columns = (slice(c[s], c[s + 1]) for c in cu)
            part = [t.transpose(0, 1)[None] for t in (q[rows], k[columns], v[columns])]
            own = None if slopes is None else slopes[s]
            found = reference(*part, slopes=own, **options)
            expected[rows], magnitude[rows], largest[rows] = (t[0].transpose(0, 1) for t in found)
            outside[rows] = False
            if lse is not None:
                verify_lse(lse[None, :, rows], scores_of(*part[:2], slopes=own, **options))
        verify(output, expected, magnitude, largest)
        assert lse is None or (lse[:, outside] == -math.inf).all()


def test_wrong_boundaries_read_nothing_else():
    q = normal(100, 2, 64, dtype=torch.float16)
    for cu in ([-5, 300], [50, 20, 90], [0, 2**31 - 1], [2**31 - 2, 2**31 - 1]):
        bounds = torch.tensor(cu, device="cuda", dtype=torch.int32)
        launchers.attention_varlen(q, q, q, torch.empty_like(q), bounds, bounds)
    torch.cuda.synchronize()
