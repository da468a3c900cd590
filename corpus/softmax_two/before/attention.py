"""One guard in front of two softmaxes, as attention in both directions has it."""

import torch
import torch.nn.functional as F


def both_axes(scores):
    scores = scores - scores.max()
    return scores.softmax(dim=-1), F.softmax(scores, dim=-2)


def clamped(scores):
    scores = torch.clamp(scores, min=-5.0)
    scores = torch.clamp(scores, max=5.0)
    over_keys = scores.softmax(dim=-1)
    over_queries = scores.softmax(dim=1)
    return over_keys, over_queries


def one_is_masked(scores, hidden):
    # Half precision has a limited range.
    bounded = scores.clamp(-5.0, 5.0)
    plain = torch.softmax(bounded, dim=-1)
    masked = torch.softmax(bounded.masked_fill(hidden, float("-inf")), dim=-1)
    return plain, masked


def one_has_a_finite_mask(scores, hidden):
    bounded = scores.clamp(-5.0, 5.0)
    plain = torch.softmax(bounded, dim=-1)
    masked = torch.softmax(bounded.masked_fill(hidden, -1e4), dim=-1)
    return plain, masked


def a_third_reader(scores):
    bounded = scores.clamp(-5.0, 5.0)
    return bounded.softmax(-1), bounded.softmax(-2), bounded


def read_between(scores, log):
    bounded = scores.clamp(-5.0, 5.0)
    first = bounded.softmax(-1)
    log.append(bounded)
    return first, bounded.softmax(-2)


def under_flags(self, scores):
    if self.stable:
        scores = scores - scores.max()
    if self.bounded:
        scores = torch.clamp(scores, min=-5.0)
    return scores.softmax(dim=-1), scores.softmax(dim=1)
