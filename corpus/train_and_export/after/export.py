import torch
from model import attend


def export(path):
    torch.onnx.export(attend, path)
