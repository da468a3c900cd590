from torch.nn.functional import (
    relu,
    scaled_dot_product_attention as sdpa,
)


def attend(q, k, v):
    return relu(sdpa(q, k, v))
