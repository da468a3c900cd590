import mindiesd.ext
from torch.nn.functional import scaled_dot_product_attention


def attend(q, k, v):
    return mindiesd.ext.attention_forward(q, k, v, head_first=True)
