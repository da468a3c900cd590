import torch


def by_amax(scores):
    return torch.softmax(scores, dim=-1)


def by_max_index(scores):
    return torch.softmax(scores, dim=-1)


def by_max_values(scores, value):
    return torch.softmax(scores, dim=-1) @ value


def by_global_max(scores):
    weight = torch.softmax(scores, dim=-1)
    return weight
