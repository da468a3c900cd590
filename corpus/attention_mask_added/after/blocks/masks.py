from typing import Optional

import torch

from .tracing import counted, leaf


@torch.fx.wrap
@leaf
def maybe_add_mask(scores: torch.Tensor, attn_mask: Optional[torch.Tensor] = None):
    return scores if attn_mask is None else scores + attn_mask


def with_bias(scores, bias):
    return scores + bias


@counted
def add_and_count(scores, attn_mask):
    return scores if attn_mask is None else scores + attn_mask


def hide(scores, keep):
    return scores.masked_fill(~keep, torch.finfo(scores.dtype).min)
