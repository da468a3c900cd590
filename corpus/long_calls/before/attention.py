import torch.nn.functional as F
from flash_attn import flash_attn_func


def causal(query, key, value, mask, causal):
    return F.scaled_dot_product_attention(query, key, value, mask, is_causal=causal)


def windowed(q, k, v, window):
    return flash_attn_func(q, k, v, window_size=(window, 0), softcap=50.0)
