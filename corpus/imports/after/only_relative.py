"""Only relative imports."""

import mindiesd.ext

from . import layers


def attend(q, k, v):
    return layers.Layer(), mindiesd.ext.attention_forward(q, k, v, head_first=True)
