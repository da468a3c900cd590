import torch
from normalization import InputTypeRMSNorm, RMSNorm


def outputs():
    x = torch.randn(2, 5, 24)
    norms = [
        RMSNorm(24, 1e-3),
        RMSNorm(24, 1e-3, bias=True),
        RMSNorm(24, 1e-3, elementwise_affine=False),
        InputTypeRMSNorm(24, 1e-3),
        InputTypeRMSNorm(24, 1e-3, elementwise_affine=False),
    ]
    for norm in norms:
        for parameter in norm.parameters():
            parameter.data.normal_()
    return [norm(x) for norm in norms] + [norms[2](x.half())]
