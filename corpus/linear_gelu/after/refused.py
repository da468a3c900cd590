"""What stays two calls: the exact form, another layer, a product that somebody else reads."""

import mindiesd.ext
import torch
from torch import nn


class Exact(nn.Module):
    """No matrix product has the exact form in its epilogue."""

    def __init__(self, width):
        super().__init__()
        self.up = nn.Linear(width, 4 * width)

    def forward(self, x):
        return mindiesd.ext.gelu(self.up(x))


class Convolution(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up = nn.Conv1d(width, width, 1)

    def forward(self, x):
        return mindiesd.ext.gelu(self.up(x.transpose(1, 2)), approximate="tanh")


class Twice(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up = nn.Linear(width, width)

    def forward(self, x):
        h = self.up(x)
        return mindiesd.ext.gelu(h, approximate="tanh") + torch.relu(h)


class ByAMethod(nn.Module):
    """A subclass has another gelu."""

    def __init__(self, width):
        super().__init__()
        self.proj = nn.Linear(width, width)

    def gelu(self, gate):
        if gate.device.type == "mps":
            return mindiesd.ext.gelu(
                gate.to(dtype=torch.float32),
                approximate="tanh",
            ).to(dtype=gate.dtype)
        return mindiesd.ext.gelu(gate, approximate="tanh")

    def forward(self, x):
        return self.gelu(self.proj(x))


class Other(ByAMethod):
    def gelu(self, gate):
        return torch.relu(gate)
