"""A decorator that is TorchScript's compiler, or may be, by another name."""

import mindiesd.ext
import torch
import torch.nn.functional as F

from jit import fuser, maybe
import jit


@fuser
def gelu(x):
    return F.gelu(x)


@jit.fuser
def silu(x):
    return F.silu(x)


@maybe()
def fast_gelu(x):
    return x * torch.sigmoid(1.702 * x)


@jit.timed
def mish_of_gelu(x):
    return mindiesd.ext.gelu(x)


@torch.compile
def compiled(x):
    return mindiesd.ext.gelu(x)
