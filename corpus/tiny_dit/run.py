import torch
from tiny_dit import TinyDiT


def outputs():
    model = TinyDiT().eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.2)
    patches, text, time = torch.randn(2, 7, 16), torch.randn(2, 5, 32), torch.rand(2)
    keep = torch.rand(2, 1, 7, 7) > 0.3
    keep[..., 0] = True
    return [model(patches, text, time), model(patches, text, time, keep), model.into.weight]
