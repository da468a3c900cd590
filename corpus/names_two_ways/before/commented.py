import torch.nn.functional as F

# setattr(F, "scaled_dot_product_attention", other)
# globals()["F"] = other

def attention(query, key, value):
    return F.scaled_dot_product_attention(query, key, value)
