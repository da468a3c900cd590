"""mindiesd.ext.weighted_sum against the expression that it replaces, and what it leaves to torch."""

import itertools

import numpy
import pytest
import torch
from accuracy import FLOATS, assert_accurate
from mindiesd import ext
from mindiesd.ext import sums
from mindiesd.utils import ParametersInvalid
from torch.autograd import gradcheck
from torch.utils._python_dispatch import TorchDispatchMode

DEVICES = [
    "cpu",
    pytest.param(
        "cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
    ),
]
ADAMS = [55, -59, 37, -9]
STEPS = ([0.5, -0.25, 1.5], ADAMS, [1901, -2774, 2616, -1274, 251], [0.1] * 8)
# One element, less than a vector, a vector and a rest, several blocks, more than one thread's share.
SHAPES = ((), (1,), (7,), (3, 5, 7), (2, 4, 33, 31), (1 << 17, 3))


class Operators(TorchDispatchMode):
    """Whether our operator ran."""

    ran = False

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.ran = self.ran or function.namespace == "mindiesd"
        return function(*args, **(kwargs or {}))


def written(terms, weights, scale=None, divisor=None):
    total = weights[0] * terms[0]
    for term, weight in zip(terms[1:], weights[1:]):
        total = total + weight * term if weight >= 0 else total - -weight * term
    total = total if scale is None else scale * total
    return total if divisor is None else total / divisor


def strides(tensor):
    """Of the dimensions that have more than one place."""
    return [step for size, step in zip(tensor.shape, tensor.stride()) if size != 1]


def summed(terms, weights, **options):
    """(the result, whether our operator ran)."""
    with Operators() as operators:
        result = ext.weighted_sum(terms, weights, **options)
    return result, operators.ran


def made(count, shape, dtype=torch.float32, device="cpu"):
    return [torch.randn(shape, device=device).to(dtype) for _ in range(count)]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("weights", STEPS, ids=len)
def test_is_as_accurate_as_the_expression(device, dtype, weights):
    for shape, options in itertools.product(
        SHAPES, ({}, {"scale": 1 / 24}, {"divisor": 12}, {"scale": -3, "divisor": 7.0})
    ):
        terms = made(len(weights), shape, dtype, device)
        result, ran = summed(terms, weights, **options)
        assert ran is (device in sums._ONE_PASS)
        expected = written(terms, weights, **options)
        assert (result.dtype, result.stride()) == (expected.dtype, expected.stride())
        exact = [x.double() for x in terms]
        sizes = written([x.abs() for x in exact], [abs(w) for w in weights])
        factor = abs(options.get("scale", 1) / options.get("divisor", 1))
        assert_accurate(result, expected, written(exact, weights, **options), sizes * factor)


@pytest.mark.parametrize("device", DEVICES)
def test_layouts(device):
    x, y, z = made(3, (2, 8, 6, 5), device=device)
    last = [t.contiguous(memory_format=torch.channels_last) for t in (x, y, z)]
    for terms, one_pass in (
        ([x, y, z], True),
        (last, True),
        ([t[:, 2:3] for t in (x, y, z)], False),
        ([t[:1, 2:3] for t in (x, y, z)], False),
        ([t[:1, 2:3].contiguous() for t in (x, y, z)], False),  # which copies nothing
        ([t.transpose(0, 3) for t in (x, y, z)], False),
        ([x, last[1], z], False),
        ([x[:, :1].expand(2, 8, 6, 5)] * 3, False),
        ([t[1:, 1:][:, :, 0, 1:] for t in (x, y, z)], False),
        ([t.flatten()[1:] for t in (x, y, z)], True),
    ):
        result, ran = summed(terms, [0.5, -2, 1.5])
        expected = written(terms, [0.5, -2, 1.5])
        assert ran is (one_pass and device in sums._ONE_PASS)
        assert strides(result) == strides(expected)
        torch.testing.assert_close(result, expected)


def test_strides_where_a_dimension_has_one_element_or_none():
    """Such tensors may be contiguous and channels last at once; the result lies as the expression's."""
    kinds = (
        lambda shape: torch.randn(shape),
        lambda shape: torch.randn(shape).contiguous(memory_format=torch.channels_last),
        lambda shape: torch.randn(shape[::-1]).permute(3, 2, 1, 0),
        lambda shape: torch.empty_strided(shape, (990, 110, 11, 3)).normal_(),
    )
    for shape, make in itertools.product(itertools.product((0, 1, 2, 3), repeat=4), kinds):
        x, y, z = (make(shape) for _ in range(3))
        expected = (23 * x - 16 * y + 5 * z) / 12
        result = ext.weighted_sum([x, y, z], [23, -16, 5], divisor=12)
        assert result.stride() == expected.stride()
        assert torch.allclose(result, expected, atol=1e-4)


def test_terms_may_be_one_tensor():
    x = torch.randn(1000)
    torch.testing.assert_close(ext.weighted_sum([x, x, x], [0.5, -2, 1.5]), 0.0 * x, atol=1e-6, rtol=0)


def test_what_torch_computes():
    x, y, z = made(3, (4, 6))
    whole = [torch.arange(6), torch.arange(6) * 7, torch.ones(6, dtype=torch.int64)]
    weights = [0.5, -2, 1.5]
    for terms, factors, options in (
        ([x, y[:1], z[:, :1]], weights, {}),
        ([x, y.half(), z], weights, {}),
        ([x, y.double(), z], weights, {}),
        ([t.double() for t in (x, y, z)], weights, {"divisor": 7}),
        ([x, y, 3.0], weights, {}),
        ([x, 2, torch.tensor(3.0)], weights, {}),
        (whole, [2, -3, 4], {}),
        (whole, [2, -3, 4], {"scale": 1 / 24}),
        ([t.to(torch.uint8) for t in whole], [2, -3, 4], {"divisor": 5}),
        ([t.to(torch.complex64) for t in (x, y, z)], weights, {}),
        ([x, y, z], [torch.tensor(0.5), -2, 1.5], {}),
        ([x, y, z], [True, -2, 1.5], {}),
        ([x, y, z], [float("inf"), -2, 1.5], {}),
        ([x, y, z], [1e-40, -2, 1.5], {}),
        ([x, y, z], weights, {"scale": torch.tensor(0.25)}),
        ([x, y, z], weights, {"divisor": 0}),
        ([x, y, z] * 3, weights * 3, {}),
    ):
        result, ran = summed(terms, factors, **options)
        assert not ran
        expected = written(terms, factors, **options)
        assert result.dtype == expected.dtype
        torch.testing.assert_close(result, expected, rtol=0, atol=0, equal_nan=True)


def test_numbers_and_arrays():
    assert ext.weighted_sum([1, 2, 3], [5, -7, 2], divisor=4) == (5 - 14 + 6) / 4
    arrays = [numpy.arange(4, dtype=numpy.uint8), numpy.ones(4, numpy.uint8), numpy.ones(4, numpy.uint8)]
    result = ext.weighted_sum(arrays, [9, -2, 3])
    assert result.dtype == numpy.uint8 and (result == 9 * arrays[0] - 2 * arrays[1] + 3 * arrays[2]).all()


@pytest.mark.parametrize("device", DEVICES)
def test_special_values(device):
    x, y, z = made(3, (40,), device=device)
    x[3], x[5], y[5], y[7], z[9] = float("inf"), float("inf"), float("inf"), float("nan"), float("-inf")
    result, ran = summed([x, y, z], [0.5, -2, 0])
    assert ran is (device in sums._ONE_PASS)
    torch.testing.assert_close(result, written([x, y, z], [0.5, -2, 0]), equal_nan=True)
    empty, ran = summed([x[:0]] * 3, [0.5, -2, 1])
    assert not ran and empty.shape == (0,)


def test_gradients_and_tangents():
    terms = [torch.randn(3, 5, dtype=torch.float64, requires_grad=True) for _ in range(4)]
    with torch.enable_grad():
        assert gradcheck(
            lambda *terms: ext.weighted_sum(terms, ADAMS, scale=1 / 24), terms, check_forward_ad=True
        )
        narrow = [t.detach().float().requires_grad_() for t in terms]
        ext.weighted_sum(narrow, ADAMS, divisor=24).sum().backward()
    for term, weight in zip(narrow, ADAMS):
        torch.testing.assert_close(term.grad, torch.full_like(term, weight / 24))


def test_mapped():
    x, y, z = made(3, (4, 6))
    mapped = torch.func.vmap(lambda a, b, c: ext.weighted_sum([a, b, c], [0.5, -2, 1.5]))(x, y, z)
    torch.testing.assert_close(mapped, written([x, y, z], [0.5, -2, 1.5]))


@pytest.mark.parametrize(
    "terms, weights, text",
    [
        ([torch.ones(2)], [1.0], "terms must be a list of two or more"),
        (torch.ones(3), [1.0, 2.0, 3.0], "terms must be a list of two or more"),
        ([torch.ones(2)] * 3, 2.0, "weights must be a list of two or more"),
        ([torch.ones(2)] * 3, [1.0, 2.0], "a factor for each of the 3 terms, but has 2"),
    ],
)
def test_refuses(terms, weights, text):
    with pytest.raises(ParametersInvalid, match=text):
        ext.weighted_sum(terms, weights)
