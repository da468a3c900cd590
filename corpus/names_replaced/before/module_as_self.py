import torch.nn.functional as self


def attend(q, k, v):
    return self.scaled_dot_product_attention(q, k, v)
