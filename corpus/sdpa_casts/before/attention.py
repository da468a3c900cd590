import torch
import torch.nn.functional as F


def attend(x, query, key, value, heads):
    batch = x.shape[0]
    query = query.view(batch, -1, heads, 16).transpose(1, 2)
    key = key.view(batch, -1, heads, 16).transpose(1, 2)
    value = value.view(batch, -1, heads, 16).transpose(1, 2)
    query = query.to(value.dtype)
    key = key.to(dtype=value.dtype)

    hidden = F.scaled_dot_product_attention(query, key, value)
    hidden = hidden.to(x.dtype)
    hidden = hidden.transpose(1, 2).reshape(batch, -1, heads * 16)
    return hidden


def attend_float(query, key, value):
    query, key, value = query.transpose(1, 2), key.transpose(1, 2), value.transpose(1, 2)
    batch, heads, length, head_dim = query.shape
    out = F.scaled_dot_product_attention(query.float(), key.float(), value.float())
    return out.transpose(1, 2).reshape(batch, length, heads * head_dim).to(torch.float32)
