import torch.nn as nn

from wan.ops import scaled_dot_product_attention, silu


class Attention(nn.Module):
    def forward(self, q, k, v):
        return silu(scaled_dot_product_attention(q, k, v))
