import torch
import torch.nn.functional as F


def attend(scores):
    scores = scores - torch.amax(scores, -1, keepdim=True)
    return F.softmax(scores, dim=-1, dtype=torch.float32)
