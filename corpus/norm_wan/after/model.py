import mindiesd.ext
import torch
import torch.nn as nn


class WanRMSNorm(nn.Module):

    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.dim = dim
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        r"""
        Args:
            x(Tensor): Shape [B, L, C]
        """
        return mindiesd.ext.rms_norm(x, self.weight, self.eps)

    def _norm(self, x):
        return mindiesd.ext.rms_norm(x, eps=self.eps, result_type="input")
