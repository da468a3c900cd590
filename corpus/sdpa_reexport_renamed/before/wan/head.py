import torch

from . import ops


def pool(q, k, v):
    return torch.relu(ops.attention(q, k, v))
