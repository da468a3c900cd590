"""One guard in front of two softmaxes, as attention in both directions has it."""

import mindiesd.ext
import torch


def both_axes(scores):
    return torch.softmax(scores, dim=-1), torch.softmax(scores, dim=-2)


def clamped(scores):
    over_keys = mindiesd.ext.softmax(scores, dim=-1, clamp_min=-5.0, clamp_max=5.0)
    over_queries = mindiesd.ext.softmax(scores, dim=1, clamp_min=-5.0, clamp_max=5.0)
    return over_keys, over_queries


def one_is_masked(scores, hidden):
    # Half precision has a limited range.
    plain = mindiesd.ext.softmax(scores, dim=-1, clamp_min=-5.0, clamp_max=5.0)
    masked = mindiesd.ext.softmax(
        scores,
        dim=-1,
        clamp_min=-5.0,
        clamp_max=5.0,
        mask=~hidden,
    )
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
    return mindiesd.ext.softmax(
        scores,
        dim=-1,
        subtract="global" if self.stable else None,
        clamp_min=-5.0 if self.bounded else None,
    ), mindiesd.ext.softmax(
        scores,
        dim=1,
        subtract="global" if self.stable else None,
        clamp_min=-5.0 if self.bounded else None,
    )
