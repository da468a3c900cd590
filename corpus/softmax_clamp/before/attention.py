import torch
import torch.nn.functional as F


def floor(scores):
    scores = torch.clamp(scores, min=-50000)
    return F.softmax(scores, dim=-1)


def both(scores, value):
    scores = torch.clamp(scores, min=-50000)  # Do not increase -50000, it overflows
    scores = torch.clamp(scores, max=50000)
    return scores.softmax(dim=-1) @ value


def at_once(scores):
    return scores.clamp(-30.0, 30.0).softmax(-1)


def after_maximum(scores):
    scores = scores - scores.amax(dim=-1, keepdim=True)
    scores = scores.clamp(min=-20)
    return scores.softmax(-1)


def clipped(scores, high=3.0):
    return torch.softmax(scores.clip(max=high), -1)


def clamp_before_maximum(scores):
    """Only what stands last can move into the softmax."""
    scores = torch.clamp(scores, min=-5)
    scores = scores - scores.amax(dim=-1, keepdim=True)
    scores = torch.clamp(scores, max=-1)
    return F.softmax(scores, dim=-1)
