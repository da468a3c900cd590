# refit: ignore-file[silu-function]
import torch.nn.functional as F


def kept(x):
    return F.silu(x)


def rewritten(x):
    return F.gelu(x)
