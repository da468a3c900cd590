from torch.nn import functional


def attend(q, k, v):
    return functional.scaled_dot_product_attention(q, k, v)
