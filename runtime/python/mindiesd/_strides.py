"""The strides of results. A call stands for an expression of torch, and a ``.view`` that follows, there or in
another file, needs the strides which that expression gave.

torch's element-wise operators order the axes of their result by the strides of their operands: the first operand
decides, and where it does not (it has a size of one, or repeats itself) the next (TensorIterator::reorder_dimensions
in aten/src/ATen/TensorIterator.cpp). So the result of ``x * cos`` lies as x does, and that of ``cos * x`` mostly
does. What joins tensors (cat, stack), reduces or multiplies matrices gives a dense result. Entry points:
``elementwise``, ``like``, ``rows``.
"""

import torch


def _aligned(operand, sizes):
    """The operand's stride along each dimension of a result of these sizes; 0 where it has none, or one value
    for all places."""
    own = operand.dim()
    missing = len(sizes) - own
    strides = [0] * len(sizes)
    for d in range(max(0, -missing), own):
        repeated = operand.shape[d] == 1 and sizes[d + missing] != 1
        strides[d + missing] = 0 if repeated else operand.stride(d)
    return strides


def _after(strides, sizes, a, b):
    """Whether dimension a lies outside of b: 1, inside: -1, or the operands do not say: 0."""
    for own in strides:
        if own[a] == 0 or own[b] == 0:
            continue
        if own[a] != own[b]:
            return 1 if own[a] > own[b] else -1
        if sizes[a] > sizes[b]:
            return 1
    return 0


def elementwise(sizes, *operands):
    """The strides of a result of these sizes that torch computes element by element from the operands, in their
    order: tensors that broadcast to it, or the strides of one."""
    rank = len(sizes)
    strides = [o if isinstance(o, (list, tuple)) else _aligned(o, sizes) for o in operands]
    order = list(range(rank - 1, -1, -1))  # the innermost first
    for first in range(1, rank):
        at = first
        for other in range(first - 1, -1, -1):
            found = _after(strides, sizes, order[other], order[at])
            if found < 0:
                break
            if found > 0:
                order[other], order[at] = order[at], order[other]
                at = other
    return _packed(sizes, order)


def _packed(sizes, order):
    """The strides without gaps for an order of the dimensions, the innermost first."""
    out, step = [0] * len(sizes), 1
    for d in order:
        out[d] = step
        step = step * max(sizes[d], 1) if isinstance(sizes[d], int) else step * sizes[d]
    return out


def dense(sizes):
    """The strides of a contiguous tensor."""
    return _packed(sizes, range(len(sizes) - 1, -1, -1))


def rows(sizes):
    """The strides, as an operand, of a dense tensor with one value for each row: a sum that keeps its
    dimension."""
    return [*dense([*sizes[:-1], 1])[:-1], 0]


def of_pairs(x, table, table_first):
    """The strides of pairs of x's columns, each repeated along a new last dimension, times ``table`` [..., D/2, 2],
    joined to columns again: by a view, or where that cannot be by a copy."""
    pairs = x.unflatten(-1, (x.shape[-1] // 2, 2))[..., :1]
    sizes = (*pairs.shape[:-1], 2)
    strides = elementwise(sizes, *((table, pairs) if table_first else (pairs, table)))
    if strides[-2] != 2 * strides[-1] and sizes[-2] != 1:
        return dense(x.shape)
    return [*strides[:-2], strides[-1]]


def repeats(tensor):
    """Whether it is expanded, so that its strides leave the order of its result to other operands."""
    return any(isinstance(s, int) and s == 0 for s in tensor.stride())


def moved(tensor, strides):
    """The tensor, or a copy of it that has these strides; None asks for none."""
    if strides is None or list(tensor.stride()) == list(strides):
        return tensor
    return tensor.new_empty_strided(tensor.shape, strides).copy_(tensor)
