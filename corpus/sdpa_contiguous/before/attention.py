import torch.nn.functional as F


def attend(q, k, v, heads):
    batch, length, width = q.shape
    q = q.view(batch, length, heads, width // heads).transpose(1, 2).contiguous()
    k = k.view(batch, length, heads, width // heads).transpose(1, 2).contiguous()
    v = v.view(batch, length, heads, width // heads).transpose(1, 2).contiguous()
    out = F.scaled_dot_product_attention(q, k, v)
    return out.transpose(1, 2).contiguous().view(batch, length, width)


def attend_in_place(q, k, v):
    batch, length, heads, _ = q.shape
    q = q.transpose(1, 2).contiguous()
    q.mul_(0.5)
    out = F.scaled_dot_product_attention(q, k.transpose(1, 2), v.transpose(1, 2))
    return out.transpose(1, 2)
