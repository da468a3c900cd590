import attention
import torch


def outputs():
    q, k, v = torch.randn(2, 3, 5, 8), torch.randn(2, 3, 6, 8), torch.randn(2, 3, 6, 4)
    masked = attention.Masked(24, 3).eval()
    dropping = attention.Dropping(0.5).eval()
    x = torch.randn(2, 5, 24)
    return [
        masked(x),
        masked(x, torch.randn(5, 5)),
        attention.Turned(24, 3).eval()(x),
        attention.among_channels(torch.randn(2, 5, 8), torch.randn(2, 5, 6), torch.randn(2, 5, 6)),
        attention.not_transposed(q, torch.randn(2, 3, 8, 6), v),
        attention.three_axes_of_four(q, torch.randn(2, 1, 8, 6), v).view(2, 60),
        attention.a_root_on_either_side(q, k, v),
        dropping.by_flag(q, k, v),
        dropping.under_flag(q, k, v),
        dropping.under_flag_by_default(q, k, v),
        attention.reference(q, k, v, torch.randn(5, 6)),
        attention.nothing_drops(q, k, v),
    ]
