from torch.nn.functional import scaled_dot_product_attention


def use_another(function):
    global scaled_dot_product_attention
    scaled_dot_product_attention = function


def attend(q, k, v):
    return scaled_dot_product_attention(q, k, v)
