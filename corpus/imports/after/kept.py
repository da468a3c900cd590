import mindiesd.ext
import torch.nn.functional as F
from torch.nn.functional import scaled_dot_product_attention  # used below

__all__ = ["attend", "scaled_dot_product_attention"]


def attend(q, k, v):
    """Uses F.scaled_dot_product_attention."""
    return mindiesd.ext.silu(
        mindiesd.ext.attention_forward(q, k, F.relu(v), head_first=True),
    )
