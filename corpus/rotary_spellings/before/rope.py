"""One rotation in the spellings that model code has for it."""
import torch
from einops import rearrange


def rotate_half(x):
    x = rearrange(x, "... (j d) -> ... j d", j=2)
    x1, x2 = x.unbind(dim=-2)
    return torch.cat((-x2, x1), dim=-1)


def halves_by_pattern(t, freqs):
    return t * freqs.cos() + rotate_half(t) * freqs.sin()


def rotate_every_two(x):
    x = rearrange(x, "... (d r) -> ... d r", r=2)
    x1, x2 = x.unbind(dim=-1)
    x = torch.stack((-x2, x1), dim=-1)
    return rearrange(x, "... d r -> ... (d r)")


def pairs_by_pattern(t, freqs):
    return t * freqs.cos() + rotate_every_two(t) * freqs.sin()


def pairs_in_their_shape(x, sin, cos):
    turned = torch.stack((-x[..., 1::2], x[..., ::2]), dim=-1).reshape(x.shape)
    return sin * turned + cos * x


def turned_back(x):
    x1, x2 = x.chunk(2, dim=-1)
    return torch.cat((x2, -x1), dim=-1)


def by_the_opposite_angle(x, cos, sin):
    return x * cos + turned_back(x) * sin


def by_the_angle_again(x, cos, sin):
    return x * cos - turned_back(x) * sin


def halves_by_the_opposite_angle(x, cos, sin):
    assert x.ndim == 4
    d = x.shape[3] // 2
    x1, x2 = x[..., :d], x[..., d:]  # split up last dim into two halves
    y1 = x1 * cos + x2 * sin  # rotate pairs of dims
    y2 = x1 * (-sin) + x2 * cos
    return torch.cat([y1, y2], 3)


def accumulated(x, cos, sin):
    x1 = x[..., : x.size(-1) // 2]
    x2 = x[..., x.size(-1) // 2 :]
    return torch.addcmul(x * cos, torch.cat((-x2, x1), dim=-1), sin)


def neighbours(x, cos, sin):
    x1, x2 = x.float().unflatten(-1, (-1, 2)).unbind(-1)
    return torch.stack((x1 * cos - x2 * sin, x2 * cos + x1 * sin), dim=-1).flatten(-2).to(x.dtype)


def neighbours_by_index(x, rope):
    pairs = x.float().reshape(*x.shape[:-1], -1, 2)
    rope = rope.view(-1, pairs.size(1), 1, pairs.size(3), 2)
    out = torch.stack(
        [
            pairs[..., 0] * rope[..., 0] - pairs[..., 1] * rope[..., 1],
            pairs[..., 1] * rope[..., 0] + pairs[..., 0] * rope[..., 1],
        ],
        -1,
    )
    out = out.flatten(3)
    return out.type_as(x)


def stored(x, cos, sin):
    out = torch.empty_like(x)
    # pairs are neighbours
    out[..., ::2] = x[..., ::2] * cos - x[..., 1::2] * sin
    out[..., 1::2] = x[..., ::2] * sin + x[..., 1::2] * cos
    return out


def stored_in_halves(x, cos, sin):
    half = x.shape[-1] // 2
    out = torch.empty_like(x)
    out[..., :half] = x[..., :half] * cos - x[..., half:] * sin
    out[..., half:] = x[..., :half] * sin + x[..., half:] * cos
    return out


def kept(self, x, cos, sin):
    """Somebody else sees the tensor before it is filled."""
    out = torch.empty_like(x)
    self.buffer = out
    out[..., ::2] = x[..., ::2] * cos - x[..., 1::2] * sin
    out[..., 1::2] = x[..., ::2] * sin + x[..., 1::2] * cos
    return out


def complex_pairs(x, freqs):
    z = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2).contiguous())
    return torch.view_as_real(z * freqs.unsqueeze(1)).flatten(-2).to(x.dtype)


def complex_in_its_shape(x, freqs):
    z = torch.view_as_complex(x.float().view(*x.shape[:-1], -1, 2))
    return torch.view_as_real(freqs * z).reshape(x.shape).to(x.dtype)


def complex_in_double(x, freqs):
    z = torch.view_as_complex(x.to(torch.float64).reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(z * freqs).flatten(-2).to(x.dtype)


def complex_uncast(x, freqs):
    z = torch.view_as_complex(x.float().unflatten(-1, (-1, 2)))
    return torch.view_as_real(z * freqs).flatten(-2, -1)
