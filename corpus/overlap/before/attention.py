import torch.nn.functional as F


def nested(q, k, v):
    """Attention over the result of attention."""
    return F.scaled_dot_product_attention(
        F.scaled_dot_product_attention(q, k, v),
        k,
        v,
    )
