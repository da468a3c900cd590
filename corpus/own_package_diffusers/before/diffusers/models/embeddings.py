import torch


def apply_rotary_emb(x, freqs_cis, use_real=True, use_real_unbind_dim=-1, sequence_dim=2):
    """A fork's own version, which is no rotation any more."""
    cos, sin = freqs_cis
    return x * cos + x.flip(sequence_dim) * sin
