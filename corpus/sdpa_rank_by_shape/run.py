import torch
from attention import by_name, by_number, leading, of_any_rank, too_few


def outputs():
    q, k, v = (torch.randn(2, 6, 32) for _ in range(3))
    wide = [torch.randn(2, 3, 6, 32) for _ in range(3)]
    flat = [torch.randn(5, 8) for _ in range(3)]
    return [
        leading(q, k[:, :4], v[:, :4], 4),
        by_name(q, 4),
        of_any_rank(q, k, v, 4),
        of_any_rank(*wide, 4),
        too_few(*flat),
        by_number(q, k, v, 2, 4),
    ]
