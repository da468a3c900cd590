import mindiesd
import torch.nn.functional as F


def attend(q, k, v, scale: float = None):
    q, k, v = q.view(2, 3, -1, 8), k.view(2, 3, -1, 8), v.view(2, 3, -1, 8)
    return F.scaled_dot_product_attention(q, k, v, scale=scale)


def given(q, k, v, scale: float):
    q, k, v = q.view(2, 3, -1, 8), k.view(2, 3, -1, 8), v.view(2, 3, -1, 8)
    return mindiesd.attention_forward(q, k, v, scale=float(scale), head_first=True)
