"""Attention on a GPU: every back end computes the same, which one is taken, and how calls repeat."""

import accuracy
import formulas
import mindiesd
import pytest
import torch
import torch.nn.functional as F
from mindiesd import _backends, _eager, _library, _memory, ext

pytestmark = [
    pytest.mark.skipif(
        not torch.cuda.is_available() or "cuda" not in _library.DEVICES,
        reason="no CUDA device, or a library without CUDA",
    ),
    pytest.mark.usefixtures("nothing_remembered"),
]
HALVES = (torch.float16, torch.bfloat16)
OURS = ("tensor_core", "multiply_add")
# A library without code for compute capability 9.0 lacks "hopper"; elsewhere it computes nothing, and the
# library chooses instead.
BACKENDS = _library.attention_backends("cuda") if "cuda" in _library.DEVICES else ()


def operands(*shape, dtype=torch.bfloat16, key=None):
    return [
        torch.randn(s, device="cuda").to(dtype) for s in (shape, key or shape, key or shape)
    ]


def attend(name, q, k, v, mask=None, **options):
    return ext.attention_forward(q, k, v, mask, opt_mode="manual", op_type=name, **options)


def check(q, k, v, result, **options):
    """By the rule; operands and result are [B, S, N, D]."""
    q, k, v, result = (t.transpose(1, 2).cpu() for t in (q, k, v, result))
    options = {n: t.cpu() if isinstance(t, torch.Tensor) else t for n, t in options.items()}
    reference = formulas.attention(q.double(), k.double(), v.double(), **options)
    original = formulas.attention(q.float(), k.float(), v.float(), **options).to(q.dtype)
    size = formulas.magnitude(q, k, v, **options)
    accuracy.assert_accurate(result, original, reference, size)


def test_the_library_has_its_back_ends():
    assert BACKENDS in (("cudnn", *OURS), ("hopper", "cudnn", *OURS))
    assert "torch" in _backends.names()


@pytest.mark.parametrize("name", [*BACKENDS, "torch", "math"])
@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("head_first", [True, False])
@pytest.mark.parametrize("width", [40, 64, 128, 256])
def test_every_back_end_computes_the_same(name, dtype, head_first, width):
    q, k, v = operands(2, 130, 4, width, dtype=dtype, key=(2, 200, 2, width))
    given = [t.transpose(1, 2) for t in (q, k, v)] if head_first else [q, k, v]
    result = attend(name, *given, head_first=head_first)
    assert result.stride() == given[0].stride()
    check(q, k, v, result.transpose(1, 2) if head_first else result)


@pytest.mark.parametrize("name", [*BACKENDS, "torch"])
@pytest.mark.parametrize("kind", ["boolean", "float", "padding"])
def test_masks(name, kind):
    q, k, v = operands(2, 70, 3, 64)
    mask = torch.randn(2, 1, 70, 70, device="cuda")
    mask = {"boolean": mask > 0, "float": mask.bfloat16(), "padding": mask[:, :, :1] > -1}[kind]
    check(q, k, v, attend(name, q, k, v, mask), mask=mask)
    causal = attend(name, q, k, v, mask, is_causal=True)
    check(q, k, v, causal, mask=mask, causal="top_left")


@pytest.mark.parametrize("name", [*BACKENDS, "torch", "math"])
def test_queries_without_a_key_give_zeros(name):
    q, k, v = operands(2, 70, 3, 64)
    keep = torch.rand(2, 1, 70, 1, device="cuda") > 0.5
    rows = keep[:, 0, :, 0]
    for mask in (
        keep, keep.expand(2, 3, 70, 70), keep.logical_not().bfloat16() * float("-inf"),
    ):  # fmt: skip
        mask = mask.nan_to_num(0.0, neginf=float("-inf")) if mask.is_floating_point() else mask
        result = attend(name, q, k, v, mask)
        assert torch.equal(result.flatten(2).any(-1), rows)
        assert result.isfinite().all()


def by_cudnn(q, k, v, mask=None, **options):
    """By the library's own use of cuDNN; None where it does not compute the problem."""
    output = torch.full_like(q, 123.0)
    tensors = dict(query=q, key=k, value=v, output=output, mask=mask, alibi_slopes=None)
    scalars = dict(
        scale=q.shape[-1] ** -0.5, softcap=0.0, window_left=-1, window_right=-1, layout=0, causal=0
    ) | options
    number = BACKENDS.index("cudnn") + 1
    if not _library.attention_supported(tensors, **scalars, backend=number):
        return None
    return output if _library.attention(tensors, **scalars, backend=number) else None


def cudnn_usable():
    q, k, v = operands(1, 64, 1, 64)
    return by_cudnn(q, k, v) is not None


needs_cudnn = pytest.mark.skipif(
    not torch.cuda.is_available() or "cuda" not in _library.DEVICES or not cudnn_usable(),
    reason="no CUDA device, or none that a cuDNN of 9.13.1 or newer serves",
)


@needs_cudnn
@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("lengths", [(130, 200), (200, 77), (1, 77)])
@pytest.mark.parametrize(
    "kind",
    ["two dimensions", "keys", "batches", "heads", "everything", "unaligned", "bias", "blind", "float32"],
)
def test_cudnn_takes_masks(dtype, lengths, kind):
    rows, columns = lengths
    q, k, v = operands(2, rows, 4, 64, dtype=dtype, key=(2, columns, 2, 64))
    full = mask_of(kind, rows, columns, dtype)
    result = by_cudnn(q, k, v, full)
    assert result is not None
    check(q, k, v, result, mask=full)
    if kind in BLIND:
        assert not result[:, :: BLIND[kind]].any()


BLIND = {"bias": 3, "float32": 3, "blind": 2}
"""Every how many queries see no key."""


def mask_of(kind, rows, columns, dtype):
    """[2, 4, rows, columns], most of them repeated there."""
    shape = {
        "two dimensions": (1, 1, rows, columns), "keys": (2, 1, 1, columns),
        "heads": (1, 4, rows, columns), "everything": (2, 4, rows, columns),
    }.get(kind, (2, 1, rows, columns))  # fmt: skip
    mask = torch.rand(shape, device="cuda") > 0.4
    if kind == "unaligned":
        mask = torch.randn(2, 1, rows, columns + 3, device="cuda").to(dtype)[..., 3:]
    elif kind in ("bias", "float32"):
        # float32: too far from zero for the type of the operands
        mask = torch.randn(shape, device="cuda")
        mask = mask.to(dtype) if kind == "bias" else mask + 300.0
        mask[:, :, ::3] = float("-inf")
    elif kind == "blind":
        mask[:, :, ::2] = False
    return mask.expand(2, 4, rows, columns)


@needs_cudnn
@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("width", [40, 64, 128, 256])
@pytest.mark.parametrize("lengths", [(130, 130), (130, 200), (200, 77), (1, 77)])
def test_cudnn_is_causal(dtype, width, lengths):
    rows, columns = lengths
    q, k, v = operands(2, rows, 4, width, dtype=dtype, key=(2, columns, 2, width))
    for causal, alignment in ((1, "top_left"), (2, "bottom_right")):
        result = by_cudnn(q, k, v, causal=causal)
        if alignment == "bottom_right" and rows > columns:
            assert result is None  # its first rows see no key
            continue
        assert result is not None
        check(q, k, v, result, causal=alignment)


@needs_cudnn
@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("lengths", [(130, 130), (130, 200), (1, 77), (300, 1600)])
@pytest.mark.parametrize("kind", [None, "keys", "blind", "bias", "float32"])
@pytest.mark.parametrize("causal", [None, "top_left", "bottom_right"])
def test_cudnn_takes_windows_and_masks_with_causality(dtype, lengths, kind, causal):
    rows, columns = lengths
    q, k, v = operands(2, rows, 4, 64, dtype=dtype, key=(2, columns, 2, 64))
    mask = mask_of(kind, rows, columns, dtype) if kind else None
    number = {None: 0, "top_left": 1, "bottom_right": 2}[causal]
    for left, right in ((-1, -1), (16, 0), (-1, 5), (16, 5), (16, -1), (0, 0)):
        result = by_cudnn(q, k, v, mask, causal=number, window_left=left, window_right=right)
        if causal == "top_left" and 0 <= left < columns - rows:
            assert result is None  # the first queries see no key
            continue
        assert result is not None
        check(q, k, v, result, mask=mask, causal=causal, window=(left, right))
        if kind in BLIND:
            assert not result[:, :: BLIND[kind]].any()


@needs_cudnn
@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("mask_type", ["float32", "own"])
def test_the_lowest_number_in_a_mask_is_no_infinity_to_cudnn(dtype, mask_type):
    """A query for which all keys have it sees them all alike: the number swallows the scores."""
    q, k, v = operands(1, 70, 2, 64, dtype=dtype, key=(1, 80, 2, 64))
    number = torch.float32 if mask_type == "float32" else dtype
    mask = torch.full((1, 1, 70, 80), torch.finfo(number).min, dtype=number, device="cuda")
    mask[:, :, ::2, :3] = 0.0
    for causal in (0, 1):
        result = by_cudnn(q, k, v, mask.expand(1, 2, 70, 80), causal=causal)
        seen = mask[:, :, ::2] == 0.0
        if causal:
            seen = seen & torch.ones(70, 80, device="cuda").tril().bool()[::2]
        check(q[:, ::2], k, v, result[:, ::2], mask=seen)
        if number == torch.float16:  # leaves some of the scores
            continue
        alike = v.double().mean(1, keepdim=True).expand(-1, 70, -1, -1)
        if causal:
            alike = v.double().cumsum(1)[:, :70] / torch.arange(1, 71, device="cuda").view(1, -1, 1, 1)
        difference = (result.double() - alike)[:, 1::2].abs() / alike[:, 1::2].abs().clamp(min=1)
        assert difference.max() <= torch.finfo(dtype).eps


@needs_cudnn
def test_what_cudnn_does_not_take():
    q, k, v = operands(2, 130, 4, 64)
    keep = torch.rand(2, 4, 130, 130, device="cuda") > 0.4
    other = torch.float16 if q.dtype == torch.bfloat16 else torch.bfloat16
    assert by_cudnn(q, k, v, keep.to(other)) is None
    assert by_cudnn(q, k, v, keep[..., :1].expand(2, 4, 130, 130)) is None
    assert by_cudnn(q.float(), k.float(), v.float()) is None
    # Queries without a key, and windows where there are fewer keys than queries.
    assert by_cudnn(q, k[:, :77], v[:, :77], causal=2) is None
    assert by_cudnn(q, k[:, :77], v[:, :77], window_left=5, window_right=5) is None
    assert by_cudnn(q, k, v, softcap=3.0) is None


@pytest.mark.parametrize("name", [*BACKENDS, "torch"])
def test_calls_repeat(name):
    """The second call of a kind goes around Python's checks, to the same back end."""
    for head_first in (False, True):
        first = operands(2, 130, 4, 64)
        second = operands(2, 130, 4, 64)
        wanted = attend(name, *second, head_first=head_first)
        _eager.forget()
        attend(name, *first, head_first=head_first)
        assert not _eager.available or _eager.forget() == 1
        attend(name, *first, head_first=head_first)
        found = attend(name, *second, head_first=head_first)
        assert torch.equal(found, wanted) and found.stride() == wanted.stride()


@pytest.mark.parametrize("name", [*BACKENDS, "torch"])
def test_graphs_capture_it(name):
    q, k, v = operands(2, 130, 4, 64)
    attend(name, q, k, v)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = attend(name, q, k, v)
    q.copy_(q.flip(0))
    graph.replay()
    assert torch.equal(captured, attend(name, q, k, v))


@pytest.mark.parametrize("options", [{}, dict(opt_mode="static"), dict(opt_mode="manual", op_type="cudnn")])
def test_a_first_call_may_be_captured(options):
    """Nothing is measured then, and cuDNN makes no plan."""
    q, k, v = operands(2, 130 + 8 * len(options), 4, 64)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = mindiesd.attention_forward(q, k, v, **options)
    graph.replay()
    check(q, k, v, captured)
    assert not _memory.entries(q.device)


def test_operands_that_lie_at_odd_places():
    """cuDNN wants aligned operands; the library's own kernels take the rest of such calls."""
    memory = torch.randn(3, 2 * 130 * 4 * 64 + 8, device="cuda").bfloat16()
    for shift in (0, 8, 1):
        q, k, v = (m[shift : shift + 2 * 130 * 4 * 64].view(2, 130, 4, 64) for m in memory)
        for name in BACKENDS:
            check(q, k, v, attend(name, q, k, v))
    check(q, k, v, mindiesd.attention_forward(q, k, v))


def test_what_is_fastest_is_measured_once():
    q, k, v = operands(1, 4096, 16, 64)  # beside its time the host's does not count
    result = mindiesd.attention_forward(q, k, v)
    torch.testing.assert_close(result, attend("tensor_core", q, k, v), rtol=2e-2, atol=2e-3)
    (entry,) = _memory.entries(q.device).values()
    assert set(entry["seconds"]) >= {"tensor_core", "torch"}
    assert entry["seconds"][entry["backend"]] <= 1.03 * min(entry["seconds"].values())
    mindiesd.attention_forward(q, k, v)
    assert len(_memory.entries(q.device)) == 1


def test_short_calls_spare_the_host():
    q, k, v = operands(1, 64, 2, 64)
    mindiesd.attention_forward(q, k, v)
    (entry,) = _memory.entries(q.device).values()
    assert entry["backend"] in ("hopper", "tensor_core")


def test_static_choices(monkeypatch):
    options = dict(layout=0, causal=0, window_left=-1, window_right=-1, softcap=0.0, scale=0.125)

    def chosen(q, k, v, **changes):
        mask = changes.pop("mask", None)
        tensors = dict(
            query=q, key=k, value=v, output=torch.empty_like(q), mask=mask, alibi_slopes=None
        )
        return _backends.choose("static", tensors, options | changes)

    dense = operands(1, 130, 2, 64)
    found = _backends.supported(
        dict(query=dense[0], key=dense[1], value=dense[2], output=dense[0].clone()), options
    )
    has_cudnn = BACKENDS.index("cudnn") + 1 in found
    has_any = has_cudnn or BACKENDS[found[0] - 1] == "hopper"
    assert chosen(*dense) == (0 if has_any else _backends.TORCH)
    assert chosen(*dense, causal=1) == (0 if has_any else _backends.TORCH)
    keep = torch.rand(1, 2, 130, 130, device="cuda") > 0.4
    assert chosen(*dense, mask=keep) == (0 if has_cudnn else _backends.TORCH)
    assert chosen(*dense, mask=keep, causal=1) == (0 if has_cudnn else _backends.TORCH)
    assert chosen(*dense, mask=keep[..., :1].expand_as(keep)) == 0
    unaligned = torch.randn(1 + 130 * 2 * 64, device="cuda").bfloat16()[1:].view(1, 130, 2, 64)
    assert chosen(unaligned, *dense[1:]) == _backends.TORCH
    assert chosen(*dense, window_left=3) == 0
    assert chosen(*operands(1, 130, 2, 512)) == 0


@pytest.mark.parametrize("dtype", (torch.float32, *HALVES))
def test_packed_sequences(dtype):
    lengths = ([5, 0, 130, 64], [9, 3, 200, 64])
    q = torch.randn(sum(lengths[0]), 4, 64, device="cuda").to(dtype)
    k, v = (torch.randn(sum(lengths[1]), 2, 64, device="cuda").to(dtype) for _ in "kv")
    cu = [torch.tensor([0, *n]).cumsum(0).int().cuda() for n in lengths]
    for causal in (False, True):
        result = mindiesd.attention_forward_varlen(q, k, v, *cu, causal=causal)
        begin = key_begin = 0
        for n, m in zip(*lengths, strict=True):
            part = (q[begin : begin + n], k[key_begin : key_begin + m], v[key_begin : key_begin + m])
            if n:
                own = result[begin : begin + n]
                check(
                    *(t[None] for t in (*part, own)), causal="bottom_right" if causal else None
                )
            begin, key_begin = begin + n, key_begin + m


def test_float32_is_not_rounded_to_less():
    q, k, v = operands(1, 300, 2, 64, dtype=torch.float32)
    check(q, k, v, attend("multiply_add", q, k, v))
    with torch.inference_mode():
        check(q, k, v, mindiesd.attention_forward(q, k, v))


def test_key_lengths_and_flash_extras():
    q, k, v = operands(2, 70, 4, 64, key=(2, 90, 2, 64))
    lengths = torch.tensor([90, 41], device="cuda")
    mask = (torch.arange(90, device="cuda") < lengths[:, None])[:, None, None]
    check(q, k, v, ext.attention_forward(q, k, v, key_lengths=lengths), mask=mask)
    slopes = torch.rand(4, device="cuda") * 0.3
    found = ext.attention_forward(
        q, k, v, is_causal=True, causal_alignment="bottom_right", window_size=(30, 2), softcap=2.5,
        alibi_slopes=slopes,
    )  # fmt: skip
    check(
        q, k, v, found, causal="bottom_right", window=(30, 2), softcap=2.5, slopes=slopes
    )


def test_it_replaces_torchs_function():
    q, k, v = operands(2, 4, 130, 64)
    found = ext.attention_forward(q, k, v, head_first=True)
    torch.testing.assert_close(
        found, F.scaled_dot_product_attention(q, k, v), rtol=2e-2, atol=2e-2
    )
