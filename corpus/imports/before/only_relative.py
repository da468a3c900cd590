"""Only relative imports."""

from . import layers
from .kept import scaled_dot_product_attention


def attend(q, k, v):
    return layers.Layer(), scaled_dot_product_attention(q, k, v)
