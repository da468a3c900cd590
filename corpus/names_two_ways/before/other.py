"""A module whose function has the name of one of torch."""


def scaled_dot_product_attention(query, key, value):
    return query
