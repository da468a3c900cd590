import torch.nn as nn

from wan.ops import fused_attention, silu


class Attention(nn.Module):
    def forward(self, q, k, v):
        return silu(fused_attention(q, k, v))
