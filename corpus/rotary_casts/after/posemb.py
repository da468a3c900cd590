import mindiesd.ext
import torch


def rotate_half(x):
    x_real, x_imag = x.float().reshape(*x.shape[:-1], -1, 2).unbind(-1)  # [B, S, H, D//2]
    return torch.stack([-x_imag, x_real], dim=-1).flatten(3)


def rotate_halves(x):
    a, b = x.chunk(2, dim=-1)
    return torch.cat([-b, a], dim=-1)


def apply_rotary_emb(xq, xk, cos, sin):
    """Rotated in float32 and given back in the type of the operand: the casts belong to the rotation."""
    xq_out = mindiesd.ext.rotary_position_embedding(xq, cos, sin, rotated_mode="rotated_interleaved")
    xk_out = mindiesd.ext.rotary_position_embedding(xk, cos, sin, rotated_mode="rotated_interleaved")
    return xq_out, xk_out


def apply_halves(x, cos, sin):
    return mindiesd.ext.rotary_position_embedding(x, cos, sin, rotated_mode="rotated_chunks")
