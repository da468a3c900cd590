import math

import torch
import torch.nn.functional as F


def detached(scores):
    scores = scores - scores.detach().amax(dim=-1, keepdim=True)
    return scores.softmax(dim=-1)


def by_dims(scores):
    return F.softmax(scores - scores.amax((-1,), keepdim=True), dim=-1)


def at_least(scores):
    scores = torch.maximum(scores, torch.tensor(-5.0, device=scores.device))
    return scores.softmax(dim=-1)


def at_least_everywhere(scores):
    scores = torch.max(scores, torch.full_like(scores, -5.0))
    return scores.softmax(dim=-1)


def at_most(scores):
    return torch.softmax(torch.minimum(scores, torch.tensor(0.5)), -1)


def hidden(scores, away):
    scores = scores.clamp(min=-5.0).masked_fill(away, -math.inf)
    return scores.softmax(dim=-1)


def chosen(scores, keep):
    scores = torch.where(keep, scores.clamp(min=-5.0), -torch.inf)
    return scores.softmax(dim=-1)


def with_another_tensor(scores, floor):
    """A maximum with a tensor promotes and broadcasts: no clamp."""
    return torch.maximum(scores, floor).softmax(dim=-1)
