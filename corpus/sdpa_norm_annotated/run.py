import torch
from attention import AcrossHeads, Attention, Processor


def outputs():
    q, k, v = (torch.randn(2, 5, 24) for _ in range(3))
    found = []
    for kind in ("rms", "layer", "none"):
        model = Attention(3, 8, kind).eval()
        for parameter in model.parameters():
            torch.nn.init.normal_(parameter)
        found += [Processor()(model, q, k, v), AcrossHeads()(model, q, k, v)]
    return found
