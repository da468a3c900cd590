import torch
from diffusers.models.transformer import rotate
from diffusers.models.embeddings import apply_rotary_emb


def outputs():
    q, k = torch.randn(2, 3, 5, 8), torch.randn(2, 3, 5, 8)
    angles = torch.randn(5, 8)
    tables = angles.cos(), angles.sin()
    freqs = torch.polar(torch.ones(1, 3, 4), torch.randn(1, 3, 4))
    return [
        *rotate(q, k, tables, True),
        *rotate(q, k, freqs, False),
        apply_rotary_emb(q, tables, use_real_unbind_dim=-2),
        apply_rotary_emb(q.transpose(1, 2), tables, sequence_dim=1),
    ]
