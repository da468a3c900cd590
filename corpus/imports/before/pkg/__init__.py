from torch.nn.functional import scaled_dot_product_attention


def attend(q, k, v):
    return scaled_dot_product_attention(q, k, v)
