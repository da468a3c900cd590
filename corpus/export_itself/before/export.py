import torch
import torch.nn.functional as F


def patched_attention(q, k, v):
    return F.scaled_dot_product_attention(q, k, v)


def export(model, sample, path):
    torch.onnx.export(model, sample, path)
