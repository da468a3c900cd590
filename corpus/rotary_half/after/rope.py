import mindiesd.ext
import torch


def rotate_half(x):
    first, second = x.chunk(2, dim=-1)
    return torch.cat((-second, first), dim=-1)


def apply_in_float32(x, cos, sin):
    cos, sin = cos[None, :, None, :], sin[None, :, None, :]
    return mindiesd.ext.rotary_position_embedding(x, cos, sin, rotated_mode="rotated_chunks")


def apply_rotary_pos_emb(q, k, cos, sin, unsqueeze_dim=1):
    """As language models write it: in the type of the tensors, for queries and keys at once."""
    cos = cos.unsqueeze(unsqueeze_dim)
    sin = sin.unsqueeze(unsqueeze_dim)
    q_embed = mindiesd.ext.rotary_position_embedding(
        q,
        cos,
        sin,
        rotated_mode="rotated_chunks",
        result_type="promoted",
    )
    k_embed = mindiesd.ext.rotary_position_embedding(
        k,
        cos,
        sin,
        rotated_mode="rotated_chunks",
        result_type="promoted",
    )
    return q_embed, k_embed
