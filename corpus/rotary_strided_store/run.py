import torch
from processor import Processor


def outputs():
    angles = torch.randn(1, 5, 1, 4).repeat_interleave(2, dim=-1)
    x = torch.randn(2, 5, 3, 8)
    return list(Processor()(x, x.flip(1), (angles.cos(), angles.sin())))
