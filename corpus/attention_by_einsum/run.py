import attention
import torch


def outputs():
    q, k, v = torch.randn(2, 3, 5, 8), torch.randn(2, 3, 6, 8), torch.randn(2, 3, 6, 4)
    keep = torch.rand(2, 1, 5, 6) < 0.7
    keep[..., 0] = True
    return [
        attention.CrossAttention(24, 3).eval()(torch.randn(2, 5, 24), torch.randn(2, 7, 24)),
        attention.heads(q, k, v),
        attention.hidden(q, k, v, keep.int()),
        attention.hidden_by_infinity(q, k, v, ~keep),
        attention.bias_first(q, k, v, torch.randn(5, 6)),
        attention.sequence_first(torch.randn(2, 5, 3, 8), torch.randn(2, 6, 3, 8), torch.randn(2, 6, 3, 4)),
        attention.other_axes(torch.randn(2, 5, 8), torch.randn(2, 6, 8), torch.randn(2, 5, 4)),
    ]
