import fast  # noqa: F401
import model
import torch


def outputs():
    return [model.Block()(torch.randn(2, 8))]
