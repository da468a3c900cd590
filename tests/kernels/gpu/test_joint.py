"""Query, key and value of two streams into the joint tensors (kernels/cuda/joint.cuh), in one launch where vectors
read them, and by the kernel for everything else."""

import itertools
import math

import pytest
import torch
import torch.nn.functional as F
from gpu_support import (
    FORMS,
    HALVES,
    TYPES,
    check,
    normal,
    of_all_sizes,
    poisoned,
    rotated,
    rounding_of_mean,
    tables,
)

launchers = pytest.importorskip("launchers", reason="no library of launchers", exc_type=OSError)

BATCH = 2


def normalised(x, span, kind, weight, bias):
    """(y, what its rounding is relative to, the rounding of the mean)."""
    rows = x.double().flatten(2) if span == "heads" else x.double()
    width = rows.shape[-1:]
    if kind == "layer":
        y, extra = F.layer_norm(rows, width, eps=1e-6), rounding_of_mean(rows, 1e-6)
    else:
        y, extra = rows * torch.rsqrt(rows.square().mean(-1, keepdim=True) + 1e-6), torch.zeros_like(rows)
    if weight is not None:
        y, extra = y * weight.double(), extra * weight.double().abs()
    size = y.abs()
    if bias is not None:
        y, size = y + bias.double(), size + bias.double().abs()
    return tuple((t + torch.zeros_like(rows)).view(x.shape) for t in (y, size, extra))


class Joint:
    """The stretches of one call, and what each must give."""

    def __init__(self, lengths, heads, width, dtype, like=None, target=None):
        self.lengths, self.width = lengths, width
        self.outputs = [
            poisoned(normal(BATCH, sum(lengths), count, width, dtype=dtype), target) for count in heads
        ]
        self.inputs = [
            [normal(BATCH, length, count, width, dtype=dtype, like=like) for count in heads]
            for length in lengths
        ]
        self.stretches, self.checks = [], []
        self.operands = []  # a stretch has their addresses alone

    def add(self, stream, part, *, norm=None, kind="rms", weight=None, bias=None, table=None):
        """table: ((cos, sin), matrix, interleaved)."""
        x = self.inputs[stream][part]
        y = self.outputs[part].split(self.lengths, 1)[stream]
        given = () if table is None else table[0]
        self.operands += [weight, bias, *given]
        self.stretches.append(
            launchers.stretch(
                x, y, *given, norm=norm, kind=kind, weight=weight, bias=bias,
                interleaved=table is not None and table[2],
            )
        )  # fmt: skip
        if norm is None:
            expected = size = x.double()
            extra = torch.zeros_like(expected)
        else:
            expected, size, extra = normalised(x, norm, kind, weight, bias)
        if table is not None:
            expected = rotated(expected, table[1], table[2])[0]
            size, extra = (rotated(t, table[1].abs(), table[2])[1] for t in (size, extra))
        self.checks.append((y, expected, size.abs(), extra))

    def run(self):
        launchers.joint_heads(self.stretches)
        for y, expected, size, extra in self.checks:
            check(y, expected, size, extra)


def both_tables(form, interleaved, lengths, width, dtype):
    made = []
    for length in lengths:
        pair, matrix = tables(form, (length, 1), width, dtype)
        made.append((pair, matrix, interleaved))
    return made


@pytest.mark.parametrize("form,interleaved", FORMS)
@pytest.mark.parametrize("width", (8, 64, 72, 128, 256, 6, 74))
@pytest.mark.parametrize("dtype", TYPES)
def test_forms(form, interleaved, width, dtype):
    """Which streams rotate, norms of either kind, weights of two types, biases, odd counts of heads."""
    for lengths, kind, turns in itertools.product(
        ((37, 5), (1, 300)), ("rms", "layer", None), ((0, 1), (0,), (1,), ())
    ):
        joint = Joint(lengths, (5, 3, 3), width, dtype)
        table = both_tables(form, interleaved, lengths, width, torch.float32)
        for part, stream in itertools.product(range(3), range(2)):
            weight = normal(width, dtype=dtype if stream else torch.float32)
            bias = normal(width, dtype=dtype) if kind == "layer" else None
            normed = kind is not None and part < 2
            joint.add(
                stream, part, norm="row" if normed else None, kind=kind or "rms",
                weight=weight if normed and part == 0 else None, bias=bias if normed else None,
                table=table[stream] if stream in turns and part < 2 else None,
            )  # fmt: skip
        joint.run()


@pytest.mark.parametrize("like", ("unaligned", "padded", "strided", "transposed"))
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("span", ("row", "heads"))
def test_strides_and_spans(like, dtype, span):
    for width, kind in itertools.product((64, 130), ("rms", "layer")):
        joint = Joint((33, 7), (4, 2, 2), width, dtype, like)
        table = both_tables("full-neighbours", True, joint.lengths, width, torch.float32)
        for part, stream in itertools.product(range(3), range(2)):
            count = joint.inputs[stream][part].shape[2]
            weight = normal(width * (count if span == "heads" else 1))
            joint.add(
                stream, part, norm=span if part < 2 else None, kind=kind,
                weight=weight if part < 2 else None, table=table[stream] if part < 2 else None,
            )  # fmt: skip
        joint.run()


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("target", (None, torch.float32))
@pytest.mark.parametrize("table_type", (torch.bfloat16, torch.float64))
def test_types(dtype, target, table_type):
    joint = Joint((129, 65), (3, 3, 3), 128, dtype, target=target)
    table = both_tables("half-width", False, joint.lengths, 128, table_type)
    for part, stream in itertools.product(range(3), range(2)):
        joint.add(stream, part, table=table[stream] if part < 2 else None)
    joint.run()


@pytest.mark.parametrize("dtype", TYPES)
def test_squares_beyond_float32_and_nan(dtype):
    """In their rows alone; values keep their bits."""
    joint = Joint((44, 11), (4, 4, 4), 64, dtype)
    for stream, part in itertools.product(range(2), range(3)):
        x = joint.inputs[stream][part]
        x.copy_(of_all_sizes(*x.shape, dtype=dtype).nan_to_num(0.0, 0.0, 0.0))
        if part < 2:
            x[0, 3, 1, 5] = math.nan
        joint.add(stream, part, norm="row" if part < 2 else None)
    launchers.joint_heads(joint.stretches)
    for i, (y, expected, size, extra) in enumerate(joint.checks):
        if i % 3 == 2:
            assert torch.equal(y.double(), expected)
        else:
            check(y, expected, size.nan_to_num(0.0), extra.nan_to_num(0.0))


@pytest.mark.parametrize("dtype", HALVES)
def test_streams_without_tokens(dtype):
    for lengths in ((0, 5), (5, 0), (0, 0)):
        joint = Joint(lengths, (2, 2, 2), 64, dtype)
        for stream, part in itertools.product(range(2), range(3)):
            joint.add(stream, part)
        joint.run()
