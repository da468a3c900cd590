import torch.nn.functional as F


def attend(q, k, v):
    return F.scaled_dot_product_attention(q, k, v)


def weights(scores):
    return F.softmax(scores - scores.amax(dim=-1, keepdim=True), dim=-1)
