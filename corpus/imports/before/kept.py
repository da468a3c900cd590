import torch.nn.functional as F
from torch.nn.functional import scaled_dot_product_attention, silu  # used below

__all__ = ["attend", "scaled_dot_product_attention"]


def attend(q, k, v):
    """Uses F.scaled_dot_product_attention."""
    return silu(scaled_dot_product_attention(q, k, F.relu(v)))
