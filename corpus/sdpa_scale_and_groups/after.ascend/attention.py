import math

import mindiesd
import torch.nn.functional as F


class Block:
    scale = 0.25

    def split(self, x, heads):
        return x.view(2, -1, heads, 16).transpose(1, 2)

    def scaled(self, q, k, v):
        q = q.view(2, -1, 4, 16)
        k = k.view(2, -1, 4, 16)
        v = v.view(2, -1, 4, 16)
        x = mindiesd.attention_forward(q, k, v, scale=float(self.scale))
        return x.flatten(2)

    def integer_scale(self, q, k, v):
        q = q.view(2, -1, 4, 16)
        k = k.view(2, -1, 4, 16)
        v = v.view(2, -1, 4, 16)
        x = mindiesd.attention_forward(q, k, v, scale=1.0)
        return x.flatten(2)

    def grouped(self, q, k, v):
        """Eight query heads on two key heads."""
        q = q.view(2, -1, 8, 16).transpose(1, 2)
        k = k.view(2, -1, 2, 16).transpose(1, 2)
        v = v.view(2, -1, 2, 16).transpose(1, 2)
        x = F.scaled_dot_product_attention(
            q, k, v, scale=1 / math.sqrt(q.size(-1)), enable_gqa=True
        )
        return x.transpose(1, 2).flatten(2)
