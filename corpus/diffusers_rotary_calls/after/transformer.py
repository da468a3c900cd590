from typing import Optional, Tuple

import mindiesd.ext
import torch
from diffusers.models.embeddings import get_1d_rotary_pos_embed
from torch import nn


class Rotation(nn.Module):
    """Every rotation that diffusers' function knows, as its callers write them."""

    def default(self, query, image_rotary_emb):
        return mindiesd.rotary_position_embedding(
            query,
            image_rotary_emb[0],
            image_rotary_emb[1],
            rotated_mode="rotated_interleaved",
            head_first=True,
        )

    def sequence_first(self, query, key, rotary: Optional[Tuple]):
        if rotary is not None:
            query = mindiesd.rotary_position_embedding(
                query,
                rotary[0],
                rotary[1],
                rotated_mode="rotated_interleaved",
            )
            key = mindiesd.rotary_position_embedding(
                key,
                rotary[0],
                rotary[1],
                rotated_mode="rotated_interleaved",
            )
        return query, key

    def halves(self, query, image_rotary_emb):
        return mindiesd.rotary_position_embedding(
            query,
            image_rotary_emb[0],
            image_rotary_emb[1],
            rotated_mode="rotated_half",
            head_first=True,
        )

    def halves_sequence_first(self, query, rotary):
        return mindiesd.rotary_position_embedding(
            query,
            rotary[0],
            rotary[1],
            rotated_mode="rotated_half",
        )

    def complex_table(self, query, freqs):
        return mindiesd.ext.rotary_complex(query, freqs.unsqueeze(2))


def table(length, width):
    return get_1d_rotary_pos_embed(width, length, use_real=True)
