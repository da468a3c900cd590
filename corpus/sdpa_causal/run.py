import decoder
import torch


def outputs():
    heads = [torch.randn(2, n, 4, 8) for n in (5, 7, 7)]
    flat = [torch.randn(2, n, 32) for n in (5, 7, 7)]
    return [
        decoder.literal(*heads),
        decoder.variable(*flat, True),
        decoder.variable(*flat, False),
        decoder.on(*flat),
        decoder.off(*flat),
    ]
