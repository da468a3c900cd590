"""Query, key and value of two streams on their way to joint attention: every form as exact as the lines that it
replaces, and those lines for what a launch does not take."""

import pytest
import torch
import torch.nn.functional as F
from accuracy import FLOATS, HALF, Pool
from mindiesd import ext
from mindiesd.utils import ParametersInvalid
from torch.utils._python_dispatch import TorchDispatchMode

B, S, T, N, D = 2, 5, 3, 4, 16


class Operators(TorchDispatchMode):
    """Our operators that ran."""

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        if function.namespace == "mindiesd":
            self.seen.append(function.name())
        return function(*args, **(kwargs or {}))

    def __enter__(self):
        self.seen = []
        return super().__enter__()


def ran(call):
    with Operators() as operators:
        result = call()
    return result, operators.seen


def pick(random, *choices):
    return choices[torch.randint(len(choices), (), generator=random).item()]


def rotated(x, cos, sin, neighbours):
    if neighbours:
        a, b = x.unflatten(-1, (-1, 2)).unbind(-1)
        turned = torch.stack((-b, a), -1).flatten(-2)
    else:
        a, b = x.chunk(2, -1)
        turned = torch.cat((-b, a), -1)
    return x * cos + turned * sin


def lines(inputs, norms, tables, neighbours, head_first, across_heads, wide=False):
    """What stands in model code, the rotation in float32."""
    results = []
    for part in range(3):
        pieces = []
        for stream in range(2):
            x = inputs[3 * stream + part]
            norm = norms[2 * stream + part] if part < 2 else None
            if norm is not None and across_heads:
                rows = x.transpose(1, 2) if head_first else x
                rows = norm(rows.flatten(2)).unflatten(-1, rows.shape[2:])
                x = rows.transpose(1, 2) if head_first else rows
            elif norm is not None:
                x = norm(x)
            cos, sin = tables[stream]
            if part < 2 and cos is not None:
                turned = rotated(x if wide else x.float(), cos, sin, neighbours)
                x = turned if wide else turned.to(x.dtype)
            pieces.append(x)
        results.append(torch.cat(pieces, 2 if head_first else 1))
    return results


def drawn(random, shape, head_first, how):
    """[B, S, N, D] or [B, N, S, D], as model code has it: dense, a slice of a packed projection, or a view with
    every second value."""
    batch, length, heads, width = shape
    factor = {"dense": 1, "packed": 3, "strided": 1, "padded": 1}[how]
    extra = {"padded": 3, "strided": width}.get(how, 0)
    x = torch.randn(batch, length, factor * heads, width + extra, generator=random)
    return x, (lambda t: t.transpose(1, 2) if head_first else t), factor


def operand(random, shape, dtype, head_first):
    how = pick(random, "dense", "packed", "strided", "padded")
    x, view, factor = drawn(random, shape, head_first, how)
    x = x.to(dtype)
    x = x[:, :, : shape[2]] if factor == 3 else x
    x = x[..., ::2] if how == "strided" else x[..., : shape[3]]
    return view(x)


def norm_of(random, width, kind, dtype):
    if kind is None or pick(random, True, False, False):
        return None
    affine = pick(random, True, False)
    make = torch.nn.LayerNorm if kind == "layer" else torch.nn.RMSNorm
    norm = make(width, eps=1e-5, elementwise_affine=affine, dtype=dtype)
    for parameter in norm.parameters():
        parameter.normal_(generator=random)
    return norm


def wider(norm):
    import copy

    return None if norm is None else copy.deepcopy(norm).double()


@pytest.mark.parametrize("seed", range(80))
def test_every_form(backend, seed):
    random = torch.Generator().manual_seed(seed)
    dtype, head_first = pick(random, *FLOATS), pick(random, True, False)
    across, kind = pick(random, False, False, True), pick(random, None, "layer", "rms")
    neighbours = pick(random, True, False)
    rotates = pick(random, (True, True), (True, False), (False, True), (False, False))
    width = 2 * pick(random, 1, 3, 8, 20, 36, 64, 65) + (0 if any(rotates) else pick(random, 0, 1))
    batch, heads = pick(random, 1, 2), pick(random, 1, 4)
    lengths = pick(random, (64, 16), (7, 1), (0, 9), (5, 0))
    key_heads = pick(random, heads, 1)
    counts = (heads, key_heads, key_heads) * 2
    inputs = [
        operand(random, (batch, lengths[i // 3], count, width), dtype, head_first)
        for i, count in enumerate(counts)
    ]
    norms = [
        norm_of(random, width * (count if across else 1), kind, dtype)
        for i, count in enumerate(counts) if i % 3 < 2
    ]  # fmt: skip
    if kind == "layer" and width == 2 and not across:
        norms = [None] * 4  # two values: their difference is all that is left of them
    table_type = pick(random, torch.float32, torch.float64)
    joint = rotates == (True, True) and pick(random, True, False)
    angles = torch.rand(sum(lengths), width // 2, generator=random, dtype=torch.float64) * 6
    angles = angles.repeat_interleave(2, -1) if neighbours else torch.cat((angles, angles), -1)
    whole = [t.to(table_type) for t in (angles.cos(), angles.sin())]
    if not head_first:
        whole = [t[:, None] for t in whole]
    parts = list(zip(*(t.split(lengths) for t in whole)))
    tables = [pair if turns else (None, None) for pair, turns in zip(parts, rotates)]
    given = (whole[0], whole[1], None, None) if joint else (*tables[0], *tables[1])
    mode = "rotated_interleaved" if neighbours else "rotated_half"
    options = dict(joint_tables=joint, across_heads=across, head_first=head_first)

    def call():
        return ext.joint_heads(*inputs, *norms, *given, mode, **options)

    results, seen = ran(call)
    assert seen == ["mindiesd::joint_heads"]
    wide_tables = [tuple(None if t is None else t.double() for t in pair) for pair in tables]
    form = (neighbours, head_first, across)
    theirs = lines(inputs, norms, wide_tables, *form)
    exact = lines(
        [t.double() for t in inputs], [wider(n) for n in norms], wide_tables, *form, wide=True
    )
    pool = Pool()
    for result, original, reference in zip(results, theirs, exact, strict=True):
        assert result.is_contiguous()
        # A rotation may cancel what was rounded before it.
        size = reference.abs()
        if any(rotates):
            size = reference.unflatten(-1, (-1, 2) if neighbours else (2, -1)).norm(
                dim=-1 if neighbours else -2, keepdim=True
            )
            size = size.expand(*reference.shape[:-1], *((-1, 2) if neighbours else (2, -1))).flatten(-2)
        pool.add(result, original, reference, size)
    pool.check()
    for again, result in zip(call(), results):
        assert torch.equal(again, result)


def given(dtype=torch.float32):
    random = torch.Generator().manual_seed(1)
    return [torch.randn(B, s, N, D, generator=random).to(dtype) for s in (S, S, S, T, T, T)]


TABLE = torch.randn(S, 1, D)


def test_values_are_copied_bit_by_bit():
    for dtype in FLOATS:
        inputs = given(dtype)
        inputs[2].view(-1)[:3] = torch.tensor([float("nan"), float("inf"), -0.0])
        value = ext.joint_heads(*inputs)[2]
        expected = torch.cat((inputs[2], inputs[5]), 1)
        kind = torch.int32 if dtype == torch.float32 else torch.int16
        assert torch.equal(value.view(kind), expected.view(kind))


def test_enough_elements_for_the_largest_error():
    for dtype in HALF:
        inputs = [torch.randn(2, s, 8, 64).to(dtype) for s in (96, 96, 96, 40, 40, 40)]
        norms = [torch.nn.RMSNorm(64, eps=1e-6, dtype=dtype) for _ in range(4)]
        for norm in norms:
            norm.weight.normal_()
        angles = torch.rand(136, 1, 64) * 6
        tables = [(c, s) for c, s in zip(angles.cos().split((96, 40)), angles.sin().split((96, 40)))]
        found = ext.joint_heads(
            *inputs, *norms, angles.cos(), angles.sin(), rotated_mode="rotated_interleaved", joint_tables=True
        )
        theirs = lines(inputs, norms, tables, True, False, False)
        wide = [tuple(t.double() for t in pair) for pair in tables]
        exact = lines(
            [t.double() for t in inputs], [wider(n) for n in norms], wide, True, False, False, wide=True
        )
        for result, original, reference in zip(found, theirs, exact, strict=True):
            size = reference.unflatten(-1, (-1, 2)).norm(dim=-1, keepdim=True)
            size = size.expand(*size.shape[:-1], 2).flatten(-2)
            pool = Pool()
            pool.add(result, original, reference, size)
            pool.check()


@pytest.mark.parametrize("form", ["complex", "matrix"])
def test_other_tables(backend, form):
    inputs = given()
    angle = torch.rand(S + T, 1, D // 2)
    cos, sin = angle.cos(), angle.sin()
    if form == "complex":
        table = torch.complex(cos, sin)
    else:
        table = torch.stack((cos, -sin, sin, cos), -1).unflatten(-1, (2, 2))
    found, seen = ran(lambda: ext.joint_heads(*inputs, cos=table, joint_tables=True))
    assert seen == ["mindiesd::joint_heads"]
    wide = [t.repeat_interleave(2, -1) for t in (cos, sin)]
    for part in range(2):
        x = torch.cat((inputs[part], inputs[3 + part]), 1)
        torch.testing.assert_close(found[part], rotated(x, *wide, True))
    first = ext.joint_heads(*inputs, cos=table[:S])
    torch.testing.assert_close(first[0][:, S:], inputs[3])
    torch.testing.assert_close(first[0][:, :S], found[0][:, :S])


def test_types_of_results():
    half = given(torch.bfloat16)
    assert [t.dtype for t in ext.joint_heads(*half, cos=TABLE, sin=TABLE)] == [torch.bfloat16] * 3
    promoted = ext.joint_heads(*half, cos=TABLE, sin=TABLE, result_type="promoted")
    assert [t.dtype for t in promoted] == [torch.float32, torch.float32, torch.bfloat16]
    mixed = ext.joint_heads(*half[:3], *given()[3:])
    assert [t.dtype for t in mixed] == [torch.float32] * 3
    torch.testing.assert_close(mixed[1], torch.cat((half[1].float(), given()[4]), 1))
    wide = ext.joint_heads(*(t.double() for t in half), torch.nn.RMSNorm(D).double())
    assert wide[0].dtype == torch.float64
    torch.testing.assert_close(wide[0][:, :S], F.rms_norm(half[0].double(), (D,)))


class Shifted(torch.nn.Module):
    def forward(self, x):
        return x + 1


def norms_that_are_called():
    hooked = torch.nn.RMSNorm(D)
    hooked.register_forward_hook(lambda module, args, result: result * 2)
    replaced = torch.nn.LayerNorm(D)
    replaced.forward = lambda x: x * 3
    return {"another module": Shifted(), "hooked": hooked, "replaced": replaced}


@pytest.mark.parametrize("name", norms_that_are_called())
@pytest.mark.parametrize("head_first", [False, True])
def test_norms_that_are_called(name, head_first):
    inputs, norm = given(), norms_that_are_called()[name]
    table = TABLE[:, 0] if head_first else TABLE
    inputs = [t.transpose(1, 2) if head_first else t for t in inputs]
    found, seen = ran(
        lambda: ext.joint_heads(*inputs, norm, None, None, norm, table, table, head_first=head_first)
    )
    assert "mindiesd::joint_heads" not in seen
    tables = ((table, table), (None, None))
    expected = lines(inputs, (norm, None, None, norm), tables, False, head_first, False)
    for ours, theirs in zip(found, expected, strict=True):
        torch.testing.assert_close(ours, theirs)


def test_norms_of_both_kinds_are_called():
    norms = [torch.nn.RMSNorm(D), torch.nn.LayerNorm(D), None, None]
    found, seen = ran(lambda: ext.joint_heads(*given(), *norms))
    assert "mindiesd::joint_heads" not in seen
    expected = lines(given(), norms, ((None, None),) * 2, False, False, False)
    for ours, theirs in zip(found, expected, strict=True):
        torch.testing.assert_close(ours, theirs)


def test_a_norm_that_was_moved_or_has_another_width_is_torchs_error():
    for norm in (torch.nn.RMSNorm(D + 1), torch.nn.RMSNorm(D, device="meta")):
        with pytest.raises((RuntimeError, ValueError)):
            ext.joint_heads(*given(), norm)


def test_tables_that_enlarge_a_stream_are_torchs_to_join():
    inputs = [t[:1] for t in given()]
    table = torch.randn(2, S, 1, D)
    with pytest.raises(RuntimeError, match="Sizes of tensors must match"):
        ext.joint_heads(*inputs, cos=table, sin=table)


def test_other_shapes_are_torchs_to_join():
    inputs = given()
    inputs[3] = inputs[3][..., :8]
    with pytest.raises(RuntimeError, match="Sizes of tensors must match"):
        ext.joint_heads(*inputs)
    flat = [t[0] for t in given()]
    with pytest.raises(RuntimeError, match="Sizes of tensors must match"):
        ext.joint_heads(*flat)
    repeated = [t[:, :, :1].expand(-1, -1, N, -1) for t in given()]
    for ours, part in zip(ext.joint_heads(*repeated), range(3)):
        assert torch.equal(ours, torch.cat((repeated[part], repeated[3 + part]), 1))


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda x: ext.joint_heads(*x[:5], None), "other_value must be a torch.Tensor"),
        (lambda x: ext.joint_heads(*x, cos=1.0), "cos must be a torch.Tensor"),
        (lambda x: ext.joint_heads(*x, rotated_mode="half"), "rotated_mode must be one of"),
        (lambda x: ext.joint_heads(*x, result_type="torch"), "result_type must be one of"),
        (lambda x: ext.joint_heads(*x, rms_type="wide"), "rms_type must be one of"),
        (lambda x: ext.joint_heads(*x, head_first=1), "head_first must be a bool"),
        (lambda x: ext.joint_heads(*x, cos=TABLE[..., :4], sin=TABLE), "both have 16 or both 8"),
        (lambda x: ext.joint_heads(*x, cos=TABLE[:2], sin=TABLE[:2]), "broadcast against query"),
    ],
)
def test_errors(call, text):
    with pytest.raises(ParametersInvalid, match=text):
        call(given())
