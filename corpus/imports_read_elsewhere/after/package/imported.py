import mindiesd.ext
import torch.nn.functional as F


def act(x):
    return mindiesd.ext.gelu(x)
