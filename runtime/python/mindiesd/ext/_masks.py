"""What hides keys or adds to scores beside a mask, as part of the mask. Entry points: ``with_key_lengths``,
``with_cyclic``."""

import torch

from .._checks import expect_same_device, expect_tensor, is_either
from ..utils import ParametersInvalid


def with_key_lengths(key_lengths, mask, query, key, sequence):
    """The mask that also hides the keys beyond each batch's length."""
    expect_tensor("key_lengths", key_lengths)
    if query.dim() != 4 or key_lengths.shape != query.shape[:1]:
        raise ParametersInvalid(
            "key_lengths must have shape [batch] for a query of 4 dimensions, but has shape "
            f"{list(key_lengths.shape)} for a query of shape {list(query.shape)}."
        )
    if key_lengths.is_floating_point() or key_lengths.dtype == torch.bool:
        raise ParametersInvalid(f"key_lengths must be integers, but is {key_lengths.dtype}.")
    expect_same_device("key_lengths", key_lengths, "query", query)
    positions = torch.arange(key.shape[sequence], device=query.device)
    inside = (positions < key_lengths[:, None])[:, None, None, :]
    if mask is None:
        return inside
    if mask.dtype == torch.bool:
        return mask & inside
    return mask.masked_fill(~inside, float("-inf"))


def with_cyclic(cyclic, mask, query, key, sequence):
    """The mask, or None, with the numbers of ``cyclic`` [W, Sq, Sk] added: batch b has those of b % W."""
    expect_tensor("cyclic_mask", cyclic)
    expect_same_device("cyclic_mask", cyclic, "query", query)
    lengths = (query.shape[sequence], key.shape[sequence])
    fits = query.dim() == 4 and cyclic.dim() == 3 and not cyclic.is_complex()
    fits = fits and all(is_either(s, 1, n) for s, n in zip(cyclic.shape[1:], lengths))
    if not fits or cyclic.shape[0] == 0 or query.shape[0] % cyclic.shape[0]:
        raise ParametersInvalid(
            f"cyclic_mask must hold numbers in the shape [W, {lengths[0]}, {lengths[1]}], where W divides the "
            f"batch, {query.shape[0]}, of a query of 4 dimensions, but is {cyclic.dtype} of shape "
            f"{list(cyclic.shape)} for a query of shape {list(query.shape)}."
        )
    if not cyclic.is_floating_point() or query.dtype != cyclic.dtype == torch.float64:
        cyclic = cyclic.to(torch.float32)
    rounds = query.shape[0] // cyclic.shape[0]
    added = cyclic[None, :, None].expand(rounds, -1, -1, -1, -1).flatten(0, 1)
    if mask is None:
        return added
    if mask.dtype == torch.bool:
        return torch.where(mask, added, float("-inf"))
    return mask + added
