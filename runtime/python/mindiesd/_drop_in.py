"""Parts of ``mindiesd.ext`` that take the place of other libraries' own: ``RMSNorm`` for
``torch.nn.RMSNorm``, ``rotary_angles`` for rotary-embedding-torch's ``apply_rotary_emb``."""

import torch
from torch import nn

from ._checks import expect_tensor
from .utils import ParametersInvalid


class RMSNorm(nn.RMSNorm):
    """``torch.nn.RMSNorm`` with the runtime's kernel: same constructor, attributes, parameters and
    ``isinstance`` relations.

    Over more than one dimension, and where a gradient is wanted, torch's own forward runs.
    """

    def forward(self, x):
        """x: [..., *normalized_shape]; the result has x's shape and type."""
        from .ext import rms_norm

        wants_gradient = torch.is_grad_enabled() and (
            x.requires_grad or (self.weight is not None and self.weight.requires_grad)
        )
        if len(self.normalized_shape) != 1 or wants_gradient:
            return super().forward(x)
        if x.dim() == 0 or x.shape[-1] != self.normalized_shape[0]:
            raise RuntimeError(
                f"expected the last dimension to be {self.normalized_shape[0]}, but the input has "
                f"shape {list(x.shape)}"
            )
        return rms_norm(x, self.weight, self.eps, result_type="input")


def rotary_angles(
    x, freqs, *, start_index=0, scale=1.0, sequence_dim=-2, freqs_sequence_dim=None
):
    """Interleaved rotation of a part of x by angles, as rotary-embedding-torch's
    ``apply_rotary_emb(freqs, t, start_index, scale, seq_dim, freqs_seq_dim)``.

    Args:
        x: [..., S, D], the sequence in ``sequence_dim``.
        freqs: angles, [..., S', R] that broadcast against x's columns start_index … start_index + R;
            where freqs has two dimensions or x has three, its last S rows are taken.
        scale: a factor on cosine and sine, a number or a tensor that broadcasts against them.
        freqs_sequence_dim: the dimension of freqs that holds the sequence, where not the rule above.

    Returns:
        A tensor of x's shape and type.

    Raises:
        ParametersInvalid: the angles have more columns than x has after start_index.
    """
    from .ext import rotary_position_embedding

    expect_tensor("x", x)
    expect_tensor("freqs", freqs)
    if freqs_sequence_dim is None and (freqs.dim() == 2 or x.dim() == 3):
        freqs_sequence_dim = 0
    if freqs_sequence_dim is not None:
        length = x.shape[sequence_dim]
        rows = freqs.shape[freqs_sequence_dim]
        # The last `length` rows, as a slice from -length does it: all of them when there are fewer.
        first = max(rows - length, 0) if length else 0
        freqs = freqs.narrow(freqs_sequence_dim, first, rows - first)
    width = freqs.shape[-1]
    end = start_index + width
    if end > x.shape[-1]:
        raise ParametersInvalid(
            f"freqs has {width} columns from column {start_index} on, but x has only {x.shape[-1]}."
        )
    middle = rotary_position_embedding(
        x[..., start_index:end],
        freqs.cos() * scale,
        freqs.sin() * scale,
        "rotated_interleaved",
    )
    if start_index == 0 and end == x.shape[-1]:
        return middle
    return torch.cat((x[..., :start_index], middle, x[..., end:]), dim=-1)
