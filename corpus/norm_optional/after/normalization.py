import numbers

import mindiesd.ext
import torch
from torch import nn


class RMSNorm(nn.Module):
    """As diffusers has it: weight and bias are optional and the weight's type decides."""

    def __init__(self, dim, eps: float, elementwise_affine: bool = True, bias: bool = False):
        super().__init__()
        self.eps = eps
        if isinstance(dim, numbers.Integral):
            dim = (dim,)
        self.weight = nn.Parameter(torch.ones(dim)) if elementwise_affine else None
        self.bias = nn.Parameter(torch.zeros(dim)) if elementwise_affine and bias else None

    def forward(self, hidden_states):
        # convert into half-precision if necessary
        hidden_states = mindiesd.ext.rms_norm(
            hidden_states,
            self.weight,
            self.eps,
            bias=self.bias,
            result_type="weight",
        )

        return hidden_states


class InputTypeRMSNorm(nn.Module):
    """As Mochi has it: the input's type comes back."""

    def __init__(self, dim, eps: float, elementwise_affine: bool = True):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim)) if elementwise_affine else None

    def forward(self, hidden_states):
        hidden_states = mindiesd.ext.rms_norm(
            hidden_states,
            self.weight,
            self.eps,
            result_type="input",
        )
        return hidden_states
