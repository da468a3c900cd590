import torch
import torch.nn.functional as F


def keyword(q, k, v, mask):
    q, k, v = q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)
    b, h, n, d = q.shape
    out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=0.0)
    return out


def boolean_positional(q, k, v, lengths):
    """The keys behind a sample's length are padding."""
    b, n, h, d = q.shape
    keep = torch.arange(k.shape[1])[None, :] < lengths[:, None]
    q = q.view(b, n, h, d).transpose(1, 2)
    k = k.view(b, -1, h, d).transpose(1, 2)
    v = v.view(b, -1, h, d).transpose(1, 2)
    out = F.scaled_dot_product_attention(q, k, v, keep[:, None, None, :], 0.0, False)
    return out.transpose(1, 2).flatten(2)


def additive(q, k, v, bias):
    b, n, h, d = q.shape
    q = q.view(b, n, h, d).transpose(1, 2)
    k = k.view(b, n, h, d).transpose(1, 2)
    v = v.view(b, n, h, d).transpose(1, 2)
    bias = bias.masked_fill(bias > 2, float("-inf"))
    out = F.scaled_dot_product_attention(q, k, v, attn_mask=bias)
    return out.transpose(1, 2).flatten(2)


def maybe(q, k, v, mask=None):
    b, n, h, d = q.shape
    q = q.view(b, n, h, d).transpose(1, 2)
    k = k.view(b, n, h, d).transpose(1, 2)
    v = v.view(b, n, h, d).transpose(1, 2)
    if mask is not None:
        mask = mask.unsqueeze(1)
    out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    return out.transpose(1, 2).flatten(2)
