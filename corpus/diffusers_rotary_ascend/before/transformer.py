from diffusers.models.embeddings import apply_rotary_emb


def rotate(query, rotary):
    return apply_rotary_emb(query, rotary, sequence_dim=1)


def rotate_complex(query, freqs):
    return apply_rotary_emb(query, freqs, use_real=False)
