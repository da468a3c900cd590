import mindiesd.ext
import torch


def floor(scores):
    return mindiesd.ext.softmax(scores, dim=-1, clamp_min=-50000)


def both(scores, value):
    # Do not increase -50000, it overflows
    return mindiesd.ext.softmax(
        scores,
        dim=-1,
        clamp_min=-50000,
        clamp_max=50000,
    ) @ value


def at_once(scores):
    return mindiesd.ext.softmax(scores, dim=-1, clamp_min=-30.0, clamp_max=30.0)


def after_maximum(scores):
    return mindiesd.ext.softmax(scores, dim=-1, subtract="row", clamp_min=-20)


def clipped(scores, high=3.0):
    return mindiesd.ext.softmax(scores, dim=-1, clamp_max=high)


def clamp_before_maximum(scores):
    """Only what stands last can move into the softmax."""
    scores = torch.clamp(scores, min=-5)
    return mindiesd.ext.softmax(scores, dim=-1, subtract="row", clamp_max=-1)
