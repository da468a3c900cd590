"""One rotation in the spellings that model code has for it."""
import mindiesd.ext
import torch
from einops import rearrange


def rotate_half(x):
    x = rearrange(x, "... (j d) -> ... j d", j=2)
    x1, x2 = x.unbind(dim=-2)
    return torch.cat((-x2, x1), dim=-1)


def halves_by_pattern(t, freqs):
    return mindiesd.ext.rotary_position_embedding(
        t,
        freqs.cos(),
        freqs.sin(),
        result_type="promoted",
    )


def rotate_every_two(x):
    x = rearrange(x, "... (d r) -> ... d r", r=2)
    x1, x2 = x.unbind(dim=-1)
    x = torch.stack((-x2, x1), dim=-1)
    return rearrange(x, "... d r -> ... (d r)")


def pairs_by_pattern(t, freqs):
    return mindiesd.ext.rotary_position_embedding(
        t,
        freqs.cos(),
        freqs.sin(),
        rotated_mode="rotated_interleaved",
        result_type="promoted",
    )


def pairs_in_their_shape(x, sin, cos):
    return mindiesd.ext.rotary_position_embedding(
        x,
        cos,
        sin,
        rotated_mode="rotated_interleaved",
        result_type="promoted",
        strides="sin",
    )


def turned_back(x):
    x1, x2 = x.chunk(2, dim=-1)
    return torch.cat((x2, -x1), dim=-1)


def by_the_opposite_angle(x, cos, sin):
    return mindiesd.ext.rotary_position_embedding(
        x,
        cos,
        -sin,
        rotated_mode="rotated_chunks",
        result_type="promoted",
    )


def by_the_angle_again(x, cos, sin):
    return mindiesd.ext.rotary_position_embedding(
        x,
        cos,
        sin,
        rotated_mode="rotated_chunks",
        result_type="promoted",
    )


def halves_by_the_opposite_angle(x, cos, sin):
    assert x.ndim == 4
    # split up last dim into two halves
    # rotate pairs of dims
    return mindiesd.ext.rotary_position_embedding(
        x,
        cos,
        -sin,
        rotated_mode="rotated_half",
        result_type="promoted",
        strides="dense",
    )


def accumulated(x, cos, sin):
    return mindiesd.ext.rotary_position_embedding(x, cos, sin, result_type="promoted")


def neighbours(x, cos, sin):
    return mindiesd.ext.rotary_position_embedding(
        x,
        cos,
        sin,
        rotated_mode="rotated_interleaved",
        strides="dense",
    )


def neighbours_by_index(x, rope):
    pairs = x.float().reshape(*x.shape[:-1], -1, 2)
    rope = rope.view(-1, pairs.size(1), 1, pairs.size(3), 2)
    return mindiesd.ext.rotary_position_embedding(
        x,
        rope[..., 0],
        rope[..., 1],
        rotated_mode="rotated_interleaved",
        strides="dense",
    )


def stored(x, cos, sin):
    # pairs are neighbours
    out = mindiesd.ext.rotary_position_embedding(x, cos, sin, rotated_mode="rotated_interleaved")
    return out


def stored_in_halves(x, cos, sin):
    out = mindiesd.ext.rotary_position_embedding(x, cos, sin)
    return out


def kept(self, x, cos, sin):
    """Somebody else sees the tensor before it is filled."""
    out = torch.empty_like(x)
    self.buffer = out
    out[..., ::2] = x[..., ::2] * cos - x[..., 1::2] * sin
    out[..., 1::2] = x[..., ::2] * sin + x[..., 1::2] * cos
    return out


def complex_pairs(x, freqs):
    return mindiesd.ext.rotary_complex(x, freqs.unsqueeze(1))


def complex_in_its_shape(x, freqs):
    return mindiesd.ext.rotary_complex(x, freqs, keep_shape=True, strides="freqs_cis")


def complex_in_double(x, freqs):
    return mindiesd.ext.rotary_complex(x, freqs)


def complex_uncast(x, freqs):
    return mindiesd.ext.rotary_complex(x, freqs, result_type="float32")
