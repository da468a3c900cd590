"""Gated sums in which the product stands first, so that the result lies as a factor of it does."""

import mindiesd.ext
from torch import nn


class SingleStream(nn.Module):
    """As HunyuanVideo's: the sum leaves the block, and a view may tell how it lies."""

    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.proj_out = nn.Linear(width, width)

    def forward(self, hidden_states, gate):
        residual = hidden_states
        hidden_states = mindiesd.fast_layernorm(self.norm, hidden_states)
        hidden_states = mindiesd.ext.residual(
            residual,
            self.proj_out(hidden_states),
            gate.unsqueeze(1),
            strides="gate",
        )
        return hidden_states


class BranchFirst(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.ff = nn.Linear(width, width)

    def forward(self, x, gate):
        y = self.ff(mindiesd.fast_layernorm(self.norm, x).transpose(0, 1)).transpose(0, 1)
        return mindiesd.ext.residual(x, y, gate[:, None], strides="branch")


class Flat(nn.Module):
    """A view of the sum, which works where it lies as the branch."""

    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.ff = nn.Linear(width, width)

    def forward(self, x, gate):
        h = self.ff(mindiesd.fast_layernorm(self.norm, x))
        x = mindiesd.ext.residual(x, h, gate, strides="branch")
        return x.view(-1)
