"""F.rms_norm over the shape of its own weight: one size only where the code around shows one axis."""

from typing import Tuple, Union

import torch
import torch.nn as nn
import torch.nn.functional as F


class Norm(nn.Module):
    def __init__(self, dim: int, eps: float = 1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.eps = eps

    def forward(self, x):
        return F.rms_norm(x, self.weight.shape, self.weight, self.eps)


class HeadNorm(nn.Module):
    def __init__(self, dim: int, heads: int):
        super().__init__()
        self.scale = nn.Parameter(torch.empty(dim // heads, dtype=torch.float32), requires_grad=False)
        nn.init.ones_(self.scale)

    def forward(self, x):
        return torch.nn.functional.rms_norm(x, normalized_shape=self.scale.size(), weight=self.scale)


class OfTwoSizes(nn.Module):
    def __init__(self, rows: int, dim: int):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(rows, dim))

    def forward(self, x):
        return F.rms_norm(x, self.weight.shape, self.weight)


class OfSomeSizes(nn.Module):
    def __init__(self, sizes: Union[int, Tuple[int, ...]]):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(sizes))

    def forward(self, x):
        return F.rms_norm(x, self.weight.shape, self.weight)


class OfWhatIsGiven(nn.Module):
    def __init__(self, weight: torch.Tensor):
        super().__init__()
        self.weight = nn.Parameter(weight)

    def forward(self, x):
        return F.rms_norm(x, self.weight.shape, self.weight)


class Shaped(nn.Module):
    """Another class of the file gives it another shape."""

    def __init__(self, dim: int):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        return F.rms_norm(x, self.weight.shape, self.weight)


class Plane(Shaped):
    def __init__(self, dim: int):
        super().__init__(dim)
        self.weight = nn.Parameter(torch.ones(dim, dim))


class Reshaped(nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(dim))
        self.gain.data = torch.ones(dim, dim)

    def forward(self, x):
        return F.rms_norm(x, self.gain.shape, self.gain)


def of_unpacked(x, weight):
    (width,) = weight.shape
    return F.rms_norm(x, weight.shape, weight) * width
