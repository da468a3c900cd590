import blocks
import torch


def outputs():
    x, scale, shift = torch.randn(2, 5, 8), torch.randn(2, 1, 8), torch.randn(2, 1, 8)
    block = blocks.WeightWritten().eval()
    with torch.no_grad():
        return [
            block.by_a_method(x, scale, shift),
            block.by_its_data(x, scale, shift),
            block.its_eps(x, scale, shift),
        ]
