from torch.nn.functional import scaled_dot_product_attention


def local_function(q, k, v):
    def scaled_dot_product_attention(q, k, v):
        return q * k * v

    return scaled_dot_product_attention(q, k, v)


def local_variable(q, k, v, table):
    scaled_dot_product_attention = table["attention"]
    return scaled_dot_product_attention(q, k, v)


def in_comprehension(q, k, v, functions):
    return [scaled_dot_product_attention(q, k, v) for scaled_dot_product_attention in functions]


def in_lambda(q, k, v):
    return lambda scaled_dot_product_attention: scaled_dot_product_attention(q, k, v)
