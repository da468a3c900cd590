import mindiesd.ext


def rotate(x, cos, sin):
    return mindiesd.ext.rotary_position_embedding(
        x,
        cos,
        sin,
        rotated_mode="rotated_interleaved",
        strides="dense",
    )
