from .embeddings import apply_rotary_emb


def rotate(query, rotary):
    return apply_rotary_emb(query, rotary)
