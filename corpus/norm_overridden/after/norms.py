import mindiesd.ext
import torch
import torch.nn as nn


class Norm(nn.Module):
    """Another file has a class of this kind with an arithmetic of its own: `_norm` may be that."""

    def __init__(self, width, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(width))

    def _norm(self, x):
        return mindiesd.ext.rms_norm(x, eps=self.eps, result_type="input")

    def forward(self, x):
        return self._norm(x.float()).type_as(x) * self.weight
