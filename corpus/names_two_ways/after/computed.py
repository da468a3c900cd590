import mindiesd.ext
import torch.nn.functional as F


def attention(query, key, value):
    return mindiesd.ext.attention_forward(query, key, value, head_first=True)
