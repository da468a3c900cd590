import mindiesd
from diffusers.models.embeddings import apply_rotary_emb


def rotate(query, rotary):
    return mindiesd.rotary_position_embedding(
        query,
        rotary[0].to(query.device).float(),
        rotary[1].to(query.device).float(),
        rotated_mode="rotated_interleaved",
    )


def rotate_complex(query, freqs):
    return apply_rotary_emb(query, freqs, use_real=False)
