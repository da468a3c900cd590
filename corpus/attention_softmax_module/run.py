import attention
import torch


def outputs():
    torch.manual_seed(5)
    module = attention.Attention(12, 3).eval()
    chosen = attention.Chosen().eval()
    q, k, v = torch.randn(4, 3, 6, 4), torch.randn(4, 3, 6, 4), torch.randn(4, 3, 6, 4)
    return [
        module(q, k, v),
        module.with_bias(q, k, v, torch.randn(1, 3, 6, 6)),
        module.by_queries(q, k, v),
        module.windows(q, k, v, torch.randn(2, 6, 6)),
        chosen(q, k, v),
        attention.at_once(q, k, v),
        attention.at_once_over_queries(q, k, v),
    ]
