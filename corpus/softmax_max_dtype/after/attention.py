import torch


def attend(scores):
    return torch.softmax(scores, dim=-1, dtype=torch.float32)
