import attention
import torch


def outputs():
    qkv = [torch.randn(2, 6, 3, 8) for _ in range(3)]
    other = [torch.randn(2, 4, 3, 8) for _ in range(3)]
    store = []
    return [
        *attention.also_read(*qkv),
        attention.one_is_not_transposed(*qkv),
        attention.result_is_kept(*qkv, store),
        *store,
        attention.other_axes(*qkv),
        attention.one_branch_only(*qkv, True),
        attention.one_branch_only(*qkv, False),
        attention.joined_in_sequence(*qkv, *other),
        attention.in_a_loop(*qkv, 3),
    ]
