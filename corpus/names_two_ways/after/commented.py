import mindiesd.ext

# setattr(F, "scaled_dot_product_attention", other)
# globals()["F"] = other

def attention(query, key, value):
    return mindiesd.ext.attention_forward(query, key, value, head_first=True)
