import torch.nn.functional as F


def act(x):
    return F.gelu(x)
