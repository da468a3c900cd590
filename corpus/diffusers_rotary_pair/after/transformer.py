import mindiesd


def rotate(query, cos, sin):
    return mindiesd.rotary_position_embedding(
        query,
        cos,
        sin,
        rotated_mode="rotated_interleaved",
        head_first=True,
    )
