import mindiesd.ext
import torch


def rotate_pairs(x):
    even = x[..., ::2]
    odd = x[..., 1::2]
    return torch.stack([-odd, even], dim=-1).flatten(-2)


def rotate_every_two(x):
    x1 = x[:, :, :, ::2]
    x2 = x[:, :, :, 1::2]
    x = torch.stack((-x2, x1), dim=-1)
    return x.flatten(-2)


def in_float32(q, k, cos, sin, unsqueeze_dim=1):
    dtype = q.dtype
    k = k.float()
    cos = cos.unsqueeze(unsqueeze_dim)
    sin = sin.unsqueeze(unsqueeze_dim)
    k_embed = mindiesd.ext.rotary_position_embedding(
        k,
        cos,
        sin,
        rotated_mode="rotated_interleaved",
        result_type="promoted",
    )
    return mindiesd.ext.rotary_position_embedding(
        q,
        cos,
        sin,
        rotated_mode="rotated_interleaved",
    ), k_embed.to(dtype=dtype)


def first_part(q, k, cos, sin):
    cos = cos[..., : cos.shape[-1] // 2].repeat_interleave(2, dim=-1)
    sin = sin[..., : sin.shape[-1] // 2].repeat_interleave(2, dim=-1)
    width = cos.shape[-1]
    q_rot, q_pass = q[..., :width], q[..., width:]
    k_rot, k_pass = k[..., :width], k[..., width:]
    q_embed = mindiesd.ext.rotary_position_embedding(
        q_rot,
        cos,
        sin,
        rotated_mode="rotated_interleaved",
        result_type="promoted",
    )
    k_embed = mindiesd.ext.rotary_position_embedding(
        k_rot,
        cos,
        sin,
        rotated_mode="rotated_interleaved",
        result_type="promoted",
    )
    return torch.cat([q_embed, q_pass], dim=-1), torch.cat([k_embed, k_pass], dim=-1)


def repeated(tensor, sin, cos):
    sin = torch.repeat_interleave(sin[:, :, None, :], 2, 3)
    cos = torch.repeat_interleave(cos[:, :, None, :], 2, 3)
    return mindiesd.ext.rotary_position_embedding(
        tensor,
        cos,
        sin,
        rotated_mode="rotated_interleaved",
        result_type="promoted",
    )


def last_part(x, cos, sin):
    cos = cos.repeat_interleave(2, dim=-1).unsqueeze(1)
    sin = sin.repeat_interleave(2, dim=-1).unsqueeze(1)
    width = cos.shape[-1]
    kept, rope = x[..., :-width], x[..., -width:]
    rotated = mindiesd.ext.rotary_position_embedding(
        rope.float(),
        cos,
        sin,
        rotated_mode="rotated_interleaved",
        result_type="promoted",
    ).to(x.dtype)
    return torch.cat([kept, rotated], dim=-1)


def halves(x, cos, sin):
    return mindiesd.ext.rotary_position_embedding(
        x,
        cos,
        sin,
        rotated_mode="rotated_half",
        result_type="promoted",
        strides="dense",
    )


def pairs_to_halves(q, cos, sin):
    cos = cos[..., : cos.shape[-1] // 2]
    sin = sin[..., : sin.shape[-1] // 2]
    q1, q2 = q[..., 0::2], q[..., 1::2]
    return torch.cat([q1 * cos - q2 * sin, q2 * cos + q1 * sin], dim=-1)


def the_other_way(x, cos, sin):
    even, odd = x[..., ::2], x[..., 1::2]
    return x * cos + torch.stack([odd, -even], dim=-1).flatten(-2) * sin
