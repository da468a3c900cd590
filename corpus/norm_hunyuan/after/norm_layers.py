import mindiesd.ext
import torch
import torch.nn as nn


class RMSNorm(nn.Module):
    def __init__(self, dim: int, elementwise_affine=True, eps: float = 1e-6, device=None, dtype=None):
        factory_kwargs = {"device": device, "dtype": dtype}
        super().__init__()
        self.eps = eps
        if elementwise_affine:
            self.weight = nn.Parameter(torch.ones(dim, **factory_kwargs))

    def _norm(self, x):
        """
        Apply the RMSNorm normalization to the input tensor.
        """
        return mindiesd.ext.rms_norm(x, eps=self.eps, result_type="input")

    def forward(self, x):
        output = mindiesd.ext.rms_norm(x, eps=self.eps, result_type="input")
        if hasattr(self, "weight"):
            output = output * self.weight
        return output
