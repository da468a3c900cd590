import rope


def attend(q, k, cos, sin):
    q = rope.apply_rotary_backwards(q, cos, sin)
    k = rope.apply_rotary_swapped(k, cos, sin)
    return rope.rotate_strided_wrong(q, cos, sin), k


def attend_complex(q, freqs):
    return rope.apply_rotary_renamed(q, freqs)
