import norms
import torch


def outputs():
    x = torch.randn(2, 5, 24)
    offset = norms.OffsetNorm(24)
    offset.weight.data.normal_()
    return [
        norms.RMSNorm(24)(x),
        offset(x.bfloat16()),
        norms.over_the_last(x, 24),
        norms.without_weight(x),
        norms.over_two(x),
        norms.of_a_given_shape(x, (24,)),
    ]
