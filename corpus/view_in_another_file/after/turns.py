"""What another file reads by `.view` has the strides that it had before."""

import mindiesd.ext
import torch


def even_odd(x, cos, sin):
    return mindiesd.ext.rotary_position_embedding(
        x,
        cos,
        sin,
        rotated_mode="rotated_interleaved",
        result_type="promoted",
        strides="dense",
    )


def halves(x, cos, sin):
    return mindiesd.ext.rotary_position_embedding(
        x,
        cos,
        sin,
        rotated_mode="rotated_half",
        result_type="promoted",
        strides="dense",
    )


def complex_pairs(x, freqs):
    return mindiesd.ext.rotary_complex(x, freqs)


def by_tables(x, cos, sin):
    return mindiesd.ext.rotary_position_embedding(
        x,
        cos,
        sin,
        rotated_mode="rotated_chunks",
        result_type="promoted",
    )


def tables_first(x, cos, sin):
    return mindiesd.ext.rotary_position_embedding(
        x,
        cos,
        sin,
        rotated_mode="rotated_chunks",
        result_type="promoted",
        strides="cos",
    )


def attend(q, k, v):
    return mindiesd.ext.attention_forward(
        q,
        k,
        v,
        scale=q.shape[-1] ** -0.5,
        head_first=True,
        strides="BNSD",
    )


def attend_by_equation(q, k, v):
    return mindiesd.ext.attention_forward(q, k, v, scale=1.0, strides="BNSD")


def normed(x):
    return mindiesd.ext.rms_norm(x, eps=1e-6, result_type="input")


def root_first(x):
    return mindiesd.ext.rms_norm(x, eps=1e-6, result_type="input", strides="root")


class Modulated(torch.nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = torch.nn.LayerNorm(dim, elementwise_affine=False)

    def forward(self, x, scale, shift):
        return mindiesd.ext.layernorm_scale_shift(
            self.norm,
            x,
            scale,
            shift,
            strides="shift_scale",
        )
