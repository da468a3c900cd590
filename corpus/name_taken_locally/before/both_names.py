import torch.nn.functional as F

mindiesd = 1.0
_mindiesd_ext = 2.0


def act(x):
    return F.silu(x) * mindiesd * _mindiesd_ext
