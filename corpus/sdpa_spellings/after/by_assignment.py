import mindiesd.ext
import torch.nn.functional as F

attention = F.scaled_dot_product_attention


def attend(q, k, v):
    return mindiesd.ext.attention_forward(q, k, v, head_first=True)
