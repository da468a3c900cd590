import dit
import torch


def outputs():
    x, c = torch.randn(3, 5, 16), torch.randn(3, 16)
    return [
        dit.Block(16).eval()(x, c),
        dit.FinalLayer(16, 4).eval()(x, c),
        dit.Continuous(16).eval()(x, torch.randn(3, 32)),
        dit.Scaled(16).eval()(x, c),
    ]
