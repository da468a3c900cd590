"""ext.rotary_matrix against the formula in float64, and against the rotation that its matrices are."""

import pytest
import torch

import mindiesd
from mindiesd.utils import ParametersInvalid


def reference(x, freqs):
    pairs = x.double().reshape(*x.shape[:-1], -1, 1, 2)
    out = (freqs.double() * pairs).sum(dim=-1)
    return out.reshape(x.shape)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("table", [(1, 5, 1, 4, 2, 2), (5, 1, 4, 2, 2), (2, 5, 3, 4, 2, 2)])
def test_against_the_formula(dtype, table):
    torch.manual_seed(0)
    x = torch.randn(2, 5, 3, 8).to(dtype)
    freqs = torch.randn(table)
    out = mindiesd.ext.rotary_matrix(x, freqs)
    assert out.dtype == dtype and out.shape == x.shape
    error = (out.double() - reference(x, freqs)).abs().max()
    assert error <= 2 * torch.finfo(dtype).eps * reference(x, freqs).abs().max()


def test_a_rotation_is_a_rotation():
    torch.manual_seed(0)
    x, angle = torch.randn(2, 5, 3, 8), torch.randn(5, 1, 4)
    cos, sin = angle.cos(), angle.sin()
    freqs = torch.stack([cos, -sin, sin, cos], dim=-1).unflatten(-1, (2, 2))
    expected = mindiesd.ext.rotary_position_embedding(x, cos, sin, "rotated_interleaved")
    assert torch.allclose(mindiesd.ext.rotary_matrix(x, freqs), expected, atol=1e-6)


@pytest.mark.parametrize("shape", [(5, 8), (3, 5, 8)])
def test_the_shape_is_that_of_x(shape):
    x, freqs = torch.randn(shape), torch.randn(1, 1, 5, 4, 2, 2)
    for _ in range(3):
        out = mindiesd.ext.rotary_matrix(x, freqs)
        assert out.shape == x.shape
        torch.testing.assert_close(out.double(), reference(x, freqs))
    written = x.clone()
    assert mindiesd.ext.rotary_matrix(written, freqs, inplace=True) is written
    torch.testing.assert_close(written.double(), reference(x, freqs))
    with pytest.raises(ParametersInvalid, match="must have x's shape"):
        mindiesd.ext.rotary_matrix(torch.ones(5, 8), freqs.expand(2, 1, 5, 4, 2, 2))


@pytest.mark.parametrize("table", [(1, 1, 5, 4, 2, 2), (2, 1, 5, 4, 2, 2), (3, 1, 1, 2, 2)])
def test_the_shape_is_that_of_both(table):
    x, freqs = torch.randn(5, 8), torch.randn(table)
    out = mindiesd.ext.rotary_matrix(x, freqs, keep_shape=False)
    expected = (freqs.double() * x.double().unflatten(-1, (-1, 1, 2))).sum(dim=-1).flatten(-2)
    assert out.shape == expected.shape
    torch.testing.assert_close(out.double(), expected)


def test_result_types():
    x, freqs = torch.randn(4, 8).bfloat16(), torch.randn(4, 4, 2, 2)
    assert mindiesd.ext.rotary_matrix(x, freqs).dtype == torch.bfloat16
    assert mindiesd.ext.rotary_matrix(x, freqs, result_type="promoted").dtype == torch.float32
    assert mindiesd.ext.rotary_matrix(x, freqs, result_type="float32").dtype == torch.float32
    wide = mindiesd.ext.rotary_matrix(x, freqs.double(), result_type="float32")
    assert wide.dtype == torch.float64  # as x.float() times the matrices is
    torch.testing.assert_close(wide, reference(x, freqs))


@pytest.mark.parametrize(
    ("x", "freqs", "what"),
    [
        (torch.randn(4, 7), torch.randn(3, 2, 2), "even"),
        (torch.randn(4, 8), torch.randn(4, 2, 3), "2×2"),
    ],
)
def test_bad_arguments(x, freqs, what):
    with pytest.raises(ParametersInvalid, match=what):
        mindiesd.ext.rotary_matrix(x, freqs)
