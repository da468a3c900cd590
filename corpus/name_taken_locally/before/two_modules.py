import torch.nn.functional as F

mindiesd = 1.0


def attend(q, k, v):
    b, s, n, d = q.shape
    q, k, v = (t.transpose(1, 2) for t in (q, k, v))
    return F.scaled_dot_product_attention(q, k, v).transpose(1, 2) * mindiesd


def weights(scores):
    scores = scores - scores.amax(dim=-1, keepdim=True)
    return F.gelu(F.softmax(scores, dim=-1))
