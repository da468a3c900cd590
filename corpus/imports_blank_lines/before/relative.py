from .nothing import attend
from . import ops


def pool(q, k, v):
    return ops.scaled_dot_product_attention(q, k, v), attend
