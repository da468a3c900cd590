from rope import apply_rotary_emb, rotate


def attend(q, k, freqs):
    return apply_rotary_emb(q, freqs), rotate(k, freqs.unsqueeze(2))
