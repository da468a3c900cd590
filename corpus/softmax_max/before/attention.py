import torch
import torch.nn.functional as F


def by_amax(scores):
    scores = scores - scores.amax(dim=-1, keepdim=True)
    return torch.softmax(scores, dim=-1)


def by_max_index(scores):
    scores = scores - torch.max(scores, dim=-1, keepdim=True)[0]
    return F.softmax(scores, dim=-1)


def by_max_values(scores, value):
    return (scores - scores.max(-1, keepdim=True).values).softmax(-1) @ value


def by_global_max(scores):
    shifted = scores - scores.max()
    weight = shifted.softmax(dim=-1)
    return weight
