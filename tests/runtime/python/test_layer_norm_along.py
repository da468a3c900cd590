"""mindiesd.ext.layer_norm_along against the expression that it replaces, and what it leaves to torch."""

import itertools

import pytest
import torch
from accuracy import FLOATS, Pool
from mindiesd import ext
from mindiesd.utils import ParametersInvalid
from torch.autograd import gradcheck
from torch.utils._python_dispatch import TorchDispatchMode

DEVICES = [
    "cpu",
    pytest.param("cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")),
]
SHAPES = (((6,), 0), ((3, 24), -1), ((2, 5, 96), 2), ((2, 8, 6, 5), 1), ((2, 8, 6, 5), -2), ((1, 160, 64, 65), 1))


class Operators(TorchDispatchMode):
    """Whether our operator ran."""

    ran = False

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.ran = self.ran or function.namespace == "mindiesd"
        return function(*args, **(kwargs or {}))


def written(x, dim, weight=None, bias=None, eps=1e-5, *, result_type="promoted"):
    """As models write it, with the variance as a mean of squares."""
    wide = x if result_type == "promoted" else x.float()
    mean = wide.mean(dim, keepdim=True)
    variance = (wide - mean).pow(2).mean(dim, keepdim=True)
    y = (wide - mean) / torch.sqrt(variance + eps)
    y = y.to(x.dtype) if result_type == "rounded" else y
    y = y if weight is None else weight * y
    y = y if bias is None else y + bias
    return y.to(x.dtype) if result_type == "input" else y


def exact(x, dim, weight=None, bias=None, eps=1e-5):
    wide = [None if t is None else t.double() for t in (weight, bias)]
    return written(x.double(), dim, *wide, eps)


def vectors(x, dim, dtype):
    """A weight and a bias with one value for each place along dim."""
    shape = [1] * x.dim()
    shape[dim] = x.shape[dim]
    return tuple(torch.randn(shape, device=x.device).to(dtype) for _ in range(2))


def normed(*args, **keywords):
    """(the result, whether our operator ran)."""
    with Operators() as operators:
        result = ext.layer_norm_along(*args, **keywords)
    return result, operators.ran


def strides(tensor):
    """Of the dimensions that have more than one place."""
    return [step for size, step in zip(tensor.shape, tensor.stride()) if size != 1]


def layouts(x):
    yield x
    if x.dim() == 4:
        yield x.contiguous(memory_format=torch.channels_last)
    if x.dim() > 2:
        yield x.transpose(0, -1).contiguous().transpose(0, -1)
        yield x.repeat_interleave(2, -1)[..., ::2]
        yield x[:, :1].expand(x.shape)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("result_type", ("promoted", "rounded", "input"))
def test_is_as_accurate_as_the_expression(device, dtype, result_type):
    pools = [Pool() for _ in range(4)]
    for (shape, dim), vector_type in itertools.product(SHAPES, (dtype, torch.float32)):
        whole = (torch.randn(shape, device=device) * 3 + 2).to(dtype)
        for x in layouts(whole):
            weight, bias = vectors(x, dim, vector_type)
            for pool, operands in zip(pools, ((), (weight,), (None, bias), (weight, bias))):
                expected = written(x, dim, *operands, eps=1e-6, result_type=result_type)
                result = ext.layer_norm_along(x, dim, *operands, eps=1e-6, result_type=result_type)
                assert strides(result) == strides(expected)
                reference = exact(x, dim, *operands, eps=1e-6)
                sizes = reference.abs() if len(operands) < 2 else reference.abs() + bias.double().abs()
                pool.add(result, expected, reference, sizes)
    for pool in pools:
        pool.check()


def test_which_layouts_are_one_pass():
    x = torch.randn(2, 8, 6, 5)
    for operand, dim, one_pass in (
        (x, -1, True),
        (x, 3, True),
        (x, [-1], True),
        (x, 1, True),
        (x, 0, True),
        (x[:, :, :, :1], 1, False),
        (x.transpose(1, 3), 1, False),
        (x.contiguous(memory_format=torch.channels_last), 1, True),
        (x.contiguous(memory_format=torch.channels_last), -3, True),
        (x.double(), -1, False),
        (x[:0], -1, False),
    ):
        assert normed(operand, dim)[1] is one_pass


def test_what_torch_computes():
    x = torch.randn(3, 4, 6)
    weight = torch.randn(6)
    for arguments, keywords in (
        ((x.double(), -1, weight), {}),
        ((x.double(), -1, weight), {"result_type": "rounded"}),
        ((x, (1, 2)), {}),
        ((x, -1, x), {}),
        ((x, -1, weight, x[:1]), {}),
        ((x, -1, 2.0), {}),
        ((x, -1, torch.tensor(2.0, dtype=torch.float64), 1), {}),
        ((x, 1, torch.randn(4, 1), weight), {}),
        ((x, -1, weight, weight, torch.tensor(1e-3)), {}),
        ((x, -1, torch.arange(6)), {}),
        ((x, -1, weight.double()[None]), {}),
        ((x[0, 0, 0], -1), {}),
        ((x, -1, torch.randn(5, 1, 1, 6)), {}),
        ((torch.arange(12).reshape(3, 4), -1), {"result_type": "rounded"}),
        ((torch.arange(12).reshape(3, 4), -1), {"result_type": "input"}),
    ):
        result, ran = normed(*arguments, **keywords)
        assert not ran
        expected = written(*arguments, **keywords)
        assert (result.dtype, result.shape) == (expected.dtype, expected.shape)
        torch.testing.assert_close(result, expected)


def test_special_rows():
    x = torch.randn(6, 16)
    x[0], x[1], x[2, 3], x[3, 4] = 0.0, 7.0, float("inf"), float("nan")
    for dim in (0, 1):
        torch.testing.assert_close(ext.layer_norm_along(x, dim), written(x, dim), equal_nan=True, atol=1e-5, rtol=1e-4)
    one = torch.randn(4, 1)
    assert ext.layer_norm_along(one, -1).count_nonzero() == 0
    assert ext.layer_norm_along(torch.randn(0, 4), -1).shape == (0, 4)
    large = torch.full((2, 512), 300.0, dtype=torch.float16) * torch.tensor([1, -1]).repeat(256)
    torch.testing.assert_close(ext.layer_norm_along(large, -1), large.sign())


def test_gradients_and_tangents():
    for shape, dim in (((3, 5), -1), ((2, 4, 3, 2), 1)):
        x = torch.randn(shape, dtype=torch.float64, requires_grad=True)
        operands = [t.requires_grad_() for t in vectors(x, dim, torch.float64)]
        with torch.enable_grad():
            assert gradcheck(
                lambda x, w, b: ext.layer_norm_along(x, dim, w, b), (x, *operands), check_forward_ad=True
            )
            narrow, theirs = (x.detach().float().requires_grad_() for _ in range(2))
            (ext.layer_norm_along(narrow, dim) * narrow.detach()).sum().backward()
            (written(theirs, dim) * theirs.detach()).sum().backward()
        torch.testing.assert_close(narrow.grad, theirs.grad, atol=1e-5, rtol=1e-4)


def test_mapped():
    x = torch.randn(4, 3, 8)
    for dim in (0, 1):
        mapped = torch.func.vmap(lambda row: ext.layer_norm_along(row, dim))(x)
        torch.testing.assert_close(mapped, written(x, dim + 1))


def test_refuses():
    x = torch.randn(2, 4)
    with pytest.raises(ParametersInvalid, match="real numbers"):
        ext.layer_norm_along(x.to(torch.complex64), -1)
    with pytest.raises(ParametersInvalid, match="result_type"):
        ext.layer_norm_along(x, -1, result_type="weight")
    with pytest.raises(IndexError):
        ext.layer_norm_along(x, 2)
    with pytest.raises(RuntimeError):
        ext.layer_norm_along(torch.arange(4), -1)
