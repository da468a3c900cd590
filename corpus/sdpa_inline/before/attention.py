import torch
from torch import nn
from torch.nn import functional as F


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.q = nn.Linear(width, width)
        self.kv = nn.Linear(width, 2 * width)

    def forward(self, x, context=None):
        context = x if context is None else context
        b, n, c = x.shape
        q = self.q(x).reshape(b, n, self.heads, c // self.heads)
        k, v = self.kv(context).reshape(b, -1, 2, self.heads, c // self.heads).unbind(2)
        return (
            F.scaled_dot_product_attention(
                q.transpose(1, 2),
                k.transpose(1, 2),
                v.transpose(1, 2),
            )
            .transpose(1, 2)
            .reshape(b, n, c)
        )


def attend(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, heads: int) -> torch.Tensor:
    q, k, v = (t.unflatten(-1, (heads, -1)) for t in (q, k, v))
    return F.scaled_dot_product_attention(q, k, v)
