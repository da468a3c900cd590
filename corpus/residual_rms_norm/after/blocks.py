"""Blocks whose norms are RMSNorms: of the sum, of what is added, modulated, with a gate that tanh bounds."""

import mindiesd.ext
import torch
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
        self.norm1 = mindiesd.ext.TypedRMSNorm(width, eps=1e-5, result_type="weight")
        self.attn = FeedForward(width)
        self.norm2 = mindiesd.ext.TypedRMSNorm(width, eps=1e-5, result_type="weight")
        self.ffn_norm1 = mindiesd.ext.TypedRMSNorm(width, eps=1e-5, result_type="weight")
        self.feed_forward = FeedForward(width)
        self.ffn_norm2 = mindiesd.ext.TypedRMSNorm(width, eps=1e-5, result_type="weight")

    def forward(self, hidden_states, scale_msa, gate_msa, scale_mlp, gate_mlp):
        attn_output = self.attn(mindiesd.ext.norm_scale_shift(self.norm1, hidden_states, scale_msa[:, None], rms_type="weight", strides="x"))
        hidden_states, normed = mindiesd.ext.residual_norm(
            self.ffn_norm1,
            hidden_states,
            attn_output,
            gate_msa.unsqueeze(1),
            scale_mlp.unsqueeze(1),
            gate_function="tanh",
            branch_norm=self.norm2,
            branch_rms_type="weight",
            rms_type="weight",
            strides="x",
        )
        mlp_output = self.feed_forward(normed)
        hidden_states = mindiesd.ext.residual(
            hidden_states,
            mlp_output,
            gate_mlp.unsqueeze(1),
            gate_function="tanh",
            branch_norm=self.ffn_norm2,
            branch_rms_type="weight",
        )
        return hidden_states


class ZImageLike(nn.Module):
    """Gates that are tanh already, norms of torch."""

    def __init__(self, width):
        super().__init__()
        self.attention_norm1 = mindiesd.ext.RMSNorm(width, eps=1e-5)
        self.attention = FeedForward(width)
        self.attention_norm2 = mindiesd.ext.RMSNorm(width, eps=1e-5)
        self.ffn_norm1 = mindiesd.ext.RMSNorm(width, eps=1e-5)
        self.feed_forward = FeedForward(width)
        self.ffn_norm2 = mindiesd.ext.RMSNorm(width, eps=1e-5)

    def forward(self, x, scale_msa, gate_msa, scale_mlp, gate_mlp):
        gate_msa, gate_mlp = gate_msa.unsqueeze(1).tanh(), gate_mlp.unsqueeze(1).tanh()
        attn_out = self.attention(mindiesd.ext.norm_scale_shift(self.attention_norm1, x, scale_msa[:, None, :]))
        x, normed = mindiesd.ext.residual_norm(
            self.ffn_norm1,
            x,
            attn_out,
            gate_msa,
            scale_mlp[:, None],
            branch_norm=self.attention_norm2,
        )
        x = mindiesd.ext.residual(x, self.feed_forward(normed), gate_mlp, branch_norm=self.ffn_norm2)
        return x


class LTXLike(nn.Module):
    """Norms without weights; the modulation stands in a statement of its own, or beside the norm."""

    def __init__(self, width):
        super().__init__()
        self.norm1 = mindiesd.ext.TypedRMSNorm(
            width,
            eps=1e-6,
            elementwise_affine=False,
            result_type="weight",
        )
        self.attn1 = FeedForward(width)
        self.attn2 = FeedForward(width)
        self.norm2 = mindiesd.ext.TypedRMSNorm(
            width,
            eps=1e-6,
            elementwise_affine=False,
            result_type="weight",
        )
        self.ff = FeedForward(width)

    def forward(self, hidden_states, scale_msa, gate_msa, scale_mlp, gate_mlp):
        norm_hidden_states = mindiesd.ext.norm_scale_shift(
            self.norm1,
            hidden_states,
            scale_msa[:, None],
            gate_mlp[:, None],
            rms_type="weight",
            strides="x",
        )
        hidden_states = mindiesd.ext.residual(
            hidden_states,
            self.attn1(norm_hidden_states),
            gate_msa[:, None],
        )
        attn_hidden_states = self.attn2(hidden_states)
        hidden_states, norm_hidden_states = mindiesd.ext.residual_norm(
            self.norm2,
            hidden_states,
            attn_hidden_states,
            scale=scale_mlp[:, None],
            shift=gate_msa[:, None],
            rms_type="weight",
            strides="x",
        )
        return hidden_states + self.ff(norm_hidden_states)


class Columns(nn.Module):
    """The columns of what is normalised lie apart, and a reader out of sight may see how the result lies."""

    def __init__(self, width):
        super().__init__()
        self.norm = mindiesd.ext.TypedRMSNorm(width, eps=1e-5, result_type="weight")

    def forward(self, x, scale):
        return mindiesd.ext.norm_scale_shift(
            self.norm,
            x.transpose(1, 2),
            scale[:, None],
            rms_type="weight",
            strides="x",
        )


class Twice(nn.Module):
    """The normalised branch is read again."""

    def __init__(self, width):
        super().__init__()
        self.attn = FeedForward(width)
        self.norm = mindiesd.ext.TypedRMSNorm(width, eps=1e-5, result_type="weight")

    def forward(self, x, gate):
        y = self.norm(self.attn(x))
        x = mindiesd.ext.residual(x, y, gate[:, None])
        return x + y


class Replaced(nn.Module):
    """Another function stores another norm."""

    def __init__(self, width):
        super().__init__()
        self.exchanged = mindiesd.ext.TypedRMSNorm(width, eps=1e-5, result_type="weight")
        self.ff = FeedForward(width)

    def forward(self, x, scale):
        return self.ff(self.exchanged(x) * (1 + scale[:, None]))


def without_norm(block):
    block.exchanged = nn.Identity()
    return block
