"""One rotation by 2x2 matrices, with the pairs taken apart and put together in other words."""

import torch
from torch import Tensor


def by_view(x: Tensor, matrices: Tensor) -> Tensor:
    pairs = x.float().view(*x.shape[:-1], -1, 1, 2)
    turned = matrices[..., 0] * pairs[..., 0] + matrices[..., 1] * pairs[..., 1]
    return turned.reshape(*x.shape).type_as(x)


def cast_behind(x: Tensor, matrices: Tensor) -> Tensor:
    pairs = x.view(*x.shape[:-1], -1, 1, 2).float()
    turned = matrices[..., 0] * pairs[..., 0] + matrices[..., 1] * pairs[..., 1]
    return turned.reshape(*x.shape).to(x.dtype)


def by_a_sum_of_sizes(x: Tensor, matrices: Tensor) -> Tensor:
    pairs = x.float().reshape(x.shape[:-1] + (-1, 1, 2))
    turned = matrices[..., 0] * pairs[..., 0] + matrices[..., 1] * pairs[..., 1]
    return turned.reshape(*x.shape).type_as(x)


def unflattened(x: Tensor, matrices: Tensor) -> Tensor:
    pairs = x.float().unflatten(-1, (-1, 1, 2))
    turned = matrices[..., 0] * pairs[..., 0] + matrices[..., 1] * pairs[..., 1]
    return turned.reshape(x.shape).type_as(x)


def without_autocast(x: Tensor, matrices: Tensor) -> Tensor:
    with torch.amp.autocast(device_type=x.device.type, enabled=False):
        pairs = x.float().view(*x.shape[:-1], -1, 1, 2)
        turned = matrices[..., 0] * pairs[..., 0] + matrices[..., 1] * pairs[..., 1]
        return turned.reshape(*x.shape).to(dtype=x.dtype)


def of_another_shape(x: Tensor, other: Tensor, matrices: Tensor) -> Tensor:
    pairs = x.float().view(*x.shape[:-1], -1, 1, 2)
    turned = matrices[..., 0] * pairs[..., 0] + matrices[..., 1] * pairs[..., 1]
    return turned.view(*other.shape).type_as(x)


def with_the_tables_axes(x: Tensor, matrices: Tensor) -> Tensor:
    pairs = x.float().unflatten(-1, (-1, 1, 2))
    turned = matrices[..., 0] * pairs[..., 0] + matrices[..., 1] * pairs[..., 1]
    return turned.flatten(-2).type_as(x)


def as_another(x: Tensor, matrices: Tensor) -> Tensor:
    pairs = x.float().view(*x.shape[:-1], -1, 1, 2)
    turned = matrices[..., 0] * pairs[..., 0] + matrices[..., 1] * pairs[..., 1]
    return turned.view_as(x).type_as(x)


def in_the_shape_of_another(x: Tensor, matrices: Tensor) -> Tensor:
    pairs = x.float().view(*x.shape[:-1], -1, 1, 2)
    return (matrices * pairs).sum(dim=-1).reshape_as(x).to(x.dtype)


def viewed(x: Tensor, matrices: Tensor) -> Tensor:
    pairs = x.float().view(*x.shape[:-1], -1, 1, 2)
    return (matrices.float() * pairs).sum(dim=-1).view(x.shape).to(x.dtype)


def wide(x: Tensor, matrices: Tensor) -> Tensor:
    pairs = x.unflatten(-1, (-1, 1, 2)).float()
    return (matrices * pairs).sum(dim=-1).view(*x.shape)


def wide_with_the_tables_axes(x: Tensor, matrices: Tensor) -> Tensor:
    pairs = x.float().unflatten(-1, (-1, 1, 2))
    turned = matrices[..., 0] * pairs[..., 0] + matrices[..., 1] * pairs[..., 1]
    return turned.flatten(-2)


def in_its_own_type(x: Tensor, matrices: Tensor) -> Tensor:
    pairs = x.unflatten(-1, (-1, 1, 2))
    turned = matrices[..., 0] * pairs[..., 0] + matrices[..., 1] * pairs[..., 1]
    return turned.flatten(-2)
