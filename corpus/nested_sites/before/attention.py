import torch
import torch.nn.functional as F
from flash_attn import flash_attn_varlen_func


def inner_in_an_argument(q, k, v, b, n, d):
    q, k, v = q.view(b, -1, n, d), k.view(b, -1, n, d), v.view(b, -1, n, d)
    x = F.scaled_dot_product_attention(
        F.scaled_dot_product_attention(q, k, v), k, v, dropout_p=0.0
    )
    return x


def inner_in_what_goes(q, k, v, cu, longest):
    return flash_attn_varlen_func(
        q,
        k,
        v,
        cu,
        cu,
        longest,
        F.scaled_dot_product_attention(q, k, v).shape[0],
    )


def three_deep(self, q, k, v):
    x = torch.softmax(torch.clamp(F.scaled_dot_product_attention(q, torch.softmax(torch.clamp(k, min=-5), dim=-1), v), min=-5), dim=-1)
    return x
