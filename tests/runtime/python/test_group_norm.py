"""GroupNorm with and without SiLU against the lines that it replaces, and modules that have to be called."""

import itertools

import pytest
import torch
import torch.nn.functional as F
from accuracy import FLOATS, HALF, Pool, assert_accurate
from mindiesd import ext
from mindiesd.utils import ParametersInvalid
from torch.utils._python_dispatch import TorchDispatchMode

DEVICES = [
    "cpu",
    pytest.param(
        "cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
    ),
]
# Groups that a block holds, that several blocks share, planes of odd sizes, one position, no dimension behind
# the channels, five dimensions.
SHAPES = (
    ((2, 64, 16, 16), 32), ((1, 32, 128, 96), 4), ((2, 12, 7, 9), 3), ((3, 8, 1, 1), 2), ((5, 24), 4),
    ((2, 32, 4, 6, 8), 8), ((1, 6, 77), 6), ((2, 40, 33), 1), ((1, 320, 24, 24), 32), ((4, 16, 1, 4096), 16),
)  # fmt: skip


class Operators(TorchDispatchMode):
    """Our operators that ran."""

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        if function.namespace == "mindiesd":
            self.seen.append(function.name())
        return function(*args, **(kwargs or {}))

    def __enter__(self):
        self.seen = []
        return super().__enter__()


def ours(call):
    with Operators() as operators:
        call()
    return operators.seen


def made(groups, channels, dtype, device, affine=True):
    norm = torch.nn.GroupNorm(groups, channels, eps=1e-5, affine=affine, device=device)
    for parameter in norm.parameters():
        parameter.normal_()
    return norm.to(dtype)


def exact(norm, x, silu):
    weight, bias = (None if t is None else t.double() for t in (norm.weight, norm.bias))
    y = F.group_norm(x.double(), norm.num_groups, weight, bias, norm.eps)
    return F.silu(y) if silu else y


def magnitude(norm, x, silu):
    """Of the terms that are added; a mean far from zero may cancel a value."""
    result = exact(norm, x, silu).abs()
    return result if norm.bias is None else result + norm.bias.double().abs().view(-1, *[1] * (x.dim() - 2))


def laid_out(x, like):
    if like == "last" and x.dim() in (4, 5):
        return x.contiguous(memory_format=torch.channels_last if x.dim() == 4 else torch.channels_last_3d)
    if like == "sliced":  # of more channels
        return torch.cat((x, x), 1)[:, : x.shape[1]]
    if like == "tokens":  # as a sequence of vectors lies that was transposed
        return x.transpose(1, -1).contiguous().transpose(1, -1)
    if like == "strided":
        return torch.stack((x, x), -1)[..., 0]
    return x


LIKE = ("dense", "last", "sliced", "tokens", "strided")


@pytest.mark.parametrize("like", LIKE)
@pytest.mark.parametrize("silu", [False, True])
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("device", DEVICES)
def test_as_accurate_as_torchs(backend, device, dtype, silu, like):
    errors = Pool()
    for (shape, groups), affine in itertools.product(SHAPES, (True, False)):
        x = laid_out((torch.randn(shape, device=device) * 2 + 0.5).to(dtype), like)
        norm = made(groups, shape[1], dtype, device, affine)
        original = F.silu(norm(x)) if silu else norm(x)
        for strides in ("torch", "x"):
            found = ext.group_norm(norm, x, "silu" if silu else None, strides=strides)
            errors.add(found, original, exact(norm, x, silu), magnitude(norm, x, silu))
            if strides == "torch":
                assert found.stride() == original.stride()
            elif like == "last" and x.dim() in (4, 5):
                assert found.stride() == x.stride()
    errors.check()


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("like", ["dense", "last"])
@pytest.mark.parametrize("device", DEVICES)
def test_a_mean_far_from_zero(device, dtype, like):
    x = laid_out(torch.randn(2, 64, 32, 32, device=device) + 300, like).to(dtype)
    norm = made(8, 64, dtype, device)
    deviation = x.double().unflatten(1, (8, 8)).std((2, 3, 4), correction=0)
    found = ext.group_norm(norm, x, strides="x")
    # The mean's own rounding, which the division by the deviation magnifies.
    size = magnitude(norm, x, False) + 300 * norm.weight.double().abs().view(-1, 1, 1) / deviation.min()
    assert_accurate(found, norm(x), exact(norm, x, False), size if dtype == torch.float32 else None)


@pytest.mark.parametrize("device", DEVICES)
def test_nan_and_infinity_stay_in_their_groups(device):
    for like in ("dense", "last"):
        x = torch.randn(2, 32, 16, 8, device=device)
        x[0, 3, 2, 1], x[1, 30, 0, 0] = float("nan"), float("inf")
        norm, x = made(4, 32, torch.float32, device), laid_out(x, like)
        found = ext.group_norm(norm, x, "silu", strides="x")
        wanted = torch.zeros(2, 32, dtype=torch.bool, device=device)
        wanted[0, :8] = wanted[1, 24:] = True
        assert torch.equal(found.isnan().all((2, 3)), wanted)
        assert torch.equal(found.isnan().any((2, 3)), wanted)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("strides", ["torch", "x"])
@pytest.mark.parametrize("like", ["dense", "last"])
def test_sizes_of_models(dtype, like, strides):
    """One operator each, and every block of each grid."""
    for shape in ((2, 320, 128, 128), (2, 1280, 32, 32), (2, 1920, 64, 64), (1, 128, 1024, 1024), (1, 512, 130, 98)):
        x = laid_out(torch.randn(shape, device="cuda").to(dtype), like)
        norm = made(32, shape[1], dtype, "cuda")
        assert ours(lambda: ext.group_norm(norm, x, "silu", strides=strides)) == ["mindiesd::group_norm"]
        found = ext.group_norm(norm, x, "silu", strides=strides)
        assert_accurate(found, F.silu(norm(x)), exact(norm, x, True), magnitude(norm, x, True))


class Casting(torch.nn.GroupNorm):
    """As guided diffusion has it."""

    def forward(self, x):
        return super().forward(x.float()).type(x.dtype)


def hooked():
    norm = torch.nn.GroupNorm(4, 8)
    norm.register_forward_hook(lambda module, given, result: result + 1)
    return norm


def replaced():
    norm = torch.nn.GroupNorm(4, 8)
    original = norm.forward
    norm.forward = lambda x: original(x) * 2
    return norm


@pytest.mark.parametrize("make", [lambda: Casting(4, 8), hooked, replaced, torch.nn.Identity, lambda: torch.nn.BatchNorm2d(8).eval()])
def test_a_module_that_is_no_plain_norm_is_called(make):
    norm, x = make(), torch.randn(2, 8, 4, 4)
    assert ours(lambda: ext.group_norm(norm, x)) == []
    torch.testing.assert_close(ext.group_norm(norm, x, "silu"), F.silu(norm(x)))


def test_activations_as_modules():
    norm, x = made(4, 8, torch.float32, "cpu"), torch.randn(2, 8, 4, 4)
    for module, operators in (
        (torch.nn.SiLU(), ["mindiesd::group_norm"]), (ext.SiLU(), ["mindiesd::group_norm"]),
        (torch.nn.SiLU(inplace=True), ["mindiesd::group_norm"]), (torch.nn.Identity(), []), (torch.nn.Mish(), []),
    ):  # fmt: skip
        assert ours(lambda m=module: ext.group_norm(norm, x, m)) == operators
        torch.testing.assert_close(ext.group_norm(norm, x, module), module(norm(x)))
    counted = torch.nn.SiLU()
    counted.register_forward_hook(lambda module, given, result: result * 3)
    torch.testing.assert_close(ext.group_norm(norm, x, counted), counted(norm(x)))


def test_moved_and_replaced_weights():
    norm, x = made(4, 8, torch.float32, "cpu"), torch.randn(2, 8, 4, 4)
    for _ in range(3):
        torch.testing.assert_close(ext.group_norm(norm, x, "silu"), F.silu(norm(x)))
        norm.weight = torch.nn.Parameter(torch.randn(8))
        norm.bias.mul_(2)
    narrow = x.bfloat16()  # beside parameters of float32, which torch takes on the CPU
    torch.testing.assert_close(ext.group_norm(norm, narrow), norm(narrow))
    with pytest.raises(RuntimeError, match="8"):
        ext.group_norm(norm, x[:, :4])
    with pytest.raises(ValueError, match="more than 1 value"):
        ext.group_norm(torch.nn.GroupNorm(8, 8), x[:1, :, 0, 0])


@pytest.mark.parametrize("shape", [(0, 8, 4, 4), (2, 8, 0, 4)])
def test_empty_operands(shape):
    norm, x = made(4, 8, torch.float32, "cpu"), torch.empty(shape)
    assert ext.group_norm(norm, x, "silu").shape == norm(x).shape


@pytest.mark.parametrize("dtype", HALF)
def test_autocast_is_torchs(dtype):
    norm = made(4, 8, torch.float32, "cpu")
    for x in (torch.randn(2, 8, 4, 4), torch.randn(2, 8, 4, 4).to(dtype)):
        with torch.autocast("cpu", dtype=dtype):
            expected = F.silu(norm(x))
            found = ext.group_norm(norm, x, "silu")
        assert found.dtype == expected.dtype
        torch.testing.assert_close(found, expected, rtol=2e-2, atol=2e-2)


def test_expanded_operands():
    norm = made(4, 8, torch.float32, "cpu")
    for x in (
        torch.randn(1, 8, 4, 4).expand(3, -1, -1, -1), torch.randn(2, 1, 4, 4).expand(-1, 8, -1, -1),
        torch.randn(2, 8, 4, 1).expand(-1, -1, -1, 5),
        torch.randn(99).as_strided((2, 8, 5), (30, 4, 1)),
    ):  # fmt: skip
        torch.testing.assert_close(ext.group_norm(norm, x, "silu"), F.silu(norm(x)))


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda n, x: ext.group_norm(n, None), "x must be a torch.Tensor"),
        (lambda n, x: ext.group_norm(n, x, "gelu"), "activation must be one of"),
        (lambda n, x: ext.group_norm(n, x, 3), "activation must be None, 'silu' or a module"),
        (lambda n, x: ext.group_norm(n, x, strides="dense"), "strides must be one of"),
    ],
)
def test_bad_arguments(call, text):
    with pytest.raises(ParametersInvalid, match=text):
        call(torch.nn.GroupNorm(4, 8), torch.randn(2, 8, 4, 4))
