"""What stays as it is."""

import torch


def written(x, y, z):
    part = 23 * x
    y = y.clone()
    y.mul_(2)
    return (part - 16 * y + 5 * z) / 12


def read_again(x, y, z):
    part = 23 * x - 16 * y
    return (part + 5 * z) / 12, part


def over_its_operand(x, y, z):
    total = 23 * x - 16 * y
    kept = total
    total += 5 * z
    return total / 12, kept


def other_order(f, g, x):
    return (23 * f(x) + (5 * g(x) - 16 * x)) / 12


def whole(i, j, k):
    return (i * 251633 + j * 483 + k * 7) // 12


def two(x, y):
    return (3 * x - y) / 12


def by_tensors(x, y, z, a, b, c):
    return (a * x + b * y + c * z) / 12
