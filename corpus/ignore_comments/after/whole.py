# refit: ignore-file[silu-function]
import mindiesd.ext
import torch.nn.functional as F


def kept(x):
    return F.silu(x)


def rewritten(x):
    return mindiesd.ext.gelu(x)
