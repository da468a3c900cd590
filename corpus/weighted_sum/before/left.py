"""What stays as it is."""

import torch


def written(x, y, z):
    part = 0.5 * x
    y = y.clone()
    y.mul_(2)
    return part + 0.25 * y + 0.125 * z


def read_again(x, y, z):
    part = 0.5 * x + 0.25 * y
    return part + 0.125 * z, part


def over_its_operand(x, y, z):
    total = 0.5 * x + 0.25 * y
    kept = total
    total += 0.125 * z
    return total, kept


def other_order(f, g, x):
    return 0.5 * f(x) + (0.25 * g(x) - 0.125 * x)


def whole(i, j, k):
    return i * 251633 + j * 483 + k * 7


def two(x, y):
    return 0.5 * x + 0.25 * y


def by_tensors(x, y, z, a, b, c):
    return a * x + b * y + c * z
