import functools

import mindiesd.ext
import torch
import torch.nn.functional as F

if torch.cuda.is_available():
    from flash_attn import flash_attn_func as attend
else:
    attend = F.scaled_dot_product_attention


def by_name(q, k, v):
    return attend(q, k, v)


def by_branch(q, k, v, flash):
    function = F.scaled_dot_product_attention if flash else torch.nn.functional.softmax
    return function(q, k, v)


class Attention:
    attention = staticmethod(F.scaled_dot_product_attention)

    def __init__(self):
        self.scaled = functools.partial(F.scaled_dot_product_attention, scale=1.0)
        self.named = getattr(F, "scaled_dot_product_attention")

    def forward(self, q, k, v):
        kinds = {"torch": F.scaled_dot_product_attention}
        known = F.scaled_dot_product_attention is not None
        x = mindiesd.ext.attention_forward(q, k, v, head_first=True)
        return kinds, known, x
