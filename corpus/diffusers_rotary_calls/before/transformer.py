from typing import Optional, Tuple

import torch
from diffusers.models.embeddings import apply_rotary_emb, get_1d_rotary_pos_embed
from torch import nn


class Rotation(nn.Module):
    """Every rotation that diffusers' function knows, as its callers write them."""

    def default(self, query, image_rotary_emb):
        return apply_rotary_emb(query, image_rotary_emb)

    def sequence_first(self, query, key, rotary: Optional[Tuple]):
        if rotary is not None:
            query = apply_rotary_emb(query, rotary, sequence_dim=1)
            key = apply_rotary_emb(key, rotary, sequence_dim=1)
        return query, key

    def halves(self, query, image_rotary_emb):
        return apply_rotary_emb(query, image_rotary_emb, use_real_unbind_dim=-2)

    def halves_sequence_first(self, query, rotary):
        return apply_rotary_emb(query, rotary, True, -2, 1)

    def complex_table(self, query, freqs):
        return apply_rotary_emb(query, freqs, use_real=False)


def table(length, width):
    return get_1d_rotary_pos_embed(width, length, use_real=True)
