"""Gated sums in which the product stands first, so that the result lies as a factor of it does."""

from torch import nn


class SingleStream(nn.Module):
    """As HunyuanVideo's: the sum leaves the block, and a view may tell how it lies."""

    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.proj_out = nn.Linear(width, width)

    def forward(self, hidden_states, gate):
        residual = hidden_states
        hidden_states = self.norm(hidden_states)
        hidden_states = gate.unsqueeze(1) * self.proj_out(hidden_states)
        hidden_states = hidden_states + residual
        return hidden_states


class BranchFirst(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.ff = nn.Linear(width, width)

    def forward(self, x, gate):
        y = self.ff(self.norm(x).transpose(0, 1)).transpose(0, 1)
        return y * gate[:, None] + x


class Flat(nn.Module):
    """A view of the sum, which works where it lies as the branch."""

    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.ff = nn.Linear(width, width)

    def forward(self, x, gate):
        h = self.ff(self.norm(x))
        x = h * gate + x
        return x.view(-1)
