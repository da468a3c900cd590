from torch.nn.functional import scaled_dot_product_attention as sdpa


def attend(q, k, v):
    return sdpa(q, k, v)
