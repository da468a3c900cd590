import torch
import torch.nn.functional as F


def shared(scores, log):
    clamped = torch.clamp(scores, min=-50000)
    log.append(clamped)
    return F.softmax(clamped, dim=-1), clamped


def shared_maximum(scores):
    shifted = scores - scores.amax(dim=-1, keepdim=True)
    return torch.softmax(shifted, dim=-1), shifted.exp()
