import blocks
import torch


def outputs():
    x = torch.randn(2, 8, 3, 4)
    q, k, v = torch.randn(2, 5, 8), torch.randn(2, 8, 6), torch.randn(2, 4, 6)
    return [
        blocks.Block(8).eval()(x),
        blocks.Spatial(8).eval()(x),
        blocks.Heads(2)(torch.randn(2, 24, 7)),
        blocks.viewed(q, k, v).view(2, 20),
        blocks.viewed_equation(q, k, v).view(2, 20),
        blocks.over_the_queries(q, k, v),
        blocks.four_axes(q, k, v),
        *blocks.probabilities(q, k, v),
        blocks.biased(torch.randn(2, 3, 8, 5), torch.randn(2, 3, 8, 6), v.unsqueeze(1), torch.randn(3, 5, 6)),
        blocks.learnt(q, k, v, torch.tensor(0.5)),
    ]
