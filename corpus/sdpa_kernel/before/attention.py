import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel


def attend(q, k, v):
    with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        return F.scaled_dot_product_attention(q, k, v)


def chosen(q, k, v):
    return F.scaled_dot_product_attention(q, k, v)
