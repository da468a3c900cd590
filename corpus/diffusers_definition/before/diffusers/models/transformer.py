from .embeddings import apply_rotary_emb


def rotate(query, key, rotary, real):
    query = apply_rotary_emb(query, rotary, use_real=real)
    return query, apply_rotary_emb(key, rotary, use_real=real)
