import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.after = RMSNorm(dim)
        self.mlp = nn.Linear(dim, dim)

    def forward(self, x):
        residual = x
        x = self.norm(x)
        x = residual + self.mlp(x)
        kept = x
        return kept + self.mlp(self.after(kept))


class RMSNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, hidden_states):
        given = hidden_states
        variance = hidden_states.pow(2).mean(-1, keepdim=True)
        normed = hidden_states * torch.rsqrt(variance + 1e-6)
        return given * 0.5 + normed * self.weight
