import torch
from attention import Attention


def outputs():
    model = Attention(16)
    q, k = torch.randn(2, 3, 5, 16), torch.randn(2, 3, 5, 16)
    freqs = model.rope(torch.arange(5))
    return [*model(q, k, freqs), model.behind_a_prefix(q, freqs, 4)]
