"""What the blocks of a transformer share: small functions, each of which computes one value."""

import functools

import torch

STRENGTH = 1.0


def modulate(x, shift, scale):
    """Scale and shift per sample."""
    return x * (1 + scale.unsqueeze(1)) + shift.unsqueeze(1)


def scaled(x: torch.Tensor, scale: torch.Tensor):
    widened = scale[:, None]
    return x * (1 + widened)


def with_a_default(x, shift, scale, strength=1.0):
    return x * (1 + scale * strength) + shift


def of_the_module(x, shift, scale):
    return x * (STRENGTH + scale) + shift


def checked(x, shift, scale):
    if scale is None:
        return x
    return x * (1 + scale) + shift


@functools.lru_cache
def cached(x, shift, scale):
    return x * (1 + scale) + shift


def replaced(x, shift, scale):
    return x * (1 + scale) + shift


def noted(x, shift, scale):
    print(scale.shape)
    return x * (1 + scale) + shift


def in_place(x, shift, scale):
    x *= 1 + scale
    return x + shift


def generated(x, shift, scale):
    return x * (1 + scale) + shift
    yield


def widened(x, scale):
    return scale.unsqueeze(1)
