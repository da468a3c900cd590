import attention
import torch


def outputs():
    qkv = [torch.randn(2, 6, 3, 8) for _ in range(3)]
    mask = torch.rand(2, 1, 6, 6) > 0.3
    mask[..., 0] = True
    return [
        attention.keyword(*qkv, mask),
        attention.keyword(*qkv, torch.randn(6, 6)),
        attention.boolean_positional(*qkv, torch.tensor([4, 6])),
        attention.additive(*qkv, torch.randn(2, 3, 6, 6)),
        attention.maybe(*qkv),
        attention.maybe(*qkv, mask[:, 0]),
    ]
