import torch
from attention import CrossAttention


def outputs():
    model = CrossAttention(48, 20, 3).eval()
    x, text, cache = torch.randn(2, 7, 48), torch.randn(2, 4, 20), {}
    return [model(x, text, cache), model(x * 2, text, cache), model.encode(x, text), model.encode(x, None)]
