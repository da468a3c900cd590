import mindiesd.ext
import torch


def detached(scores):
    return torch.softmax(scores, dim=-1)


def by_dims(scores):
    return torch.softmax(scores, dim=-1)


def at_least(scores):
    return mindiesd.ext.softmax(scores, dim=-1, clamp_min=-5.0)


def at_least_everywhere(scores):
    return mindiesd.ext.softmax(scores, dim=-1, clamp_min=-5.0)


def at_most(scores):
    return mindiesd.ext.softmax(scores, dim=-1, clamp_max=0.5)


def hidden(scores, away):
    return mindiesd.ext.softmax(scores, dim=-1, clamp_min=-5.0, mask=~away)


def chosen(scores, keep):
    return mindiesd.ext.softmax(scores, dim=-1, clamp_min=-5.0, mask=keep)


def with_another_tensor(scores, floor):
    """A maximum with a tensor promotes and broadcasts: no clamp."""
    return torch.maximum(scores, floor).softmax(dim=-1)
