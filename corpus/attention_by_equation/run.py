import attention
import torch


def outputs():
    q, k, v = torch.randn(2, 5, 3, 8), torch.randn(2, 7, 3, 8), torch.randn(2, 7, 3, 8)
    hidden = torch.rand(2, 1, 5, 7) < 0.3
    hidden[..., 0] = False
    three = torch.randn(6, 5, 8), torch.randn(6, 7, 8), torch.randn(6, 7, 8)
    first = [x.transpose(1, 2) for x in three]
    bias = torch.randn(6, 5, 7)
    return [
        attention.scaled(q, k, v),
        attention.other_letters(q, k, v, torch.randn(2, 1, 5, 7)),
        attention.hidden_keys(q, k, v, hidden),
        attention.both_are_scaled(q, k, v),
        attention.over_the_queries(q, k, v),
        attention.over_the_heads(k, v, v),
        attention.heads_come_first(q, k, v),
        attention.channels_first(*first, 8),
        *attention.weights_too(q, k, v),
        attention.a_bias_in_one_product(*three, bias),
        attention.half_a_bias(*three, bias),
    ]
