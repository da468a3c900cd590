"""Rotation by frames, rows and columns against rope_apply as the Wan family writes it."""

import math

import pytest
import torch
from accuracy import FLOATS, assert_accurate
from mindiesd import ext
from mindiesd.utils import ParametersInvalid
from torch.utils._python_dispatch import TorchDispatchMode

DEVICES = [
    "cpu",
    pytest.param(
        "cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
    ),
]


def table(places, width, device="cpu", dtype=torch.complex128):
    """Wan's: a third of the columns for each direction, with frequencies of its own."""
    third = 2 * (width // 6)
    parts = [
        torch.outer(
            torch.arange(places, dtype=torch.float64),
            10000.0 ** -(torch.arange(0, size, 2, dtype=torch.float64) / max(size, 1)),
        )
        for size in (width - 2 * third, third, third)
    ]
    angles = torch.cat(parts, 1)
    return torch.polar(torch.ones_like(angles), angles).to(dtype).to(device)


def lines(x, grid_sizes, freqs, computing):
    """In complex numbers of ``computing``'s precision; not rounded to float32."""
    count, pairs = x.shape[2], x.shape[3] // 2
    third = pairs // 3
    parts = freqs.split([pairs - 2 * third, third, third], dim=1)
    output = []
    for i, (f, h, w) in enumerate(grid_sizes):
        length = f * h * w
        turned = torch.view_as_complex(x[i, :length].to(computing).reshape(length, count, -1, 2))
        own = torch.cat(
            [
                parts[0][:f].view(f, 1, 1, -1).expand(f, h, w, -1),
                parts[1][:h].view(1, h, 1, -1).expand(f, h, w, -1),
                parts[2][:w].view(1, 1, w, -1).expand(f, h, w, -1),
            ],
            dim=-1,
        ).reshape(length, 1, -1)
        turned = torch.view_as_real(turned * own).flatten(2)
        output.append(torch.cat([turned, x[i, length:].to(turned.dtype)]))
    return torch.stack(output)


def norms(x):
    """Of each pair, which its rotation keeps."""
    pairs = x.double().unflatten(-1, (-1, 2))
    return pairs.norm(dim=-1, keepdim=True).expand_as(pairs).flatten(-2)


GRIDS = (
    ((1, 3, 4), (2, 2, 3)), ((3, 4, 2), (3, 4, 2)), ((1, 1, 1), (4, 1, 5)), ((2, 1, 7), (5, 5, 1)),
)  # fmt: skip


@pytest.mark.parametrize("kind", [torch.complex128, torch.complex64])
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("device", DEVICES)
def test_as_exact_as_rope_apply(backend, device, dtype, kind):
    for grids in GRIDS:
        for width, count in ((128, 5), (64, 2), (8, 3), (20, 1), (2, 2), (6, 4)):
            x = torch.randn(2, 29, count, width, device=device).to(dtype)
            freqs = table(9, width, device, kind)
            exact = lines(x, grids, freqs.to(torch.complex128), torch.float64)
            original = lines(x, grids, freqs, torch.float64).float()
            found = ext.rotary_grid(x, freqs, torch.tensor(grids))
            assert found.is_contiguous()
            assert_accurate(found, original, exact, norms(x).clamp_min(1e-30))
            for i, (f, h, w) in enumerate(grids):
                assert torch.equal(found[i, f * h * w :], x[i, f * h * w :].float())


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("device", DEVICES)
def test_any_strides_and_enough_elements(device, dtype):
    freqs, grids = table(64, 128, device), ((4, 9, 16), (2, 20, 16))
    packed = torch.randn(2, 650, 3, 4, 128, device=device).to(dtype)
    heads_first = packed[:, :, 0].transpose(1, 2).contiguous().transpose(1, 2)
    repeated = packed[:, :, 0, :1].expand(-1, -1, 3, -1)
    for x in (packed[:, :, 1], heads_first, packed[:, 3:648, 2], repeated):
        exact = lines(x, grids, freqs, torch.float64)
        assert_accurate(ext.rotary_grid(x, freqs, grids), exact.float(), exact, norms(x))
    apart = torch.randn(2, 650, 4, 256, device=device).to(dtype)[..., ::2]
    exact = lines(apart, grids, freqs, torch.float64)
    assert_accurate(ext.rotary_grid(apart, freqs, grids), exact.float(), exact, norms(apart))


@pytest.mark.parametrize("device", DEVICES)
def test_a_grid_without_cells_turns_nothing(backend, device):
    x = torch.randn(2, 26, 2, 16, device=device)
    found = ext.rotary_grid(x, table(8, 16, device), [(0, 3, 2), (2, 2, 0)])
    assert torch.equal(found, x)


@pytest.mark.parametrize("device", DEVICES)
def test_many_samples_and_none(device):
    freqs = table(8, 16, device)
    grids = [(1 + i % 3, 1 + i % 4, 2) for i in range(19)]
    x = torch.randn(19, 26, 2, 16, device=device)
    exact = lines(x, grids, freqs, torch.float64)
    assert_accurate(ext.rotary_grid(x, freqs, grids), exact.float(), exact, norms(x))
    for shape in ((0, 26, 2, 16), (1, 0, 2, 16), (2, 3, 0, 16)):
        empty = torch.empty(shape, device=device)
        found = ext.rotary_grid(empty, freqs, torch.zeros(shape[0], 3, dtype=torch.int32))
        assert (found.shape, found.dtype) == (empty.shape, torch.float32)


class Seen(TorchDispatchMode):
    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        if function.namespace == "mindiesd":
            self.names.append(function.name())
        return function(*args, **(kwargs or {}))


def test_it_is_one_operator_whose_sizes_are_read_each_time():
    freqs, x = table(8, 16), torch.randn(1, 26, 2, 16)
    sizes = torch.tensor([[2, 3, 4]])
    for given in ((2, 3, 4), (1, 5, 5), (3, 2, 4), (2, 3, 4)):
        sizes.copy_(torch.tensor([given]))
        for _ in range(2):
            exact = lines(x, [given], freqs, torch.float64).float()
            torch.testing.assert_close(ext.rotary_grid(x, freqs, sizes), exact)
    with Seen() as seen:
        seen.names = []
        ext.rotary_grid(x, freqs, sizes)
    assert seen.names == ["mindiesd::rotary_grid"]


def test_values_that_are_not_finite_stay_in_their_pairs():
    freqs, x = table(8, 16), torch.randn(1, 9, 2, 16)
    x[0, 2, 1, 4], x[0, 8, 0, 0] = math.inf, math.inf
    found = ext.rotary_grid(x, freqs, [(2, 2, 2)])
    bad = ~torch.isfinite(found)
    assert bad[0, 2, 1, 4:6].any() and bad.sum() <= 3
    assert found[0, 8, 0, 0] == math.inf


def test_graphs_have_it():
    torch._dynamo.reset()
    freqs, sizes = table(8, 16), torch.tensor([[2, 3, 4], [1, 2, 3]])
    compiled = torch.compile(lambda x, s: ext.rotary_grid(x, freqs, s) + 1, fullgraph=True, backend="aot_eager")
    for _ in range(2):
        x = torch.randn(2, 26, 2, 16)
        torch.testing.assert_close(compiled(x, sizes), ext.rotary_grid(x, freqs, sizes) + 1)
        sizes = sizes.flip(0)
    with pytest.raises(RuntimeError, match="grid_sizes must"):
        compiled(x, torch.tensor([[2, 3, 9], [1, 2, 3]]))
    torch._dynamo.reset()


def test_gradients():
    freqs, x = table(8, 12), torch.randn(2, 7, 2, 12, requires_grad=True)
    with torch.enable_grad():
        grids = [(1, 2, 3), (2, 1, 3)]
        ext.rotary_grid(x, freqs, grids).square().sum().backward()
    torch.testing.assert_close(x.grad, 2 * x.detach())  # a rotation keeps the sum of squares


X, FREQS = torch.randn(1, 8, 2, 12), table(8, 12)


@pytest.mark.parametrize(
    "arguments, text",
    [
        ((X[0], FREQS, [(1, 2, 3)]), "x must be a floating tensor"),
        ((X[..., :7], FREQS, [(1, 2, 3)]), "x must be a floating tensor"),
        ((X.int(), FREQS, [(1, 2, 3)]), "x must be a floating tensor"),
        ((X, FREQS.real, [(1, 2, 3)]), "freqs must be a complex tensor"),
        ((X, FREQS[:, :5], [(1, 2, 3)]), "freqs must be a complex tensor"),
        ((X, FREQS, [(1, 2)]), "grid_sizes must have shape"),
        ((X, FREQS, [(1, 2, 3)] * 2), "grid_sizes must have shape"),
        ((X, FREQS, [(1, 2, "w")]), "grid_sizes must hold triples"),
        ((X, FREQS, torch.ones(1, 3)), "grid_sizes must be integers"),
        ((X, FREQS, 3), "grid_sizes must be a tensor or a list"),
        ((X, FREQS, [(3, 3, 1)]), "at most x's 8 positions"),
        ((X, FREQS, [(1, 1, -1)]), "grid_sizes must lie in 0"),
        ((X, FREQS[:2], [(1, 1, 3)]), "grid_sizes must lie in 0 to the table's 2 rows"),
        ((None, FREQS, [(1, 1, 3)]), "x must be a torch.Tensor"),
    ],
)
def test_bad_arguments(arguments, text):
    with pytest.raises(ParametersInvalid, match=text):
        ext.rotary_grid(*arguments)
