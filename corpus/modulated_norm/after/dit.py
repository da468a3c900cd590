import mindiesd.ext
import torch
import torch.nn as nn


def modulate(x, shift, scale):
    return x * (1 + scale.unsqueeze(1)) + shift.unsqueeze(1)


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm1 = nn.LayerNorm(width, elementwise_affine=False, eps=1e-6)
        self.attn = nn.Linear(width, width)
        self.norm2 = nn.LayerNorm(width, elementwise_affine=False, eps=1e-6)
        self.mlp = nn.Linear(width, width)
        self.adaLN_modulation = nn.Sequential(nn.SiLU(), nn.Linear(width, 6 * width))

    def forward(self, x, c):
        shift_msa, scale_msa, gate_msa, shift_mlp, scale_mlp, gate_mlp = self.adaLN_modulation(c).chunk(6, dim=1)
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


class FinalLayer(nn.Module):
    def __init__(self, width, out):
        super().__init__()
        self.norm_final = nn.LayerNorm(width)
        self.linear = nn.Linear(width, out)
        self.table = nn.Parameter(torch.randn(2, width))

    def forward(self, x, t):
        shift, scale = (self.table[None] + t[:, None]).chunk(2, dim=1)
        # shift and scale
        x = mindiesd.ext.layernorm_scale_shift(self.norm_final, x, scale, shift)
        return self.linear(x)


class Continuous(nn.Module):
    """As diffusers' blocks do: one statement, indices for the new axis, the norm by its name."""

    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width, 1e-6)

    def forward(self, x, emb):
        scale, shift = torch.chunk(emb, 2, dim=1)
        return mindiesd.ext.layernorm_scale_shift(self.norm, x, scale[:, None, :], shift[:, None, :])


class Scaled(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)

    def forward(self, x, scale):
        return mindiesd.ext.layernorm_scale_shift(self.norm, x, scale[:, None])
