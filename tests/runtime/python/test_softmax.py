"""mindiesd.ext.softmax against torch's softmax with its guards written out."""

import itertools

import pytest
import torch
import torch.nn.functional as F
from accuracy import FLOATS, assert_accurate
from mindiesd import ext
from mindiesd.utils import ParametersInvalid


def written_out(x, dim, subtract, clamp_min, clamp_max, mask=None, mask_value=float("-inf")):
    if subtract == "row":
        x = x - x.amax(dim=dim, keepdim=True)
    if subtract == "global":
        x = x - x.max()
    if clamp_min is not None or clamp_max is not None:
        x = torch.clamp(x, clamp_min, clamp_max)
    if mask is not None and mask.dtype == torch.bool:
        x = x.masked_fill(~mask, mask_value)
    elif mask is not None:
        x = x + mask
    return F.softmax(x, dim=dim)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("dim", [-1, 0, 1])
@pytest.mark.parametrize(
    "subtract, low, high",
    [*itertools.product((None, "row", "global"), (None, -2.0, -50000), (None, 1.5))],
)
def test_guards(backend, dtype, dim, subtract, low, high):
    x = (torch.randn(5, 17, 40) * 3).to(dtype)
    result = ext.softmax(x, dim, subtract=subtract, clamp_min=low, clamp_max=high)
    original = written_out(x, dim, subtract, low, high)
    assert_accurate(result, original, written_out(x.double(), dim, subtract, low, high))
    assert result.stride() == original.stride()


@pytest.mark.parametrize("dtype", FLOATS)
def test_accuracy_over_many_rows(backend, dtype):
    x = (torch.randn(300, 257) * 4).to(dtype)
    reference = F.softmax(x.double(), -1)
    assert_accurate(ext.softmax(x), F.softmax(x, -1), reference)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("dim", [-1, 1])
@pytest.mark.parametrize("bias", [None, (5, 17, 40), (1, 17, 1), (40,), ()])
@pytest.mark.parametrize("scale", [None, 0.125, -2, 0.0])
def test_scale_and_bias_come_first(backend, dtype, dim, bias, scale):
    x = torch.randn(5, 17, 40).to(dtype)
    added = None if bias is None else torch.randn(bias).to(dtype)

    def original(x, added):
        x = x if scale is None else x * scale
        x = x if added is None else x + added
        return written_out(x, dim, "row", -3.0, None)

    result = ext.softmax(x, dim, scale=scale, bias=added, subtract="row", clamp_min=-3.0)
    exact = original(x.double(), None if added is None else added.double())
    assert_accurate(result, original(x, added), exact)


def test_types_with_a_bias():
    for dtype, bias in itertools.product(FLOATS, repeat=2):
        x, b = torch.randn(3, 4).to(dtype), torch.randn(4).to(bias)
        assert ext.softmax(x, bias=b).dtype == (x + b).dtype
        assert ext.softmax(x, bias=b[0]).dtype == (x + b[0]).dtype


@pytest.mark.parametrize(
    "kwargs, text",
    [
        (dict(scale="1"), "scale must be a number"),
        (dict(bias=1.0), "bias must be a torch.Tensor"),
        (dict(bias=torch.ones(5)), "bias must broadcast to input's shape"),
        (dict(bias=torch.ones(4, dtype=torch.bool)), "bias must be a floating tensor"),
    ],
)
def test_bad_scale_and_bias(kwargs, text):
    with pytest.raises(ParametersInvalid, match=text):
        ext.softmax(torch.randn(3, 4), **kwargs)


MASKS = {
    "bool": (torch.rand(5, 17, 40) > 0.3, {}),
    "filled": (torch.rand(17, 40) > 0.3, {"mask_value": -10000}),
    "row": (torch.rand(5, 1, 40) > 0.3, {}),
    "float": (torch.randn(5, 17, 40), {}),
    "half": (torch.randn(40).half(), {}),
}


@pytest.mark.parametrize("name", MASKS)
@pytest.mark.parametrize("dtype", FLOATS)
def test_masks(backend, name, dtype):
    mask, extra = MASKS[name]
    x = torch.randn(5, 17, 40).to(dtype)
    result = ext.softmax(x, subtract="row", clamp_min=-3.0, mask=mask, **extra)
    original = written_out(x, -1, "row", -3.0, None, mask, *extra.values())
    wide = mask if mask.dtype == torch.bool else mask.double()
    reference = written_out(x.double(), -1, "row", -3.0, None, wide, *extra.values())
    assert_accurate(result, original, reference)


@pytest.mark.parametrize("dtype", [*FLOATS, torch.float64])
def test_result_type(backend, dtype):
    x = torch.randn(3, 40).half()
    result = ext.softmax(x, dtype=dtype)
    assert_accurate(result, F.softmax(x, -1, dtype=dtype), F.softmax(x.double(), -1))
    wide = torch.randn(3, 40, dtype=torch.float64)
    assert (ext.softmax(wide) - F.softmax(wide, -1)).abs().max() < 1e-14


def test_special_rows(backend):
    x = torch.randn(4, 9)
    x[1] = float("-inf")
    x[2, 3] = float("nan")
    x[3, 3] = float("inf")
    result = ext.softmax(x)
    assert torch.equal(result.isnan(), F.softmax(x, -1).isnan())
    clamped = ext.softmax(x, clamp_min=-5.0, clamp_max=5.0)
    torch.testing.assert_close(clamped, F.softmax(x.clamp(-5, 5), -1), equal_nan=True)
    crossed = ext.softmax(x[:1], clamp_min=5.0, clamp_max=-5.0)
    torch.testing.assert_close(crossed, F.softmax(x[:1].clamp(5, -5), -1))
    assert ext.softmax(x, subtract="global").isnan().all()


def test_strides_and_empty(backend):
    x = torch.randn(6, 5, 7)
    expected = ext.softmax(x, 1)
    assert torch.equal(ext.softmax(x.transpose(0, 2), 1), expected.transpose(0, 2))
    for shape, dim in (((0, 5), 1), ((5, 0), 1), ((0,), 0), ((3, 0, 2), 0)):
        assert ext.softmax(torch.randn(shape), dim).shape == shape
    assert ext.softmax(torch.tensor(3.0)) == 1.0
    assert ext.softmax(torch.tensor(3.0), 0, mask=torch.tensor(True), mask_value=0.0) == 1.0


BAD = {
    "not a tensor": (dict(input=1.0), "input must be a torch.Tensor"),
    "dim": (dict(dim=2), "dim must lie in -2 to 1, but is 2"),
    "dim text": (dict(dim="x"), "dim must be an int"),
    "subtract": (dict(subtract="max"), "subtract must be one of"),
    "clamp": (dict(clamp_min="x"), "clamp_min must be a number"),
    "mask shape": (dict(mask=torch.ones(4, 8)), "mask must broadcast"),
    "mask type": (dict(mask=torch.ones(8).int()), "mask must be boolean"),
    "mask device": (dict(mask=torch.ones(8, device="meta")), "mask must be on the device"),
    "fill": (dict(mask_value=0.0), "mask_value needs a boolean mask"),
    "dtype": (dict(dtype=torch.int32), "dtype must be a floating"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_arguments(name):
    changes, text = BAD[name]
    arguments = dict(input=torch.randn(3, 8))
    arguments.update(changes)
    with pytest.raises(ParametersInvalid, match=text):
        ext.softmax(**arguments)
