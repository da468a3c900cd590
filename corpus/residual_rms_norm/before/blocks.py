"""Blocks whose norms are RMSNorms: of the sum, of what is added, modulated, with a gate that tanh bounds."""

import torch
from diffusers.models.normalization import RMSNorm
from torch import nn


class FeedForward(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up = nn.Linear(width, 2 * width)
        self.down = nn.Linear(2 * width, width)

    def forward(self, x):
        return self.down(torch.relu(self.up(x)))


class LuminaLike(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm1 = RMSNorm(width, eps=1e-5)
        self.attn = FeedForward(width)
        self.norm2 = RMSNorm(width, eps=1e-5)
        self.ffn_norm1 = RMSNorm(width, eps=1e-5)
        self.feed_forward = FeedForward(width)
        self.ffn_norm2 = RMSNorm(width, eps=1e-5)

    def forward(self, hidden_states, scale_msa, gate_msa, scale_mlp, gate_mlp):
        attn_output = self.attn(self.norm1(hidden_states) * (1 + scale_msa[:, None]))
        hidden_states = hidden_states + gate_msa.unsqueeze(1).tanh() * self.norm2(attn_output)
        mlp_output = self.feed_forward(self.ffn_norm1(hidden_states) * (1 + scale_mlp.unsqueeze(1)))
        hidden_states = hidden_states + gate_mlp.unsqueeze(1).tanh() * self.ffn_norm2(mlp_output)
        return hidden_states


class ZImageLike(nn.Module):
    """Gates that are tanh already, norms of torch."""

    def __init__(self, width):
        super().__init__()
        self.attention_norm1 = nn.RMSNorm(width, eps=1e-5)
        self.attention = FeedForward(width)
        self.attention_norm2 = nn.RMSNorm(width, eps=1e-5)
        self.ffn_norm1 = nn.RMSNorm(width, eps=1e-5)
        self.feed_forward = FeedForward(width)
        self.ffn_norm2 = nn.RMSNorm(width, eps=1e-5)

    def forward(self, x, scale_msa, gate_msa, scale_mlp, gate_mlp):
        gate_msa, gate_mlp = gate_msa.unsqueeze(1).tanh(), gate_mlp.unsqueeze(1).tanh()
        attn_out = self.attention(self.attention_norm1(x) * (1 + scale_msa)[:, None, :])
        x = x + gate_msa * self.attention_norm2(attn_out)
        x = x + gate_mlp * self.ffn_norm2(self.feed_forward(self.ffn_norm1(x) * (1 + scale_mlp)[:, None]))
        return x


class LTXLike(nn.Module):
    """Norms without weights; the modulation stands in a statement of its own, or beside the norm."""

    def __init__(self, width):
        super().__init__()
        self.norm1 = RMSNorm(width, eps=1e-6, elementwise_affine=False)
        self.attn1 = FeedForward(width)
        self.attn2 = FeedForward(width)
        self.norm2 = RMSNorm(width, eps=1e-6, elementwise_affine=False)
        self.ff = FeedForward(width)

    def forward(self, hidden_states, scale_msa, gate_msa, scale_mlp, gate_mlp):
        norm_hidden_states = self.norm1(hidden_states)
        norm_hidden_states = norm_hidden_states * (1 + scale_msa[:, None]) + gate_mlp[:, None]
        hidden_states = hidden_states + self.attn1(norm_hidden_states) * gate_msa[:, None]
        attn_hidden_states = self.attn2(hidden_states)
        hidden_states = hidden_states + attn_hidden_states
        norm_hidden_states = self.norm2(hidden_states) * (1 + scale_mlp[:, None]) + gate_msa[:, None]
        return hidden_states + self.ff(norm_hidden_states)


class Columns(nn.Module):
    """The columns of what is normalised lie apart, and a reader out of sight may see how the result lies."""

    def __init__(self, width):
        super().__init__()
        self.norm = RMSNorm(width, eps=1e-5)

    def forward(self, x, scale):
        return self.norm(x.transpose(1, 2)) * (1 + scale[:, None])


class Twice(nn.Module):
    """The normalised branch is read again."""

    def __init__(self, width):
        super().__init__()
        self.attn = FeedForward(width)
        self.norm = RMSNorm(width, eps=1e-5)

    def forward(self, x, gate):
        y = self.norm(self.attn(x))
        x = x + gate[:, None] * y
        return x + y


class Replaced(nn.Module):
    """Another function stores another norm."""

    def __init__(self, width):
        super().__init__()
        self.exchanged = RMSNorm(width, eps=1e-5)
        self.ff = FeedForward(width)

    def forward(self, x, scale):
        return self.ff(self.exchanged(x) * (1 + scale[:, None]))


def without_norm(block):
    block.exchanged = nn.Identity()
    return block
