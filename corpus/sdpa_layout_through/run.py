import torch
from attention import (
    JointAttention,
    by_einops,
    copy_that_is_stored_to,
    last_tokens_scaled,
    packed,
    packed_by_index,
    recent_keys,
    swapped_by_einops,
)


def outputs():
    model, grouped = JointAttention(48, 6).eval(), JointAttention(48, 6, groups=3).eval()
    x, text = torch.randn(2, 7, 48), torch.randn(2, 4, 48)
    q, k, v = (torch.randn(2, 5, 24) for _ in range(3))
    four = [torch.randn(2, 5, 3, 8) for _ in range(3)]
    return [
        model(x, text),
        grouped(x, text),
        grouped(x),
        last_tokens_scaled(q, k, v, 3, 2),
        recent_keys(q, k, v, 3, 2),
        packed(torch.randn(2, 5, 72), 3),
        packed_by_index(torch.randn(2, 5, 72), 3),
        by_einops(q, k, v, 3),
        swapped_by_einops(*four),
        copy_that_is_stored_to(q, k, v, 3),
        q,
    ]
