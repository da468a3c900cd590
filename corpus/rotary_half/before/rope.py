import torch


def rotate_half(x):
    first, second = x.chunk(2, dim=-1)
    return torch.cat((-second, first), dim=-1)


def apply_in_float32(x, cos, sin):
    cos, sin = cos[None, :, None, :], sin[None, :, None, :]
    return (x.float() * cos + rotate_half(x).float() * sin).to(x.dtype)


def apply_rotary_pos_emb(q, k, cos, sin, unsqueeze_dim=1):
    """As language models write it: in the type of the tensors, for queries and keys at once."""
    cos = cos.unsqueeze(unsqueeze_dim)
    sin = sin.unsqueeze(unsqueeze_dim)
    q_embed = (q * cos) + (rotate_half(q) * sin)
    k_embed = (k * cos) + (rotate_half(k) * sin)
    return q_embed, k_embed
