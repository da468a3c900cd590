import mindiesd.ext
import torch.nn as nn

from wan.ops import silu


class Attention(nn.Module):
    def forward(self, q, k, v):
        return silu(mindiesd.ext.attention_forward(q, k, v, head_first=True))
