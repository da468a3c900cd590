"""Other sizes and other ways, which stay."""
import torch
import torch.nn.functional as F


def smooth(x):
    return F.interpolate(x, scale_factor=2.0, mode="bilinear", align_corners=False)


def exact(x):
    return F.interpolate(x, scale_factor=2.0, mode="nearest-exact")


def thrice(x):
    return F.interpolate(x, scale_factor=3.0, mode="nearest") + F.interpolate(x, scale_factor=(1, 2))[..., :1, :1]


def chosen(x, factor=2):
    return F.interpolate(x, scale_factor=factor, mode="nearest")


@torch.jit.script
def compiled(x):
    return F.interpolate(x, scale_factor=2.0, mode="nearest")
