import mindiesd.ext
import torch
from torch import nn


class T5LayerNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(hidden_size))
        self.variance_epsilon = eps

    def forward(self, hidden_states):
        # Half precision overflows in the square: the variance is computed in float32.
        # convert into half-precision if necessary
        return mindiesd.ext.rms_norm(
            hidden_states,
            self.weight,
            self.variance_epsilon,
            result_type="weight",
        )
