import torch


def trace(model, example):
    return torch.jit.trace(model, example)
