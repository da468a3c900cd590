"""mindiesd.ext.rotary_position_embedding and rotary_complex against the formulas."""

import formulas
import pytest
import torch
from accuracy import FLOATS, assert_accurate
from mindiesd import ext
from mindiesd.utils import ParametersInvalid

MODES = {"rotated_half": False, "rotated_interleaved": True}

# x, leading dimensions of the tables
SHAPES = [
    ((2, 7, 3, 16), (7, 1)),
    ((2, 7, 3, 16), (2, 7, 1)),
    ((2, 3, 7, 16), (7,)),
    ((2, 3, 7, 16), (1, 1, 7)),
    ((7, 16), (7,)),
    ((16,), ()),
    ((2, 2, 2, 3, 4, 6), (3, 4)),
    ((1, 7, 3, 16), (2, 7, 3)),
    ((5, 2), (5,)),
    ((3, 0, 4, 8), (0, 1)),
]


@pytest.mark.parametrize("shape, table", SHAPES)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("half_width", [False, True])
@pytest.mark.parametrize("dtype", FLOATS)
def test_shapes_modes_and_types(backend, shape, table, mode, half_width, dtype):
    interleaved = MODES[mode]
    width = shape[-1] // 2 if half_width else shape[-1]
    x = torch.randn(shape).to(dtype)
    for table_type in (torch.float32, dtype):
        cos, sin = (torch.randn(*table, width).to(table_type) for _ in range(2))
        result = ext.rotary_position_embedding(x, cos, sin, mode)
        original = formulas.rotary(x.float(), cos.float(), sin.float(), interleaved).to(dtype)
        assert_accurate(
            result,
            original,
            formulas.rotary(x.double(), cos.double(), sin.double(), interleaved),
            formulas.pair_norm(x, cos, sin, interleaved),
        )


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", FLOATS)
def test_accuracy_over_many_rows(backend, mode, dtype):
    x, cos, sin = torch.randn(9, 128, 64).to(dtype), torch.randn(128, 64), torch.randn(128, 64)
    assert_accurate(
        ext.rotary_position_embedding(x, cos, sin, mode),
        formulas.rotary(x.float(), cos, sin, MODES[mode]).to(dtype),
        formulas.rotary(x.double(), cos.double(), sin.double(), MODES[mode]),
        formulas.pair_norm(x, cos, sin, MODES[mode]),
    )


@pytest.mark.parametrize("mode", MODES)
def test_pairs_of_a_full_width_table_may_differ(backend, mode):
    """A full-width table is used as it stands: out = x * cos + rotate(x) * sin."""
    x, cos, sin = torch.randn(2, 5, 3, 8), torch.randn(5, 1, 8), torch.randn(5, 1, 8)
    expected = formulas.rotary(x, cos, sin, MODES[mode])
    torch.testing.assert_close(ext.rotary_position_embedding(x, cos, sin, mode), expected)


@pytest.mark.parametrize(
    "result_type, expected",
    [
        ("input", torch.bfloat16),
        ("promoted", torch.float32),
        ("float32", torch.float32),
    ],
)
def test_result_type(backend, result_type, expected):
    x, cos = torch.randn(3, 8).bfloat16(), torch.randn(3, 8)
    result = ext.rotary_position_embedding(x, cos, cos, result_type=result_type)
    assert result.dtype == expected
    wide = formulas.rotary(x.double(), cos.double(), cos.double(), False)
    torch.testing.assert_close(result.double(), wide.to(expected).double(), rtol=1e-2, atol=1e-6)
    freqs = torch.polar(torch.ones(3, 4), torch.randn(3, 4))
    assert ext.rotary_complex(x, freqs, result_type=result_type).dtype == expected


@pytest.mark.parametrize("dtype", [torch.float64, *FLOATS])
@pytest.mark.parametrize("table", [torch.complex64, torch.complex128])
def test_complex(backend, dtype, table):
    x = torch.randn(2, 7, 3, 16).to(dtype)
    freqs = torch.polar(torch.rand(7, 1, 8) + 0.5, torch.randn(7, 1, 8) * 9).to(table)

    def original(x, freqs):
        pairs = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2))
        return torch.view_as_real(pairs * freqs).flatten(3)

    reference = original(x.double(), freqs.to(torch.complex128))
    theirs = original(x.float(), freqs.to(torch.complex64)).to(dtype)
    result = ext.rotary_complex(x, freqs)
    cos, sin = freqs.real, freqs.imag
    assert_accurate(result, theirs, reference, formulas.pair_norm(x, cos, sin, True))
    conj = ext.rotary_complex(x, freqs.conj())
    torch.testing.assert_close(
        conj.double(), original(x.double(), freqs.conj().to(torch.complex128)), rtol=2e-2, atol=2e-2
    )


@pytest.mark.parametrize("shape", [(5, 8), (3, 5, 8), (1, 3, 5, 8)])
def test_the_shape_is_kept(backend, shape):
    """A table with more dimensions than x, as ``reshape(x.shape)`` takes it."""
    x, freqs = torch.randn(shape), torch.randn(1, 1, 1, 5, 4, dtype=torch.complex64)

    def original(x):
        pairs = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2))
        return torch.view_as_real(pairs * freqs).reshape(x.shape)

    for _ in range(3):  # a call that is repeated from C, too
        result = ext.rotary_complex(x, freqs, keep_shape=True)
        assert result.shape == x.shape
        torch.testing.assert_close(result, original(x))
    assert ext.rotary_complex(x, freqs).shape == (1,) * (5 - x.dim()) + shape
    plain = freqs[0, 0, 0]
    torch.testing.assert_close(ext.rotary_complex(x, plain, keep_shape=True), original(x))
    with pytest.raises(ParametersInvalid, match="must have x's shape"):
        ext.rotary_complex(torch.ones(5, 8), freqs.expand(1, 2, 1, 5, 4), keep_shape=True)
    written = x.clone()
    assert ext.rotary_complex(written, freqs, keep_shape=True, inplace=True) is written
    torch.testing.assert_close(written, original(x))
    with pytest.raises(ParametersInvalid, match="must have x's shape"):  # though both are empty
        ext.rotary_complex(torch.ones(0, 1, 8), torch.ones(1, 7, 4) * 1j, keep_shape=True)
    with pytest.raises(ParametersInvalid, match="keep_shape"):
        ext.rotary_complex(x, freqs, keep_shape="yes")


def test_strides(backend):
    x = torch.randn(2, 7, 3, 16)
    cos = torch.randn(7, 1, 16)
    expected = ext.rotary_position_embedding(x, cos, cos)
    swapped = x.transpose(1, 2).contiguous().transpose(1, 2)
    result = ext.rotary_position_embedding(swapped, cos, cos)
    assert torch.equal(result, expected) and result.stride() == swapped.stride()
    padded = torch.randn(2, 7, 3, 20)[..., :16].copy_(x)
    assert torch.equal(ext.rotary_position_embedding(padded, cos, cos), expected)
    odd = torch.stack([x, x], -1)[..., 1]
    assert torch.equal(ext.rotary_position_embedding(odd, cos, cos), expected)
    offset = torch.randn(2 * 7 * 3 * 16 + 1)[1:].reshape(2, 7, 3, 16).copy_(x)
    assert torch.equal(ext.rotary_position_embedding(offset, cos, cos), expected)
    part = ext.rotary_position_embedding(x[:, 2:5], cos[2:5], cos[2:5])
    assert torch.equal(part, expected[:, 2:5])


def test_one_column_is_one_angle_for_the_row(backend):
    x, cos, sin = torch.randn(3, 8), torch.randn(3, 1), torch.randn(3, 1)
    expected = x * cos + formulas.rotate(x, False) * sin
    torch.testing.assert_close(ext.rotary_position_embedding(x, cos, sin), expected)


def test_nan_stays_in_its_pair(backend):
    x, table = torch.randn(3, 8), torch.ones(8)
    x[1, 2] = float("nan")
    result = ext.rotary_position_embedding(x, table, table, "rotated_interleaved").isnan()
    assert result.nonzero().tolist() == [[1, 2], [1, 3]]


ANGLES = [
    # x, angles, arguments
    ((2, 3, 7, 16), (7, 16), {}),
    ((2, 3, 7, 16), (7, 6), dict(start_index=4)),
    ((2, 3, 7, 16), (9, 6), {}),
    ((2, 7, 3, 16), (7, 16), dict(scale=0.5)),
    ((7, 16), (7, 16), {}),
    ((3, 7, 16), (7, 8), dict(start_index=8)),
]


@pytest.mark.parametrize("shape, angles, kwargs", ANGLES)
def test_angles_are_rotary_embedding_torchs(shape, angles, kwargs):
    package = pytest.importorskip("rotary_embedding_torch")  # not on the accelerator machine
    apply_rotary_emb = package.apply_rotary_emb

    x, freqs = torch.randn(shape), torch.randn(angles)
    dim = -3 if shape == (2, 7, 3, 16) else -2
    if dim == -3:
        freqs = freqs[:, None]
    expected = apply_rotary_emb(freqs, x, seq_dim=dim, **kwargs)
    result = ext.rotary_angles(x, freqs, sequence_dim=dim, **kwargs)
    torch.testing.assert_close(result, expected)
    swapped = x.mT.contiguous().mT
    result = ext.rotary_angles(swapped, freqs, sequence_dim=dim, **kwargs)
    expected = apply_rotary_emb(freqs, swapped, seq_dim=dim, **kwargs)
    assert result.stride() == expected.stride()


def test_too_many_angles():
    with pytest.raises(ParametersInvalid, match="but x has only 8"):
        ext.rotary_angles(torch.randn(3, 8), torch.randn(3, 6), start_index=4)


BAD = {
    "not a tensor": (dict(cos=[1.0]), "cos must be a torch.Tensor"),
    "mode": (dict(rotated_mode="half"), "rotated_mode must be one of"),
    "result_type": (dict(result_type="bf16"), "result_type must be one of"),
    "odd": (dict(x=torch.randn(2, 3, 7), rotated_mode="rotated_interleaved"), "even last dimension"),
    "odd tables": (
        dict(x=torch.randn(2, 3, 7), cos=torch.randn(3, 1), sin=torch.randn(3, 1)), "even last dimension",
    ),
    "columns": (dict(cos=torch.randn(3, 6), sin=torch.randn(3, 6)), "both have 8 or both 4 columns"),
    "columns differ": (dict(cos=torch.randn(3, 4)), "both have 8 or both 4 columns"),
    "rows": (dict(cos=torch.randn(4, 8), sin=torch.randn(4, 8)), "must broadcast against x"),
    "complex": (dict(x=torch.ones(2, 3, 8) * 1j), "x must be a floating tensor"),
    "integers in place": (dict(x=torch.ones(2, 3, 8).int(), inplace=True), "x must be a floating tensor"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_arguments(name):
    changes, text = BAD[name]
    arguments = dict(x=torch.randn(2, 3, 8), cos=torch.randn(3, 8), sin=torch.randn(3, 8))
    arguments.update(changes)
    with pytest.raises(ParametersInvalid, match=text):
        ext.rotary_position_embedding(**arguments)


def test_a_real_table_scales():
    """What `torch.view_as_complex(x) * table` does with one."""
    x, table = torch.randn(2, 5, 3, 16), torch.randn(5, 1, 8)
    expected = torch.view_as_real(torch.view_as_complex(x.unflatten(-1, (-1, 2))) * table).flatten(3)
    torch.testing.assert_close(ext.rotary_complex(x, table), expected)


def test_bad_complex_arguments():
    x = torch.randn(2, 3, 8)
    with pytest.raises(ParametersInvalid, match="freqs_cis must be a torch.Tensor"):
        ext.rotary_complex(x, [1.0])
    with pytest.raises(ParametersInvalid, match="must have 4 columns"):
        ext.rotary_complex(x, torch.randn(3, 8, dtype=torch.complex64))


def test_whole_numbers_count_in_the_type_of_the_tables():
    x, cos, sin = torch.arange(48).reshape(2, 3, 8) % 7, torch.randn(3, 8), torch.randn(3, 8)
    half = torch.cat([-x[..., 4:], x[..., :4]], dim=-1)
    for tables in ((cos, sin), (cos.double(), sin), (cos.bfloat16(), sin.bfloat16())):
        expected = x * tables[0] + half * tables[1]
        for _ in range(3):
            found = ext.rotary_position_embedding(x, *tables, result_type="promoted")
            assert found.dtype == expected.dtype
            torch.testing.assert_close(found, expected, rtol=2e-2, atol=5e-2)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("table", [torch.float64, *FLOATS])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("half", [False, True])
def test_tables_of_any_stride_and_of_float64(backend, mode, half, table, dtype):
    """Wan's ``cos[..., 0::2]``, a transposed table and the two types of one call, as the kernels read them."""
    x = torch.randn(2, 7, 3, 24).to(dtype)
    width = 12 if half else 24
    wide = torch.randn(2, 7, 1, 2 * width, dtype=torch.float64).to(table)
    turned = torch.randn(2, width, 1, 7, dtype=torch.float64).transpose(-1, 1)
    for cos, sin in (
        (wide[0, ..., 0::2], wide[0, ..., 1::2]),
        (wide[1, ..., 0::2], turned[0]),
        (turned[0].to(table), turned[1].to(table)),
    ):
        full = [t.double() for t in (cos, sin)]
        if half:
            spread = (lambda t: t.repeat_interleave(2, -1)) if MODES[mode] else (lambda t: t.repeat(1, 1, 2))
            full = [spread(t) for t in full]
        exact = formulas.rotary(x.double(), *full, MODES[mode])
        theirs = formulas.rotary(x.float(), *(t.float() for t in full), MODES[mode]).to(dtype)
        for _ in range(3):  # a call that is repeated from C, too
            result = ext.rotary_position_embedding(x, cos, sin, mode, result_type="input")
            assert result.dtype == dtype
            assert_accurate(result, theirs, exact, formulas.pair_norm(x, *full, MODES[mode]))
