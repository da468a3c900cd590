"""Rotation by the places of tokens in a grid of frames, rows and columns. Entry point: ``rotary_grid``."""

import torch

from .. import _forms
from .._checks import expect_same_device, expect_tensor
from .._eager import eager
from .._refusals import refusing
from ..utils import ParametersInvalid


@eager
def _rotary_grid(x, table, grid_sizes, frame_pairs, row_pairs):
    return _forms.rotary_grid(x, table, grid_sizes, frame_pairs, row_pairs)


def _grid_tensor(grid_sizes):
    if isinstance(grid_sizes, (list, tuple)):
        try:
            grid_sizes = torch.tensor(grid_sizes, dtype=torch.int64)
        except (TypeError, ValueError) as error:
            raise ParametersInvalid(f"grid_sizes must hold triples of ints: {error}.") from error
    if not isinstance(grid_sizes, torch.Tensor):
        raise ParametersInvalid(
            f"grid_sizes must be a tensor or a list of triples, but is {type(grid_sizes).__name__}."
        )
    if grid_sizes.is_floating_point() or grid_sizes.is_complex() or grid_sizes.dtype == torch.bool:
        raise ParametersInvalid(f"grid_sizes must be integers, but is {grid_sizes.dtype}.")
    return grid_sizes


def _check_grids(grid_sizes, x, table):
    """On the host, as the code that is replaced reads them."""
    for sizes in grid_sizes.tolist():
        cells = sizes[0] * sizes[1] * sizes[2]
        if min(sizes) < 0 or max(sizes) > table.shape[0] or cells > x.shape[1]:
            raise ParametersInvalid(
                f"grid_sizes must lie in 0 to the table's {table.shape[0]} rows and have at most x's "
                f"{x.shape[1]} positions as cells, but holds {sizes}."
            )


@refusing
def rotary_grid(x, freqs, grid_sizes):
    """Each token turned by its place in a grid of frames, rows and columns, as ``rope_apply`` of Wan has it.

    The first f * h * w tokens of sample b, (f, h, w) being ``grid_sizes[b]``, are the cells of a grid, columns
    innermost. Neighbours (x[2j], x[2j + 1]) as complex numbers are multiplied by ``freqs[place, j]``: with C = D/2
    pairs, place is the frame for the first C - 2 (C // 3) pairs, the row for the next C // 3 and the column for
    the last C // 3. The tokens behind the grid keep their values.

    Args:
        x: [B, S, N, D], floating, D even.
        freqs: complex [P, D/2], P at least the largest size of a grid; moved where it lies on another device.
            In one pass complex128 counts as complex64, whose rounding lies below that of the result.
        grid_sizes: [B, 3] integers, a tensor or a list of triples; one on a device is fetched.

    Returns:
        A contiguous float32 tensor [B, S, N, D], rounded once.

    Raises:
        ParametersInvalid: an argument has the wrong type, shape or value.
    """
    expect_tensor("x", x)
    expect_tensor("freqs", freqs)
    if x.dim() != 4 or x.shape[-1] % 2 or not x.is_floating_point():
        raise ParametersInvalid(
            "x must be a floating tensor [B, S, N, D] with an even D, but is "
            f"{x.dtype} of shape {list(x.shape)}."
        )
    pairs = x.shape[-1] // 2
    if freqs.dim() != 2 or not freqs.is_complex() or freqs.shape[1] != pairs:
        raise ParametersInvalid(
            f"freqs must be a complex tensor [P, {pairs}], but is {freqs.dtype} of shape "
            f"{list(freqs.shape)}."
        )
    grid_sizes = _grid_tensor(grid_sizes)
    if grid_sizes.shape != (x.shape[0], 3):
        raise ParametersInvalid(
            f"grid_sizes must have shape [{x.shape[0]}, 3], but has {list(grid_sizes.shape)}."
        )
    if freqs.device != x.device:
        freqs = freqs.to(x.device)
    expect_same_device("freqs", freqs, "x", x)
    table = torch.view_as_real(freqs.resolve_conj().contiguous())
    if not torch.compiler.is_compiling():
        grid_sizes = grid_sizes.to("cpu", torch.int64)
        _check_grids(grid_sizes, x, table)
    third = pairs // 3
    return _rotary_grid(x, table, grid_sizes, pairs - 2 * third, third)
