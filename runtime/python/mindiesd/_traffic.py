"""Launches and bytes of torch's operators, but for matrix products and attention. Entry point: ``Traffic``.

Every operator that is no view counts once as a launch, and its tensor operands and results as bytes that move,
expanded dimensions once. Products and attention are left out, for what surrounds them is what fusion saves.
"""

from collections import Counter

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

# What gives another view of memory, or memory that nothing was written to.
VIEWS = frozenset(
    """_has_compatible_shallow_copy_type _reshape_alias _unsafe_view alias as_strided chunk detach empty empty_like
    empty_strided expand expand_as flatten lift_fresh movedim narrow new_empty permute promote_types reshape select slice
    split split_with_sizes squeeze t transpose unbind unflatten unsqueeze view view_as_complex view_as_real""".split()
)
PRODUCTS = frozenset(
    """aten::_addmm_activation aten::addmm aten::baddbmm aten::bmm aten::convolution aten::linear aten::mm
    mindiesd::int8_linear mindiesd::linear_activation""".split()
)
ATTENTION = "mindiesd::attention_forward", "aten::_scaled_dot_product", "aten::_flash_attention"


def moved(tensor):
    """Bytes of a tensor, expanded dimensions once."""
    steps = zip(tensor.shape, tensor.stride(), strict=True)
    return torch.Size(size for size, stride in steps if stride).numel() * tensor.element_size()


class Traffic(TorchDispatchMode):
    """While it is entered, fills ``launches`` and ``bytes``, both by the operator's name."""

    def __init__(self):
        super().__init__()
        self.launches, self.bytes = Counter(), Counter()

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        name = function.name().split(".")[0]
        apart = name in PRODUCTS or name.startswith(ATTENTION)
        if not apart and name.split("::")[-1] not in VIEWS:
            self.launches[name] += 1
            tensors = tree_leaves((args, kwargs, result))
            self.bytes[name] += sum(moved(t) for t in tensors if isinstance(t, torch.Tensor))
        return result
