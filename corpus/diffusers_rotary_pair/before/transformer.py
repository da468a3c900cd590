from diffusers.models.embeddings import apply_rotary_emb


def rotate(query, cos, sin):
    return apply_rotary_emb(query, (cos, sin), use_real=True)
