import attention
import torch


def outputs():
    qkv = [torch.randn(2, 4, 7, 16) for _ in range(3)]
    flat = [torch.randn(2, 7, 64) for _ in range(3)]
    return [
        attention.shown_by_unpacking(*qkv),
        attention.shown_by_reshape(*flat),
        attention.shown_by_unbind(torch.randn(2, 7, 3 * 64), 4),
        attention.three_axes(*flat, 4),
        attention.not_shown(*flat),
        attention.not_shown(*[t.unsqueeze(0) for t in qkv]),
        attention.shown_for_two(*flat, (2, 4, 7, 16)),
    ]
