"""One rotation by 2x2 matrices, with the pairs taken apart and put together in other words."""

import mindiesd.ext
import torch
from torch import Tensor


def by_view(x: Tensor, matrices: Tensor) -> Tensor:
    return mindiesd.ext.rotary_matrix(x, matrices)


def cast_behind(x: Tensor, matrices: Tensor) -> Tensor:
    return mindiesd.ext.rotary_matrix(x, matrices)


def by_a_sum_of_sizes(x: Tensor, matrices: Tensor) -> Tensor:
    return mindiesd.ext.rotary_matrix(x, matrices)


def unflattened(x: Tensor, matrices: Tensor) -> Tensor:
    return mindiesd.ext.rotary_matrix(x, matrices)


def without_autocast(x: Tensor, matrices: Tensor) -> Tensor:
    with torch.amp.autocast(device_type=x.device.type, enabled=False):
        return mindiesd.ext.rotary_matrix(x, matrices)


def of_another_shape(x: Tensor, other: Tensor, matrices: Tensor) -> Tensor:
    pairs = x.float().view(*x.shape[:-1], -1, 1, 2)
    turned = matrices[..., 0] * pairs[..., 0] + matrices[..., 1] * pairs[..., 1]
    return turned.view(*other.shape).type_as(x)


def with_the_tables_axes(x: Tensor, matrices: Tensor) -> Tensor:
    return mindiesd.ext.rotary_matrix(x, matrices, keep_shape=False)


def as_another(x: Tensor, matrices: Tensor) -> Tensor:
    return mindiesd.ext.rotary_matrix(x, matrices)


def in_the_shape_of_another(x: Tensor, matrices: Tensor) -> Tensor:
    return mindiesd.ext.rotary_matrix(x, matrices, strides="dense")


def viewed(x: Tensor, matrices: Tensor) -> Tensor:
    return mindiesd.ext.rotary_matrix(x, matrices, strides="dense")


def wide(x: Tensor, matrices: Tensor) -> Tensor:
    return mindiesd.ext.rotary_matrix(x, matrices, result_type="float32", strides="dense")


def wide_with_the_tables_axes(x: Tensor, matrices: Tensor) -> Tensor:
    return mindiesd.ext.rotary_matrix(x, matrices, result_type="float32", keep_shape=False)


def in_its_own_type(x: Tensor, matrices: Tensor) -> Tensor:
    return mindiesd.ext.rotary_matrix(x, matrices, result_type="promoted", keep_shape=False)
