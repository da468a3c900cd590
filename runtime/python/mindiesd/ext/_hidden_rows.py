"""Queries that a boolean mask shows no key, where hidden scores are one finite number: their weights are equal,
so that they give the mean of the values. Entry points: ``expect_mask_alone``, ``with_means``."""

import torch

from .. import _written
from .._checks import is_either
from ..utils import ParametersInvalid


def expect_mask_alone(mask, beyond):
    """``beyond``: whether the call has more than a mask."""
    if beyond:
        raise ParametersInvalid(
            'without_key="mean" goes with a mask alone: no causality, windows, softcap, slopes, key lengths, '
            "mask by batch and key, or out."
        )
    if not (mask is None or isinstance(mask, torch.Tensor) and mask.dtype == torch.bool):
        kind = mask.dtype if isinstance(mask, torch.Tensor) else type(mask).__name__
        raise ParametersInvalid(
            f'attn_mask must be boolean (True keeps) with without_key="mean", but is {kind}.'
        )


def with_means(attend, query, key, value, mask, scale, head_first):
    """``attend`` by the boolean ``mask``, the mean of all values in the rows that see no key."""
    operands = (query, key, value)
    if head_first and mask is not None and all(isinstance(t, torch.Tensor) for t in operands):
        if min(query.dim(), value.dim()) == 1 < key.dim():  # no row to choose by
            factor = query.shape[-1] ** -0.5 if scale is None else scale
            return _written.attention(*operands, mask, factor, torch.finfo(query.dtype).min)
    result = attend(*operands, mask, scale)
    if mask is None:
        return result
    heads, sequence = (-3, -2) if head_first else (-2, -3)
    computing = torch.promote_types(result.dtype, torch.float32)
    mean = value.to(computing).sum(sequence, keepdim=True) / max(value.shape[sequence], 1)
    if value.dim() >= 3 and not is_either(value.shape[heads], 1, result.shape[heads]):
        mean = mean.repeat_interleave(result.shape[heads] // value.shape[heads], heads)
    shown = mask.any(-1, keepdim=True) if mask.dim() else mask
    if not head_first and shown.dim() > 1:
        shown = shown[:, None] if shown.dim() == 2 else shown.transpose(-2, -3)
    chosen = torch.where(shown, result, mean.to(result.dtype))
    if chosen.stride() == result.stride():
        return chosen
    return torch.empty_strided(
        result.shape, result.stride(), dtype=result.dtype, device=result.device
    ).copy_(chosen)
