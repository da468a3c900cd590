"""The shape that diffusers' own definition has: real and complex tables, two layouts."""

from typing import Tuple, Union

import mindiesd.ext
import torch


def apply_rotary_emb(
    x: torch.Tensor,
    freqs_cis: Union[torch.Tensor, Tuple[torch.Tensor]],
    use_real: bool = True,
    use_real_unbind_dim: int = -1,
    sequence_dim: int = 2,
) -> Tuple[torch.Tensor, torch.Tensor]:
    """Rotates x by the tables."""
    if use_real:
        cos, sin = freqs_cis  # [S, D]
        if sequence_dim == 2:
            cos = cos[None, None, :, :]
            sin = sin[None, None, :, :]
        elif sequence_dim == 1:
            cos = cos[None, :, None, :]
            sin = sin[None, :, None, :]
        else:
            raise ValueError(f"`sequence_dim={sequence_dim}` but should be 1 or 2.")

        cos, sin = cos.to(x.device), sin.to(x.device)

        if use_real_unbind_dim == -1:
            # neighbouring pairs
            # [B, H, S, D//2]
            rotated_mode = "rotated_interleaved"
        elif use_real_unbind_dim == -2:
            # halves
            # [B, H, S, D//2]
            rotated_mode = "rotated_half"
        else:
            raise ValueError(f"`use_real_unbind_dim={use_real_unbind_dim}` but should be -1 or -2.")

        out = mindiesd.ext.rotary_position_embedding(x, cos, sin, rotated_mode=rotated_mode)

        return out
    else:
        freqs_cis = freqs_cis.unsqueeze(2)

        return mindiesd.ext.rotary_complex(x, freqs_cis)
