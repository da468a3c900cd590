import mindiesd.ext
import torch


def attend(x, query, key, value, heads):
    batch = x.shape[0]
    query = query.view(batch, -1, heads, 16)
    key = key.view(batch, -1, heads, 16)
    value = value.view(batch, -1, heads, 16)
    query = query.to(value.dtype)
    key = key.to(dtype=value.dtype)

    hidden = mindiesd.attention_forward(query, key, value)
    hidden = hidden.to(x.dtype)
    hidden = hidden.reshape(batch, -1, heads * 16)
    return hidden


def attend_float(query, key, value):
    query, key, value = query.transpose(1, 2), key.transpose(1, 2), value.transpose(1, 2)
    batch, heads, length, head_dim = query.shape
    out = mindiesd.ext.attention_forward(
        query.float(),
        key.float(),
        value.float(),
        head_first=True,
    )
    return out.transpose(1, 2).reshape(batch, length, heads * head_dim).to(torch.float32)
