import mindiesd.ext
import torch


def apply_rotary_emb(x_in: torch.Tensor, freqs_cis: torch.Tensor) -> torch.Tensor:
    with torch.amp.autocast("cuda", enabled=False):
        freqs_cis = freqs_cis.unsqueeze(2)
        return mindiesd.ext.rotary_complex(x_in, freqs_cis)


def rotate(x, freqs):
    return mindiesd.ext.rotary_complex(x, freqs)
