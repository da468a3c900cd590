"""Transformer blocks: a gated residual sum, and a norm of that sum in front of the next layer."""

import mindiesd.ext
import torch
from torch import nn


def modulate(x, shift, scale):
    return x * (1 + scale.unsqueeze(1)) + shift.unsqueeze(1)


class FeedForward(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up = nn.Linear(width, 2 * width)
        self.down = nn.Linear(2 * width, width)

    def forward(self, x):
        return self.down(torch.relu(self.up(x)))


class FluxLike(nn.Module):
    """Statement by statement, the modulation given from outside."""

    def __init__(self, width):
        super().__init__()
        self.norm1 = nn.LayerNorm(width, elementwise_affine=False)
        self.attn = FeedForward(width)
        self.norm2 = nn.LayerNorm(width, elementwise_affine=False, eps=1e-6)
        self.ff = FeedForward(width)

    def forward(self, hidden_states, shift_msa, scale_msa, gate_msa, shift_mlp, scale_mlp, gate_mlp):
        norm_hidden_states = mindiesd.ext.layernorm_scale_shift(
            self.norm1,
            hidden_states,
            scale_msa[:, None],
            shift_msa[:, None],
        )
        attn_output = self.attn(norm_hidden_states)

        # Process attention outputs.
        hidden_states, norm_hidden_states = mindiesd.ext.residual_norm(
            self.norm2,
            hidden_states,
            attn_output,
            gate_msa.unsqueeze(1),
            scale_mlp[:, None],
            shift_mlp[:, None],
        )

        ff_output = self.ff(norm_hidden_states)
        hidden_states = mindiesd.ext.residual(hidden_states, ff_output, gate_mlp.unsqueeze(1))
        return hidden_states


class DiTLike(nn.Module):
    """The norm stands inside the next statement."""

    def __init__(self, width):
        super().__init__()
        self.norm1 = nn.LayerNorm(width, elementwise_affine=False)
        self.attn = FeedForward(width)
        self.norm2 = nn.LayerNorm(width, elementwise_affine=False)
        self.mlp = FeedForward(width)
        self.modulation = nn.Linear(width, 6 * width)

    def forward(self, x, c):
        shift_msa, scale_msa, gate_msa, shift_mlp, scale_mlp, gate_mlp = self.modulation(c).chunk(6, dim=1)
        x, normed = mindiesd.ext.residual_norm(
            self.norm2,
            x,
            self.attn(mindiesd.ext.layernorm_scale_shift(self.norm1, x, scale_msa.unsqueeze(1), shift_msa.unsqueeze(1))),
            gate_msa.unsqueeze(1),
            scale_mlp.unsqueeze(1),
            shift_mlp.unsqueeze(1),
        )
        x = mindiesd.ext.residual(x, self.mlp(normed), gate_mlp.unsqueeze(1))
        return x


class DiTNamed(DiTLike):
    def forward(self, x, c):
        shift_msa, scale_msa, gate_msa, shift_mlp, scale_mlp, gate_mlp = self.modulation(c).chunk(6, dim=1)
        y = self.attn(mindiesd.ext.layernorm_scale_shift(self.norm1, x, scale_msa.unsqueeze(1), shift_msa.unsqueeze(1)))
        x, normed = mindiesd.ext.residual_norm(
            self.norm2,
            x,
            y,
            gate_msa.unsqueeze(1),
            scale_mlp.unsqueeze(1),
            shift_mlp.unsqueeze(1),
        )
        x = mindiesd.ext.residual(x, self.mlp(normed), gate_mlp.unsqueeze(1))  # the last
        return x


class WanLike(nn.Module):
    """Norms and sums in float32, the hidden states in the type of the model."""

    def __init__(self, width):
        super().__init__()
        self.norm1 = nn.LayerNorm(width, elementwise_affine=False)
        self.attn1 = FeedForward(width)
        self.norm2 = nn.LayerNorm(width)
        self.attn2 = FeedForward(width)
        self.norm3 = nn.LayerNorm(width, elementwise_affine=False)
        self.ffn = FeedForward(width)

    def forward(self, hidden_states, temb):
        shift_msa, scale_msa, gate_msa, c_shift_msa, c_scale_msa, c_gate_msa = temb.float().chunk(6, dim=1)
        norm_hidden_states = mindiesd.ext.norm_scale_shift(
            self.norm1,
            hidden_states,
            scale_msa,
            shift_msa,
            input_dtype="float32",
            dtype=hidden_states.dtype,
        )
        attn_output = self.attn1(norm_hidden_states)

        hidden_states, norm_hidden_states = mindiesd.ext.residual_norm(
            self.norm2,
            hidden_states,
            attn_output,
            gate_msa,
            input_dtype="float32",
            sum_dtype=hidden_states.dtype,
            dtype="sum",
        )
        attn_output = self.attn2(norm_hidden_states)

        hidden_states, norm_hidden_states = mindiesd.ext.residual_norm(
            self.norm3,
            hidden_states,
            attn_output,
            scale=c_scale_msa,
            shift=c_shift_msa,
            input_dtype="float32",
            dtype="sum",
        )
        ff_output = self.ffn(norm_hidden_states)
        hidden_states = mindiesd.ext.residual(hidden_states, ff_output, c_gate_msa, dtype=hidden_states.dtype)
        return hidden_states


class PreNorm(nn.Module):
    """The sum has two names, of which the second is read again."""

    def __init__(self, width):
        super().__init__()
        self.norm1 = mindiesd.ext.RMSNorm(width, eps=1e-5)
        self.attn = FeedForward(width)
        self.norm2 = mindiesd.ext.RMSNorm(width, eps=1e-5)
        self.mlp = FeedForward(width)

    def forward(self, hidden_states):
        residual = hidden_states
        hidden_states = self.norm1(hidden_states)
        hidden_states = self.attn(hidden_states)
        residual, hidden_states = mindiesd.ext.residual_norm(self.norm2, residual, hidden_states)
        hidden_states = self.mlp(hidden_states)
        hidden_states = residual + hidden_states
        return hidden_states


class Between(nn.Module):
    """The sum is read before the norm is taken."""

    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.mlp = nn.Linear(width, width)

    def forward(self, x, y):
        x, h = mindiesd.ext.residual_norm(self.norm, x, y)
        skip = torch.relu(x)
        return x + self.mlp(h) * skip
