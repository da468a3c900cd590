import attention
import torch


def outputs():
    torch.manual_seed(7)
    q, k, v = torch.randn(3, 2, 4, 5, 8)
    mask = torch.randn(5, 5)
    yield attention.one_a_line(q, k, v, mask)
    yield attention.filled(q, k, v, mask[0])
    yield attention.hanging(q, k, v, mask)
