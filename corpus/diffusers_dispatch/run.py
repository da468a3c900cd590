import torch
from processor import Processor


def outputs():
    processor = Processor()
    qkv = [torch.randn(2, 5, 3, 8) for _ in range(3)]
    mask = torch.rand(2, 5) > 0.3
    mask[:, 0] = True
    return [
        processor.plain(*qkv),
        processor.masked(*qkv),
        processor.masked(*qkv, mask),
        processor.masked(*qkv, torch.randn(2, 1, 5, 5)),
        processor.causal(*qkv),
        processor.with_options(*qkv, None),
    ]
