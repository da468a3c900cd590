import rope


def attend(q, k, cos, sin):
    q, k = rope.apply_rotary_pos_emb(q, k, cos, sin)
    return rope.apply_in_float32(q.transpose(1, 2), cos[0], sin[0]), k
