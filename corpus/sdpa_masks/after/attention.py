import mindiesd.ext
import torch


def keyword(q, k, v, mask):
    q, k, v = q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)
    b, h, n, d = q.shape
    out = mindiesd.ext.attention_forward(q, k, v, attn_mask=mask, head_first=True)
    return out


def boolean_positional(q, k, v, lengths):
    """The keys behind a sample's length are padding."""
    b, n, h, d = q.shape
    keep = torch.arange(k.shape[1])[None, :] < lengths[:, None]
    q = q.view(b, n, h, d)
    k = k.view(b, -1, h, d)
    v = v.view(b, -1, h, d)
    out = mindiesd.attention_forward(q, k, v, attn_mask=keep[:, None, None, :])
    return out.flatten(2)


def additive(q, k, v, bias):
    b, n, h, d = q.shape
    q = q.view(b, n, h, d)
    k = k.view(b, n, h, d)
    v = v.view(b, n, h, d)
    bias = bias.masked_fill(bias > 2, float("-inf"))
    out = mindiesd.attention_forward(q, k, v, attn_mask=bias)
    return out.flatten(2)


def maybe(q, k, v, mask=None):
    b, n, h, d = q.shape
    q = q.view(b, n, h, d)
    k = k.view(b, n, h, d)
    v = v.view(b, n, h, d)
    if mask is not None:
        mask = mask.unsqueeze(1)
    out = mindiesd.attention_forward(q, k, v, attn_mask=mask)
    return out.flatten(2)
