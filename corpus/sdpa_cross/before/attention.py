import torch.nn as nn
import torch.nn.functional as F


class CrossAttention(nn.Module):
    """Text keys and values are projected once and kept between the steps."""

    def __init__(self, width, text_width, heads):
        super().__init__()
        self.heads = heads
        self.head_dim = width // heads
        self.q = nn.Linear(width, width)
        self.k = nn.Linear(text_width, width)
        self.v = nn.Linear(text_width, width)
        self.o = nn.Linear(width, width)

    def forward(self, x, text, cache=None):
        b = x.shape[0]
        q = self.q(x).view(b, -1, self.heads, self.head_dim).transpose(1, 2)
        if cache is not None and "k" in cache:
            k = cache["k"]
            v = cache["v"]
        else:
            k = self.k(text).view(b, -1, self.heads, self.head_dim).transpose(1, 2)
            v = self.v(text).view(b, -1, self.heads, self.head_dim).transpose(1, 2)
            if cache is not None:
                cache["k"], cache["v"] = k, v
        x = F.scaled_dot_product_attention(q, k, v)
        return self.o(x.transpose(1, 2).flatten(2))

    def encode(self, x, text):
        b = x.shape[0]
        if text is None:
            k = self.q(x).view(b, -1, self.heads, self.head_dim).transpose(1, 2)
            v = self.q(x).view(b, -1, self.heads, self.head_dim).transpose(1, 2)
        else:
            k = self.k(text).view(b, -1, self.heads, self.head_dim).transpose(1, 2)
            v = self.v(text).view(b, -1, self.heads, self.head_dim).transpose(1, 2)
        q = self.q(x).view(b, -1, self.heads, self.head_dim).transpose(1, 2)
        x = F.scaled_dot_product_attention(q, k, v)
        return self.o(x.transpose(1, 2).flatten(2))
