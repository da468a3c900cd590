import torch
import torch.nn.functional as F


def shared(scores, log):
    clamped = torch.clamp(scores, min=-50000)
    log.append(clamped)
    return F.softmax(clamped, dim=-1), clamped


def shared_maximum(scores):
    shifted = scores - scores.amax(dim=-1, keepdim=True)
    return torch.softmax(shifted, dim=-1), shifted.exp()


def clamp_before_maximum(scores):
    scores = torch.clamp(scores, min=-5)
    scores = scores - scores.amax(dim=-1, keepdim=True)
    scores = torch.clamp(scores, max=-1)
    return F.softmax(scores, dim=-1)


def bound_of_unknown_kind(scores, low):
    """A tensor of bounds clamps each score by its own."""
    return torch.softmax(torch.clamp(scores, min=low), dim=-1)


def other_axis(scores):
    """The maximum is over the rows, the softmax over the columns: another function."""
    scores = scores - scores.amax(dim=-2, keepdim=True)
    return torch.softmax(scores, dim=-1)


def between(scores, mask):
    """The mask comes after the maximum: a shift would still be nothing, but the rule does not say so."""
    scores = scores - scores.amax(dim=-1, keepdim=True)
    return torch.softmax(scores * mask, dim=-1)


def maximum_of_another(scores, other):
    return torch.softmax(scores - other.amax(dim=-1, keepdim=True).mean(), dim=-1)
